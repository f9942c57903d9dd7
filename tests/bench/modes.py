#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The memory modes side by side on the software RNIC, interleaved; a markdown table.

4 KiB random READ at depth 16, 256 KiB sequential READ and WRITE at depth 8, files in memory,
server and client on loopback.  Each figure is the median of the rounds with its range; ratios are
of figures taken in the same round.
"""
import argparse, json, os, platform, re, shutil, signal, statistics, subprocess, tempfile

MODES = ("pool", "window", "cache", "per-io")
TESTS = (("4 KiB random READ", "random", 4096, 16), ("256 KiB READ", "read", 262144, 8), ("256 KiB WRITE", "write", 262144, 8))
MIB = 64


def one(a, target, port, mode, op, size, depth):
    opts = f"fabric=iwarp,port={port},mountport={a.tcp_port},mr={mode}"
    cmd = [f"{a.build_dir}/tests/bench/bench_modes", target, opts, op, str(size), str(depth), str(MIB), str(a.ms)]
    r = subprocess.run(cmd, capture_output=True, text=True, timeout=60)
    if r.returncode:
        raise SystemExit(f"modes: {' '.join(cmd)}: {r.stderr.strip()}")
    ops, cpu = r.stdout.split()
    return float(ops), float(cpu)


def measure(a, port):
    rows = []
    for name, op, size, depth in TESTS:
        got = {m: [] for m in MODES}
        for _ in range(a.rounds):
            for m in MODES:
                got[m].append(one(a, "127.0.0.1:/m", port, m, op, size, depth))
        rows.append((name, size, got))
    return rows


def table(a, rows):
    out = [f"{a.rounds} interleaved rounds of {a.ms} ms; {os.cpu_count()} cores, Linux {platform.release()}, loopback, software RNIC.", "",
           "| test | mode | per second | CPU us per call | against pool | range |", "| --- | --- | --- | --- | --- | --- |"]
    for name, size, got in rows:
        for m in MODES:
            ops = statistics.median(x[0] for x in got[m])
            cpu = statistics.median(x[1] for x in got[m])
            ratio = sorted(x[0] / p[0] for x, p in zip(got[m], got["pool"]))
            rate = f"{ops:.0f} calls" if size == 4096 else f"{ops * size / 1e6:.0f} MB"
            out.append(f"| {name} | {m} | {rate} | {cpu:.1f} | {statistics.median(ratio):.2f} | {ratio[0]:.2f}-{ratio[-1]:.2f} |")
    return "\n".join(out) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--build-dir", default=os.path.join(os.path.dirname(__file__), "../../build"))
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--ms", type=int, default=1000)
    p.add_argument("--doc", help="put the table between the marks of this file")
    a = p.parse_args()
    work = tempfile.mkdtemp(prefix="nfsrdma-modes.", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    os.chmod(work, 0o777)
    with open(f"{work}/modes.dat", "wb") as f:
        f.write(os.urandom(1 << 20) * MIB)
    os.chmod(f"{work}/modes.dat", 0o666)
    cmd = [f"{a.build_dir}/nfsrdmad", "--export", f"{work}=/m", "--fabric", "iwarp", "--port", "0", "--tcp-port", "0", "--no-rpcbind"]
    server = subprocess.Popen(cmd, stdout=subprocess.PIPE, text=True)
    try:
        ready = json.loads(server.stdout.readline())
        a.tcp_port = ready["tcp_port"]
        text = table(a, measure(a, ready["rdma_port"]))
        print(text)
        if a.doc:
            s = open(a.doc).read()
            open(a.doc, "w").write(re.sub(r"(<!-- modes:begin -->\n).*?(<!-- modes:end -->)", lambda m: m.group(1) + text + m.group(2), s, flags=re.S))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
        shutil.rmtree(work)


main()
