#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bench_table.py FOLDER: what the guest measured as a markdown table.

Per client, record and depth: throughput (median of the rounds), ratio to the kernel's client on the same device (median
of the rounds' ratios), CPU of the whole guest per GiB (server included, as they share it), system calls per I/O.  Reading
the clock is one in User Mode Linux, but not counted: the bench reads the CPU's counter there once it knows it, which takes
longer than a run under strace.  Where ours is slower: by how much an I/O takes longer, and how much of that the system
calls it makes more than the kernel's client cost at the price measured in the guest (price_ns).
Fails when a run failed or when the library registered memory per I/O.

--served compares the bytes of each test with what nfsd counted meanwhile: to the byte.
--at-most D1 D8 prints nothing and fails when verbs takes more calls per I/O than that at 256 KiB, the clock apart.
"""
import argparse, json, statistics, sys

CASES = ("bench-rxe", "kernel-rxe", "bench-siw", "kernel-siw", "bench-iwarp", "kernel-tcp")
PEER = {"bench-rxe": "kernel-rxe", "bench-siw": "kernel-siw", "bench-iwarp": "kernel-siw"}
NAMES = {"initial writers": "WRITE", "readers": "READ"}
KINDS = ("WRITE", "READ")


def calls(folder, case, record, depth, n):
    """All of them but those that read the clock."""
    count = {}
    for line in open(f"{folder}/{case}.{record}.{depth}.calls{n}"):
        words = line.split()
        if len(words) >= 2 and words[0].isdigit():
            count[words[-1]] = int(words[0])
    if "total" not in count:
        raise SystemExit(f"{case} {record} {depth}: strace counted nothing")
    return count["total"] - count.get("clock_gettime", 0)


def calls_per_io(folder, case, record, depth):
    few, many = (calls(folder, case, record, depth, n) for n in (64, 320))
    return (many - few) / (2 * 256)


def one(folder, name):
    status = open(f"{folder}/{name}.status").read().strip()
    if status != "0":
        raise SystemExit(f"{name}: status {status}: {open(f'{folder}/{name}.err').read().strip()}")
    doc = json.load(open(f"{folder}/{name}.json"))
    for t in doc["tests"]:
        if "ledger" in t and t["ledger"]["registrations"]:
            raise SystemExit(f"{name}: {t['ledger']['registrations']} registrations")
    return doc["tests"]


def explained(record, rates, peers, more_ns):
    """Microseconds an I/O of ours takes longer, and the share that so many ns of system calls are; per kind."""
    bytes_per_io = int(record[:-1]) * 1024
    out = []
    for kind in KINDS:
        gap = bytes_per_io / statistics.median(rates[kind]) - bytes_per_io / statistics.median(peers[kind])
        out.append(f"{gap:.0f}: {min(more_ns / 1000 / gap, 9.99) * 100:.0f} %" if gap > 0 else "-")
    return ", ".join(out)


def one_group(a, record, depth, price_ns, hz):
    rate, cpu = {c: {k: [] for k in KINDS} for c in a.cases}, {c: [] for c in a.cases}
    for c in a.cases:
        for r in range(1, a.rounds + 1):
            name = f"{c}.{record}.{depth}.{r}"
            tests = one(a.folder, name)
            for t in tests:
                rate[c][NAMES[t["name"]]].append(t["children_kBps"] * 1.024e-3)
            moved = sum(t["bytes"] for t in tests) / 2**30
            cpu[c].append(float(open(f"{a.folder}/{name}.ticks").read()) / hz / moved)
    made = {c: calls_per_io(a.folder, c, record, depth) for c in a.cases}
    for c in a.cases:
        w, rd = (statistics.median(rate[c][k]) for k in KINDS)
        ratio = gap = "-"
        peer = PEER.get(c)
        if peer:
            ratio = ", ".join("%.2f" % statistics.median(x / y for x, y in zip(rate[c][k], rate[peer][k])) for k in KINDS)
            gap = explained(record, rate[c], rate[peer], (made[c] - made[peer]) * price_ns)
        print(f"| {record} | {depth} | {c} | {w:.1f} | {rd:.1f} | {ratio} | {statistics.median(cpu[c]):.2f} | {made[c]:.2f} | {gap} |")


def served(a):
    for c in a.cases:
        for record in a.records:
            for depth in (1, 8):
                name = f"{a.folder}/{c}.{record}.{depth}.calls320"
                before, after = ([int(x) for x in line.split()] for line in open(f"{name}.served"))
                said = {NAMES[t["name"]]: t["bytes"] for t in json.load(open(f"{name}.json"))["tests"]}
                if (said["READ"], said["WRITE"]) != (after[0] - before[0], after[1] - before[1]):
                    raise SystemExit(f"{c} {record} {depth}: the bench says {said}, nfsd read {after[0] - before[0]} and wrote {after[1] - before[1]}")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder")
    p.add_argument("--rounds", type=int, default=1)
    p.add_argument("--records", nargs="+", default=("256k", "4k"))
    p.add_argument("--cases", nargs="+", default=CASES)
    p.add_argument("--emulated", action="store_true")
    p.add_argument("--served", action="store_true")
    p.add_argument("--at-most", nargs=2, type=float)
    a = p.parse_args()
    if a.served:
        return served(a)
    if a.at_most:
        for depth, most in zip((1, 8), a.at_most):
            for c in ("bench-rxe", "bench-siw"):
                n = calls_per_io(a.folder, c, "256k", depth)
                if n > most:
                    raise SystemExit(f"{c} makes {n:.2f} calls per I/O at depth {depth}")
        return
    hz = float(open(f"{a.folder}/hz").read())
    price_ns = float(open(f"{a.folder}/price_ns").read())
    print(f"A system call (one byte read or written) cost {price_ns / 1000:.1f} us there{', emulated' if a.emulated else ''}.\n")
    unit = "MB/s (emulated)" if a.emulated else "MB/s"
    print(f"| record | depth | client | WRITE {unit} | READ {unit} | WRITE, READ to the kernel's | guest CPU s/GiB | system calls per I/O, the clock apart | longer per I/O, us: of it by system calls (WRITE, READ) |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for record in a.records:
        for depth in (1, 8):
            one_group(a, record, depth, price_ns, hz)


main()
