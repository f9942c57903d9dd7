#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The bench's own share of the instructions of an operation, under callgrind, on the /null export.

What runs between the first record and the last is what child_move() costs.  Of that the bench's are the instructions of
its own functions and of what they call to measure (the clock, the histogram); all else is the library's, its callbacks
into the bench excepted.  Exit status 1 when a share is above the limit (5 %).
"""
import argparse, json, os, re, shutil, signal, subprocess, sys, tempfile

CASES = (("4 KiB READ, depth 1", "4k", 1, "1"), ("4 KiB READ, depth 16", "4k", 16, "1"), ("256 KiB READ, depth 8", "256k", 8, "1"),
         ("4 KiB WRITE, depth 16", "4k", 16, "0"))
OWN_FILES = ("move.c", "walk.c", "client_nfsrdma.c", "child.c")
MEASURING = ("util_clock_ns", "util_hist_add")


class Calls:
    """A callgrind file: for each function its own instructions, and those of what it calls."""

    def __init__(self, name):
        self.own, self.calls, self.files = {}, {}, {}
        names, fn, callee, count = {}, None, None, None

        def resolve(text, kind):
            m = re.match(r"\((\d+)\)(?: (.*))?$", text)
            if m.group(2):
                names[kind, m.group(1)] = m.group(2)
            return names[kind, m.group(1)]

        file = cfile = None
        for line in open(name):
            line = line.rstrip("\n")
            if line.startswith(("fl=", "fi=", "fe=")):
                file = resolve(line[3:], "f")
            elif line.startswith("fn="):
                fn = resolve(line[3:], "n")
                self.files.setdefault(fn, file)
            elif line.startswith(("cfi=", "cfl=")):
                cfile = resolve(line[4:], "f")
            elif line.startswith("cfn="):
                callee = resolve(line[4:], "n")
                self.files.setdefault(callee, cfile or file)
                cfile = None
            elif line.startswith("calls="):
                count = True
            elif re.match(r"[+*\-\d]", line) and fn:
                cost = int(line.split()[1]) if len(line.split()) > 1 else 0
                if count:
                    self.calls[fn, callee] = self.calls.get((fn, callee), 0) + cost
                    count = None
                else:
                    self.own[fn] = self.own.get(fn, 0) + cost

    def is_own(self, fn):
        return os.path.basename(self.files.get(fn) or "") in OWN_FILES

    def shares(self):
        own = sum(c for f, c in self.own.items() if self.is_own(f))
        own += sum(c for (a, b), c in self.calls.items() if self.is_own(a) and re.sub(r"'.*", "", b) in MEASURING)
        return own, sum(self.own.values())


def run(cmd):
    r = subprocess.run(cmd, capture_output=True, text=True, timeout=300)
    if r.returncode:
        raise SystemExit(f"share: {' '.join(cmd)}: {r.stderr[-1500:]}")


def measure(a, work, port, case):
    name, record, depth, test = case
    mib = 8 if record == "4k" else 64
    out = f"{work}/callgrind.out"
    bench = [f"{a.build_dir}/nfsrdma-bench", "--target", "127.0.0.1:/null", "-o", f"fabric=iwarp,port={port},mountport={a.tcp_port}",
             "-+n", "-w", f"-s{mib}m", f"-r{record}", "-f", "zero", "--depth", str(depth), "--json", f"{work}/j"]
    run(bench + ["-i0"])  # a file to read
    run(["valgrind", "--tool=callgrind", "--toggle-collect=child_move", f"--callgrind-out-file={out}"] + bench + ["-i", test])
    own, total = Calls(out).shares()
    ios = json.load(open(f"{work}/j"))["tests"][0]["ios"]
    return own / ios, total / ios


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--build-dir", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build"))
    p.add_argument("--limit", type=float, default=5)
    p.add_argument("--cases", type=int, default=len(CASES))
    a = p.parse_args()
    if os.path.exists(f"{a.build_dir}/.libs/nfsrdmad"):
        a.build_dir += "/.libs"
    work = tempfile.mkdtemp(prefix="nfsrdma-share.")
    cmd = [f"{a.build_dir}/nfsrdmad", "--null", "--export", f"{work}=/e", "--port", "0", "--tcp-port", "0", "--no-rpcbind", "--state", f"{work}/s"]
    server = subprocess.Popen(cmd, stdout=subprocess.PIPE, text=True)
    bad = False
    try:
        ready = json.loads(server.stdout.readline())
        a.tcp_port = ready["tcp_port"]
        print("| operation | instructions | of them the bench's | share |\n| --- | --- | --- | --- |")
        for case in CASES[:a.cases]:
            own, total = measure(a, work, ready["rdma_port"], case)
            share = 100 * own / total
            bad |= share > a.limit
            print(f"| {case[0]} | {total:.0f} | {own:.0f} | {share:.1f} % |")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
        shutil.rmtree(work)
    return 1 if bad else 0


sys.exit(main())
