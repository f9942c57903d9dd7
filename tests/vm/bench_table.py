#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bench_table.py FOLDER: what the guest measured as a markdown table.

Per client, record and depth: throughput (median of the rounds), ratio to the kernel's client on the same device (median
of the rounds' ratios), CPU of the whole guest per GiB (server included, as they share it), system calls per I/O (in a
guest of User Mode Linux reading the clock is one).
Fails when a run failed or when the library registered memory per I/O.
"""
import argparse, json, statistics, sys

CASES = ("bench-rxe", "kernel-rxe", "bench-siw", "kernel-siw", "bench-iwarp", "kernel-tcp")
PEER = {"bench-rxe": "kernel-rxe", "bench-siw": "kernel-siw", "bench-iwarp": "kernel-siw"}
NAMES = {"initial writers": "WRITE", "readers": "READ"}


def calls(folder, case, record, depth, n):
    """All of them, and those that read the clock."""
    count = {}
    for line in open(f"{folder}/{case}.{record}.{depth}.calls{n}"):
        words = line.split()
        if len(words) >= 2 and words[0].isdigit():
            count[words[-1]] = int(words[0])
    if "total" not in count:
        raise SystemExit(f"{case} {record} {depth}: strace counted nothing")
    return count["total"], count.get("clock_gettime", 0)


def calls_per_io(folder, case, record, depth):
    few, many = (calls(folder, case, record, depth, n) for n in (16, 80))
    return [(m - f) / (2 * 64) for f, m in zip(few, many)]


def one(folder, name):
    status = open(f"{folder}/{name}.status").read().strip()
    if status != "0":
        raise SystemExit(f"{name}: status {status}: {open(f'{folder}/{name}.err').read().strip()}")
    doc = json.load(open(f"{folder}/{name}.json"))
    for t in doc["tests"]:
        if "ledger" in t and t["ledger"]["registrations"]:
            raise SystemExit(f"{name}: {t['ledger']['registrations']} registrations")
    return doc["tests"]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder")
    p.add_argument("--rounds", type=int, default=1)
    a = p.parse_args()
    hz = float(open(f"{a.folder}/hz").read())
    print("| record | depth | client | WRITE MB/s | READ MB/s | WRITE, READ to the kernel's | guest CPU s/GiB | system calls per I/O, of them reading the clock |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for record in ("256k", "4k"):
        for depth in (1, 8):
            rate, cpu = {}, {}
            for c in CASES:
                for r in range(1, a.rounds + 1):
                    name = f"{c}.{record}.{depth}.{r}"
                    tests = one(a.folder, name)
                    for t in tests:
                        rate.setdefault((c, NAMES[t["name"]]), []).append(t["children_kBps"] * 1.024e-3)
                    moved = sum(t["bytes"] for t in tests) / 2**30
                    cpu.setdefault(c, []).append(float(open(f"{a.folder}/{name}.ticks").read()) / hz / moved)
            for c in CASES:
                w, rd = (statistics.median(rate[c, k]) for k in ("WRITE", "READ"))
                ratio = "-"
                if c in PEER:
                    ratio = ", ".join("%.2f" % statistics.median(x / y for x, y in zip(rate[c, k], rate[PEER[c], k])) for k in ("WRITE", "READ"))
                n, clock = calls_per_io(a.folder, c, record, depth)
                print(f"| {record} | {depth} | {c} | {w:.1f} | {rd:.1f} | {ratio} | {statistics.median(cpu[c]):.2f} | {n:.2f}, {clock:.2f} |")


main()
