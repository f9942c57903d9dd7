#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""peers.py - the tables of peers in README.md and docs/kernel-peers.md, out of the scenarios' output.

    tests/vm/run.sh >vm.tap; tests/vm/peers.py vm.tap [--readme README.md] [--doc docs/kernel-peers.md]

A scenario's head names its peers:

    # peer: NAME | our side | the kernel's side

and its claims begin with one of these names (with what stands before a comma, if there is one).  A row counts the claims of that name that held, those that did not,
and those skipped.  In the two documents what stands between the markers `<!-- peers:begin -->` and
`<!-- peers:end -->` (in the second also `facts:`) is replaced; without options the tables are printed.  Exits 1
if a claim failed: such a run is not put into documents.
"""
import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import marked

HERE = pathlib.Path(__file__).resolve().parent


def declared():
    """(scenario, name) -> (our side, the kernel's side), in the order of the files."""
    peers = {}
    for script in sorted((HERE / "scenarios").glob("*.sh")):
        for line in script.read_text().splitlines():
            m = re.match(r"# peer: (.+?) \| (.+?) \| (.+)$", line)
            if m:
                peers[script.stem, m[1]] = (m[2], m[3])
    return peers


def read(path):
    """Claims as (scenario, text, ok, skipped), and remarks as (scenario, text)."""
    claims, remarks, scenario = [], [], ""
    for line in path.read_text(errors="replace").splitlines():
        m = re.match(r"(ok|not ok) \d+ - ([a-z0-9-]+): (.*?)( # SKIP .*)?$", line)
        if m:
            claims.append((m[2], m[3], m[1] == "ok", bool(m[4])))
        elif line.startswith("# scenario: "):
            scenario = line[len("# scenario: "):]
        elif line.startswith("# "):
            remarks.append((scenario, line[2:]))
    return claims, remarks


def rows(peers, claims):
    """(scenario, name) -> [held, failed, skipped]; a claim belongs to the longest name it begins with."""
    count = {key: [0, 0, 0] for key in peers}
    for scenario, text, good, skipped in claims:
        names = [n for s, n in peers
                 if s == scenario and re.match(re.escape(n.split(",")[0]) + r"[:, -]", text)]
        if names:
            count[scenario, max(names, key=lambda n: len(n.split(",")[0]))][2 if skipped else 0 if good else 1] += 1
    return count


def cell(held, failed, skipped):
    text = f"{held} hold" if not failed else f"**{failed} fail**, {held} hold"
    return text + (f", {skipped} skipped" if skipped else "")


def full_table(peers, count):
    out = ["| scenario | our side | the kernel's side | claims |", "| --- | --- | --- | --- |"]
    for (scenario, name), (ours, theirs) in peers.items():
        if sum(count[scenario, name]):
            out.append(f"| `{scenario}` {name} | {ours} | {theirs} | {cell(*count[scenario, name])} |")
    return "\n".join(out)


def short_table(peers, count):
    """One row for each pair of sides, whatever scenario they met in; the variants of a pair are added up."""
    pairs = {}
    for key, (ours, theirs) in peers.items():
        scenario, name = key
        if ours.startswith("the same"):  # a variant of the peer it is named after
            base = name.rsplit("-", 1)[0]
            ours, theirs = peers[scenario, base]
        theirs = theirs.split(", over a tap")[0]
        ours = ours.replace(" outside the guest", "").replace(", in the guest", "")
        have = pairs.setdefault((ours, theirs), [0, 0, 0])
        for i in range(3):
            have[i] += count[key][i]
    out = ["| our side | the kernel's side (Linux 6.1) | claims |", "| --- | --- | --- |"]
    for (ours, theirs), n in pairs.items():
        if sum(n):
            out.append(f"| {ours} | {theirs} | {cell(*n)} |")
    return "\n".join(out)


FACTS = (
    r"\w+: \w+-dum\d: sge ",
    r"connecting in ms",
    r"SYNs sent again",
    r"the first answer in ms",
    r"ledger \d+ pages",
    r"registrations, \d+ doorbells",
    r"duplicate-request cache answered",
    r": transport reconnects",
    r"soft: status",
)


def facts(remarks):
    """The remarks worth keeping, under their scenarios."""
    wanted = re.compile("|".join(FACTS))
    out, last = ["```"], None
    for scenario, text in remarks:
        if not wanted.search(text):
            continue
        if scenario != last:
            out.append(scenario)
        last = scenario
        out.append("    " + text)
    return "\n".join(out + ["```"])


def main():
    parser = argparse.ArgumentParser(description="tables of kernel peers")
    parser.add_argument("tap", type=pathlib.Path)
    parser.add_argument("--readme", type=pathlib.Path)
    parser.add_argument("--doc", type=pathlib.Path)
    args = parser.parse_args()
    peers = declared()
    claims, remarks = read(args.tap)
    if not claims:
        sys.exit("peers.py: no claims there")
    count = rows(peers, claims)
    failed = [f"{s}: {t}" for s, t, good, _ in claims if not good]
    if failed:
        print("failed:", *failed, sep="\n  ", file=sys.stderr)
        return 1
    held = sum(1 for c in claims if not c[3])
    total = f"{held} claims in {len({c[0] for c in claims})} scenarios hold."
    if args.readme:
        marked.put(args.readme, "peers", short_table(peers, count))
    if args.doc:
        marked.put(args.doc, "peers", full_table(peers, count) + f"\n\n{total}")
        marked.put(args.doc, "facts", facts(remarks))
    if not args.readme and not args.doc:
        print(short_table(peers, count), full_table(peers, count), facts(remarks), total, sep="\n\n")
    return 0


sys.exit(main())
