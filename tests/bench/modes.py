#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The memory modes side by side on the software RNIC, interleaved; markdown tables.

4 KiB random READ at depth 16, 256 KiB sequential READ and WRITE at depth 8, files in memory,
server and client on loopback.  Rounds go through the modes forwards and backwards in turn, so that
none always follows the same other.  Each figure is the median of the rounds; ratios are of figures
taken in the same round, and their range is given.  CPU time is the client's and the server's
together.  With it: what a lease costs (bench_lease) and what registering costs by itself
(bench_modes --raw).
"""
import argparse, json, os, platform, shutil, signal, statistics, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import marked

# name in the table, and what it asks for
MODES = (("pool", "mr=pool"), ("window", "mr=window"), ("cache", "mr=cache"), ("per-io", "mr=per-io"),
         ("pool, 4 KiB pages", "mr=pool,hugepages=off"))
TESTS = (("4 KiB random READ", "random", 4096, 16), ("256 KiB READ", "read", 262144, 8), ("256 KiB WRITE", "write", 262144, 8))
MIB = 64


class Server:
    def __init__(self, build, folder):
        cmd = [f"{build}/nfsrdmad", "--export", f"{folder}=/m", "--fabric", "iwarp", "--port", "0", "--tcp-port", "0", "--no-rpcbind"]
        self.process = subprocess.Popen(cmd, stdout=subprocess.PIPE, text=True)
        ready = json.loads(self.process.stdout.readline())
        self.opts = f"fabric=iwarp,port={ready['rdma_port']},mountport={ready['tcp_port']}"

    def cpu_us(self):
        with open(f"/proc/{self.process.pid}/stat") as f:
            word = f.read().rpartition(")")[2].split()
        return (int(word[11]) + int(word[12])) * 1e6 / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def one(a, server, opts, op, size, depth):
    """Calls per second, and CPU us per call of both sides."""
    cmd = [f"{a.build_dir}/tests/bench/bench_modes", "127.0.0.1:/m", f"{server.opts},{opts}", op, str(size), str(depth), str(MIB), str(a.ms)]
    before = server.cpu_us()
    r = subprocess.run(cmd, capture_output=True, text=True, timeout=60)
    if r.returncode:
        raise SystemExit(f"modes: {' '.join(cmd)}: {r.stderr.strip()}")
    ops, cpu = map(float, r.stdout.split())
    # the server also works for the warm-up, a fifth of the time
    return ops, cpu + (server.cpu_us() - before) / (ops * a.ms / 1000 * 1.2)


def measure(a, server):
    rows = []
    for name, op, size, depth in TESTS:
        got = {m: [] for m, _ in MODES}
        for i in range(a.rounds):
            for m, opts in MODES if i % 2 else MODES[::-1]:
                got[m].append(one(a, server, opts, op, size, depth))
        rows.append((name, size, got))
    return rows


def table(a, rows):
    out = [f"{a.rounds} interleaved rounds of {a.ms} ms; {os.cpu_count()} cores, Linux {platform.release().split('-')[0]}, loopback, software RNIC.", "",
           "| test | mode | per second | against pool | range | CPU us per call, both sides | against pool |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for name, size, got in rows:
        for m, _ in MODES:
            ops = statistics.median(x[0] for x in got[m])
            cpu = statistics.median(x[1] for x in got[m])
            ratio = sorted(x[0] / p[0] for x, p in zip(got[m], got["pool"]))
            cost = statistics.median(x[1] / p[1] for x, p in zip(got[m], got["pool"]))
            rate = f"{ops:.0f} calls" if size == 4096 else f"{ops * size / 1e6:.0f} MB"
            out.append(f"| {name} | {m} | {rate} | {statistics.median(ratio):.2f} | {ratio[0]:.2f}-{ratio[-1]:.2f} | {cpu:.1f} | {cost:.2f} |")
    return "\n".join(out) + "\n"


def output_of(*cmd):
    return subprocess.run(cmd, stdout=subprocess.PIPE, text=True, check=True, timeout=100).stdout


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--build-dir", default=os.path.join(os.path.dirname(__file__), "../../build"))
    p.add_argument("--rounds", type=int, default=11)
    p.add_argument("--ms", type=int, default=400)
    p.add_argument("--only", choices=("modes", "costs"), help="the modes alone, or the costs of leases and registrations")
    p.add_argument("--doc", help="put the tables between the marks of this file")
    a = p.parse_args()
    tables = {}
    if a.only != "modes":
        tables["lease"] = output_of(f"{a.build_dir}/tests/bench/bench_lease", str(a.rounds))
        tables["raw"] = output_of(f"{a.build_dir}/tests/bench/bench_modes", "--raw")
    if a.only != "costs":
        work = tempfile.mkdtemp(prefix="nfsrdma-modes.", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        os.chmod(work, 0o777)
        with open(f"{work}/modes.dat", "wb") as f:
            f.write(os.urandom(1 << 20) * MIB)
        os.chmod(f"{work}/modes.dat", 0o666)
        server = Server(a.build_dir, work)
        try:
            tables["modes"] = table(a, measure(a, server))
        finally:
            server.stop()
            shutil.rmtree(work)
    for mark, text in tables.items():
        sys.stdout.write(text + "\n")
        if a.doc:
            marked.put(a.doc, mark, text)


main()
