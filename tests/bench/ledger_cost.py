#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the ledger costs: instructions per RPC under callgrind, all of the client's and the ledger's own.

A client reads 4 KiB at random, eight at a time, over the software RNIC; callgrind counts the
instructions of each source line within nfsrdma_process(), where completions submit the next calls.
Counted as the ledger's are window.c, ledger.c and watch.c whole, the functions that count leases
and registrations, and every line that adds to a counter.  Instructions do not depend on how busy the
machine is.  Exit 1 where the ledger takes more than --most of the whole, in any mode; in per-io mode
the whole is more than is counted, for callgrind does not see the kernel's part of registering.
"""
import argparse, os, re, sys

import served

WHOLE = {"window.c", "ledger.c", "watch.c"}
FUNCTIONS = re.compile(r"^static void (mr_count_(own|taken|given)|mr_region_count_(open|close))\(")
LINES = re.compile(r"MR_LEDGER_(ADD|SUB)\(|mr_window_count_|mr_ledger_batch\(|mr_count_(taken|given)\(|mr_region_count_|mr_quarantine_end\(")


def ledger_lines(path):
    """Numbers of the lines that are the ledger's; None: all of them."""
    if os.path.basename(path) in WHOLE:
        return None
    got, inside = set(), False
    for n, line in enumerate(open(path), 1):
        inside = inside or bool(FUNCTIONS.match(line))
        if inside or LINES.search(line):
            got.add(n)
        inside = inside and line.rstrip() != "}"
    return got


def count(profile, src):
    """(all instructions, the ledger's, calls of nfsrdma_pread_async)"""
    total = ledger = calls = 0
    lines, mine, callee, skip = {}, set(), "", False
    for line in open(profile):
        key, eq, value = line.strip().partition("=")
        if eq and key in ("fl", "fi", "fe"):
            path = os.path.normpath(os.path.join(src, "build", value))
            if os.path.dirname(path) == f"{src}/mr" and os.path.exists(path):
                if path not in lines:
                    lines[path] = ledger_lines(path)
                mine = lines[path]
            else:
                mine = set()
        elif eq and key == "cfn":
            callee = value
        elif eq and key == "calls":
            calls += int(value.split()[0]) if callee == "nfsrdma_pread_async" else 0
            skip = True
        elif line[:1].isdigit():
            at, _, cost = line.partition(" ")
            if not skip:
                total += int(cost)
                ledger += int(cost) if mine is None or int(at) in mine else 0
            skip = False
    return total, ledger, calls


def one(a, ready, mode, work):
    opts = f"fabric=iwarp,port={ready['rdma_port']},mountport={ready['tcp_port']},mr={mode}"
    profile = f"{work}/{mode}.out"
    failed = served.callgrind(a.build_dir, profile, ["127.0.0.1:/m", opts, "random", "4096", "8", "4", str(a.ms)])
    if failed:
        raise SystemExit(f"ledger_cost: {mode}: {failed}")
    return count(profile, a.src)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--src", default=os.path.realpath(os.path.join(os.path.dirname(__file__), "../..")))
    p.add_argument("--build-dir")
    p.add_argument("--ms", type=int, default=1500)
    p.add_argument("--most", type=float, default=0.01)
    a = p.parse_args()
    a.build_dir = a.build_dir or f"{a.src}/build"
    worst = 0.0
    with served.modes_file(a.build_dir) as (ready, work):
        print("| mode | RPCs | instructions per RPC | the ledger's | share |\n| --- | --- | --- | --- | --- |")
        for mode in ("pool", "window", "cache", "per-io"):
            total, ledger, calls = one(a, ready, mode, work)
            if not calls:
                raise SystemExit(f"ledger_cost: {mode}: no calls were counted")
            share = ledger / total
            worst = max(worst, share)
            print(f"| {mode} | {calls} | {total / calls:.0f} | {ledger / calls:.1f} | {share * 100:.2f} % |", flush=True)
    sys.exit(worst > a.most)


main()
