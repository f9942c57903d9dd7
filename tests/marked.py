# SPDX-License-Identifier: BSD-2-Clause
"""marked.py - documents with a table that a script makes, between <!-- NAME:begin --> and <!-- NAME:end -->."""


def put(path, name, text):
    """Replace what stands between the marks of that name; the end, with the document untouched, where it has none."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    with open(path) as f:
        old = f.read()
    head, found, rest = old.partition(begin)
    _, ended, tail = rest.partition(end)
    if not found or not ended:
        raise SystemExit(f"{path} has no {begin} ... {end}")
    with open(path, "w") as f:
        f.write(head + begin + "\n" + text.strip("\n") + "\n" + end + tail)
