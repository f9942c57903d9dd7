#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the software IOMMU costs: instructions per RPC under callgrind, and wall time, by policy and mode.

The client reads and writes records of 4 and 256 KiB over the software RNIC, once for each policy, and
callgrind counts the instructions of nfsrdma_process(), kernel excluded.  With --wall the same runs are
timed without callgrind, policies in turns, and the median of their ratios to iommu=off is given with the least and the
most.  With --inval-ns N hardware's invalidation is modelled, and the table says so.  Ends with 1 where
strict costs the pool more than --most.

    tests/bench/iommu.py [--wall ROUNDS] [--inval-ns N]
"""
import argparse, os, re, statistics, subprocess, sys

import served

POLICIES = ("off", "lazy", "strict")


def command(a, ready, case, policy):
    mode, op, size = case
    opts = f"fabric=iwarp,port={ready['rdma_port']},mountport={ready['tcp_port']},mr={mode},iommu={policy}"
    if a.inval_ns and policy != "off":
        opts += f",iommu-inval-ns={a.inval_ns}"
    return ["127.0.0.1:/m", opts, op, str(size), "8", "4", str(a.ms)]


def counted(a, ready, case, policy, work):
    """Instructions per RPC."""
    profile = f"{work}/callgrind.out"
    failed = served.callgrind(a.build_dir, profile, command(a, ready, case, policy))
    if failed:
        raise SystemExit(f"iommu: {case} {policy}: {failed}")
    total = calls = 0
    callee, called = "", False
    for line in open(profile):
        key, eq, value = line.strip().partition("=")
        if eq and key == "cfn":
            callee = value
        elif eq and key == "calls":
            calls += int(value.split()[0]) if callee in ("nfsrdma_pread_async", "nfsrdma_pwrite_async") else 0
            called = True
        elif line[:1].isdigit():
            total += 0 if called else int(line.split()[-1])
            called = False
    if not calls:
        raise SystemExit(f"iommu: {case} {policy}: no calls were counted")
    return total / calls


def timed(a, ready, case, policy):
    """Operations per second."""
    r = subprocess.run([f"{a.build_dir}/tests/bench/bench_modes"] + command(a, ready, case, policy), capture_output=True, text=True, timeout=60)
    if r.returncode:
        raise SystemExit(f"iommu: {case} {policy}: {r.stderr.strip()[-2000:]}")
    return float(re.findall(r"[0-9.]+", r.stdout)[0])


def words(ratios):
    return f"{statistics.median(ratios):.3f} [{min(ratios):.3f} .. {max(ratios):.3f}]"


def table_counted(a, ready, cases, work):
    worst = 0.0
    print("| mode | operation | off: instructions per RPC | lazy | strict |\n| --- | --- | --- | --- | --- |")
    for case in cases:
        cost = {p: counted(a, ready, case, p, work) for p in POLICIES}
        more = {p: cost[p] / cost["off"] - 1 for p in POLICIES}
        if case[0] == "pool":
            worst = max(worst, more["strict"])
        print(f"| {case[0]} | {case[1]} {case[2] >> 10} KiB | {cost['off']:.0f} | {more['lazy'] * 100:+.2f} % | {more['strict'] * 100:+.2f} % |", flush=True)
    return worst


def table_timed(a, ready, cases):
    print("| mode | operation | off: op/s, median | lazy / off | strict / off |\n| --- | --- | --- | --- | --- |")
    for case in cases:
        rounds = [{p: timed(a, ready, case, p) for p in POLICIES} for _ in range(a.wall)]
        off = statistics.median(r["off"] for r in rounds)
        lazy, strict = ([r[p] / r["off"] for r in rounds] for p in ("lazy", "strict"))
        print(f"| {case[0]} | {case[1]} {case[2] >> 10} KiB | {off:.0f} | {words(lazy)} | {words(strict)} |", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--src", default=os.path.realpath(os.path.join(os.path.dirname(__file__), "../..")))
    p.add_argument("--build-dir")
    p.add_argument("--ms", type=int, default=1000)
    p.add_argument("--wall", type=int, default=0)
    p.add_argument("--inval-ns", type=int, default=0)
    p.add_argument("--modes", default="pool,window,per-io")
    p.add_argument("--most", type=float, default=0.02)
    a = p.parse_args()
    a.build_dir = a.build_dir or f"{a.src}/build"
    cases = [(m, op, size) for m in a.modes.split(",") for op in ("read", "write") for size in (4096, 262144)]
    worst = 0.0
    if a.inval_ns:
        print(f"modelled: {a.inval_ns} ns for each invalidation wait\n")
    with served.modes_file(a.build_dir) as (ready, work):
        if a.wall:
            table_timed(a, ready, cases)
        else:
            worst = table_counted(a, ready, cases, work)
    sys.exit(worst > a.most)


main()
