#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""throughput.py - sequential READ and WRITE at 256 KiB, side by side in one run.

Against iperf3 -l 256K (what one TCP stream moves here) on the /null export, and against libnfs to the same server on
the same files.  Interleaved A B C A B C ...; medians, spread and ratios; the machine is noisy, so only the ratios mean something.

    tests/bench/throughput.py [--build-dir build] [--rounds 5] [--size-mib 512] [--json FILE] [--markdown FILE]
    tests/bench/throughput.py --readme README.md     also fills the table between its bench markers
"""
import argparse, json, os, platform, shutil, signal, statistics, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import marked

COLUMNS = ["iperf3", "rdma /null", "rdma files", "tcp files", "libnfs files"]


def run(cmd, **kw):
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300, **kw)
    if p.returncode:
        sys.exit(f"throughput: {' '.join(cmd)}: status {p.returncode}\n{p.stdout[-800:]}\n{p.stderr[-800:]}")
    return p.stdout


def start_server(build, work):
    os.makedirs(f"{work}/export")
    os.chmod(f"{work}/export", 0o777)  # root is squashed
    err = open(f"{work}/nfsrdmad.err", "w")
    p = subprocess.Popen([f"{build}/nfsrdmad", "--export", f"{work}/export=/e", "--null", "--port", "0", "--tcp-port", "0",
                          "--no-rpcbind", "--state", f"{work}/state"], stdout=subprocess.PIPE, stderr=err, text=True)
    line = p.stdout.readline()
    if not line:
        sys.exit("throughput: nfsrdmad did not start: " + open(f"{work}/nfsrdmad.err").read())
    return p, json.loads(line)


def iperf(port, op, threads, seconds):
    cmd = ["iperf3", "-c", "127.0.0.1", "-p", str(port), "-l", "256K", "-P", str(threads), "-t", str(seconds), "-J"]
    d = json.loads(run(cmd + (["-R"] if op == "READ" else [])))
    return d["end"]["sum_received"]["bits_per_second"] / 8 / 1e6


def bench(build, work, port, proto, client, where, op, depth, threads, mib):
    out = f"{work}/bench.json"
    cmd = [f"{build}/nfsrdma-bench", "--target", f"127.0.0.1:{where}", "-o", f"proto={proto},port={port}", "--client", client,
           "--depth", str(depth), "-s", f"{mib // threads}m", "-r", "256k", "-t", str(threads), "-i0", "--json", out]
    run(cmd + (["-i1"] if op == "READ" else []))
    want = "re-readers" if op == "READ" else "rewriters"
    for t in json.load(open(out))["tests"]:
        if t["name"] == want:
            return t["children_kBps"] * 1024 / 1e6
    sys.exit(f"throughput: no test '{want}' in {out}")


def measure(a, work, ready, iperf_port):
    rdma, tcp, rows = ready["rdma_port"], ready["tcp_port"], []
    for op in ("READ", "WRITE"):
        for depth in (1, 8):
            for threads in (1, 4):
                got = {c: [] for c in COLUMNS}
                for _ in range(a.rounds):
                    b = lambda port, proto, client, where: bench(a.build_dir, work, port, proto, client, where, op, depth, threads, a.size_mib)
                    got["iperf3"].append(iperf(iperf_port, op, threads, 1))
                    got["rdma /null"].append(b(rdma, "rdma", "nfsrdma", "/null"))
                    got["rdma files"].append(b(rdma, "rdma", "nfsrdma", "/e"))
                    got["tcp files"].append(b(tcp, "tcp", "nfsrdma", "/e"))
                    got["libnfs files"].append(b(tcp, "tcp", "libnfs", "/e"))
                rows.append({"op": op, "depth": depth, "threads": threads, "MBps": got})
                print(row_text(rows[-1]), flush=True)
    return rows


def ratio(row, a, b):
    r = sorted(x / y for x, y in zip(row["MBps"][a], row["MBps"][b]))
    return statistics.median(r), r[0], r[-1]


def row_text(row):
    med = {c: statistics.median(v) for c, v in row["MBps"].items()}
    n, n0, n1 = ratio(row, "rdma /null", "iperf3")
    f, f0, f1 = ratio(row, "rdma files", "libnfs files")
    return (f"| {row['op']} | {row['depth']} | {row['threads']} | " + " | ".join(f"{med[c]:.0f}" for c in COLUMNS) +
            f" | {n:.2f} ({n0:.2f}-{n1:.2f}) | {f:.2f} ({f0:.2f}-{f1:.2f}) |")


def table(a, rows):
    cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "?")
    head = (f"256 KiB records, {a.size_mib} MiB, medians of {a.rounds} interleaved rounds in MB/s; ratios with their range. "
            f"{os.cpu_count()} cores ({cpu}), Linux {platform.release()}, loopback, software RNIC.\n\n")
    cols = "| op | depth | threads | " + " | ".join(COLUMNS) + " | /null : iperf3 | files : libnfs |\n" + "| --- " * 10 + "|\n"
    return head + cols + "\n".join(row_text(r) for r in rows) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--build-dir", default=os.path.join(os.path.dirname(__file__), "../../build"))
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--size-mib", type=int, default=512)
    p.add_argument("--json")
    p.add_argument("--markdown")
    p.add_argument("--readme")
    a = p.parse_args()
    shm = "/dev/shm"
    room = shutil.disk_usage(shm).free if os.path.isdir(shm) else 0
    work = tempfile.mkdtemp(prefix="nfsrdma-bench.", dir=shm if room > (a.size_mib << 22) else None)
    server, ready = start_server(a.build_dir, work)
    ip = subprocess.Popen(["iperf3", "-s", "-p", str(free_port())], stdout=subprocess.DEVNULL)
    port = int(ip.args[-1])
    try:
        time.sleep(0.5)
        print("| op | depth | threads | " + " | ".join(COLUMNS) + " | /null : iperf3 | files : libnfs |")
        rows = measure(a, work, ready, port)
        text = table(a, rows)
        if a.json:
            json.dump(rows, open(a.json, "w"), indent=1)
        if a.markdown:
            open(a.markdown, "w").write(text)
        if a.readme:
            marked.put(a.readme, "bench", text)
    finally:
        server.send_signal(signal.SIGTERM)
        ip.terminate()
        server.wait()
        ip.wait()
        shutil.rmtree(work)


def free_port():
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


main()
