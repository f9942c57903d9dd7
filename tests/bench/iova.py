#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What an address per I/O costs: nfsrdma-iommu iova several times over, then bench_iova, as a table for docs/iommu.md.

Each run sets a control loop, the magazines and the tree under one lock side by side in turns; the table has the least
and the most of the runs' medians.  Whether what is asked of the allocator holds is said below it, run by run, whatever
comes out.  Ends with 1 where it does not.

    tests/bench/iova.py [--runs N] [--seconds S] [--operations N] [--docs docs/iommu.md]
"""
import argparse, json, os, re, subprocess, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import marked

NAMES = {"control": "control (arrays of each thread)", "magazine": "magazine", "tree": "tree under one lock, 1000 other ranges out"}
# what is asked: (claim, of a run's figures, limit, below or above)
CLAIMS = (
    ("at most 30 ns per allocation and release, one thread", lambda d: d["magazine"]["ns_one_thread"], 30, False, "ns"),
    ("at least 97 % of the control's scaling", lambda d: d["magazine"]["of_control_percent"], 97, True, "%"),
    ("at least 10 times the locked tree, both threads", lambda d: d["tree"]["ns_all_threads"] / d["magazine"]["ns_all_threads"], 10, True, "times"),
)


def run(a):
    cmd = [f"{a.build_dir}/nfsrdma-iommu", "iova", "--threads", "2", "--seconds", str(a.seconds), "--json"]
    out = subprocess.run(cmd, capture_output=True, text=True, timeout=a.seconds * 3 + 60, check=True).stdout
    doc = json.loads(out)
    return doc["rounds"], {x["name"]: x for x in doc["allocators"]}


def grown(a):
    """[(operations, magazines)] as bench_iova prints them at each power of ten."""
    cmd = [f"{a.build_dir}/tests/bench/bench_iova", str(a.operations)]
    out = subprocess.run(cmd, capture_output=True, text=True, timeout=900, check=True).stdout
    return [(int(o), int(m)) for o, m in re.findall(r"^ *(\d+) operations .*: magazines (\d+)", out, re.M)]


def span(values, form):
    low, high = form % min(values), form % max(values)
    return low if low == high else f"{low} - {high}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--seconds", type=int, default=24)
    p.add_argument("--operations", type=int, default=10**9)
    p.add_argument("--build-dir", default=os.path.join(top, "build"))
    p.add_argument("--docs")
    a = p.parse_args()
    results = [run(a) for _ in range(a.runs)]
    docs, rounds = [d for _, d in results], results[0][0]
    lines = [f"`tests/bench/iova.py`: {a.runs} runs of `nfsrdma-iommu iova --threads 2 --seconds {a.seconds}`, {rounds} rounds each, on "
             f"{os.cpu_count()} CPUs; least and most of their medians:", "",
             "| allocator | ns per allocation and release, one thread | both threads | of the control's scaling |",
             "| --- | --- | --- | --- |"]
    for name, words in NAMES.items():
        lines.append(f"| {words} | {span([d[name]['ns_one_thread'] for d in docs], '%.1f')} | "
                     f"{span([d[name]['ns_all_threads'] for d in docs], '%.1f')} | {span([d[name]['of_control_percent'] for d in docs], '%.0f')} % |")
    lines += ["", "| asked | found, run by run | holds |", "| --- | --- | --- |"]
    failed = False
    for claim, figure, limit, above, unit in CLAIMS:
        found = [figure(d) for d in docs]
        good = sum(f >= limit if above else f <= limit for f in found)
        failed |= good < len(found)
        lines.append(f"| {claim} | {', '.join('%.1f' % f for f in found)} {unit} | {'yes' if good == len(found) else f'in {good} of {len(found)} runs'} |")
    marks = grown(a)
    first, last = next(m for m in marks if m[0] >= min(10**6, a.operations)), marks[-1]
    holds = last[1] <= 2 * first[1]
    failed |= not holds
    lines.append(f"| no growth over {last[0]:.0e} operations that wander through the depot (`tests/bench/bench_iova`) | "
                 f"{first[1]} magazines after {first[0]:.0e}, {last[1]} at the end | {'yes' if holds else 'no'} |")
    text = "\n".join(lines)
    print(text)
    if a.docs:
        marked.put(a.docs, "iova", text)
    sys.exit(failed)


main()
