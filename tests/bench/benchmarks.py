#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures this machine and writes docs/benchmarks.md.

    tests/bench/benchmarks.py run [SECTION...]     measure; what was measured is kept in --work
    tests/bench/benchmarks.py write                put all that is kept there into the document; sections that were not
                                                   measured anew stay as they are, with their date

Sections: headline, clients, random, share, report2021, guest, qemu.  Each is a command of its own, told in the document.
"""
import argparse, json, os, platform, re, shutil, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.path.dirname(os.path.dirname(HERE))
DOC = f"{SRC}/docs/benchmarks.md"
SECTIONS = {
    "headline": ("What registering memory costs, and what the pool saves",
                 "nfsrdma-bench --sweep mr=pool,window,per-io --sweep proto=rdma,tcp -i0 -i1 -i2 -s256m -r256k -t4 --dir DIR --report out.html",
                 "Over tcp nothing is registered: those three rows differ by what the machine does by itself."),
    "clients": ("The library beside libnfs and plain system calls",
                "nfsrdma-bench --client nfsrdma --client libnfs --client posix:DIR --depth 8 -i0 -i1 -s256m -r256k -t2 --dir DIR",
                "The same server, files, depth and record for the first two; posix is the file system itself, without any network."),
    "random": ("4 KiB at random, by depth",
               "nfsrdma-bench --sweep proto=rdma,tcp --sweep depth=1,8,32 -i0 -i2 -+n -s64m -r4k -t1 --dir DIR", ""),
    "share": ("The bench's own share", "tests/bench/share.py",
              "Instructions per operation under callgrind on the /null export, from the first record to the last."),
    "report2021": ("iozone's command as it stands", "nfsrdma-bench -M -+u -i0 -i1 -s1g -r256k -t12 -I --dir DIR",
                   "Twelve children on this machine's cores, server and client together."),
    "guest": ("Beside the kernel's client, in a guest", "NFSRDMA_BENCH_TABLE=FILE tests/vm/run.sh bench-kernel",
              "User Mode Linux, one CPU for client and server together; O_DIRECT for the kernel's client. Below 1 the kernel's client is ahead. "
              "A system call costs 15 to 50 us in such a guest, a hundred times what it does on hardware; what it cost in this run stands above the table."),
    "qemu": ("The same in an emulated machine", "NFSRDMA_BENCH_TABLE=FILE tests/vm/run.sh bench-kernel-qemu",
             "QEMU without KVM, two CPUs, rxe. Times are emulated; the ratio is what counts."),
}


def run_section(a, name):
    folder = f"{a.dir}/nfsrdma-benchmarks"
    os.makedirs(folder, exist_ok=True)
    os.makedirs(a.work, exist_ok=True)
    out = f"{a.work}/{name}"
    if name == "share":
        with open(f"{out}.md", "w") as f:
            r = subprocess.run([f"{HERE}/share.py", "--build-dir", a.build_dir], stdout=f)
    elif name in ("guest", "qemu"):
        env = dict(os.environ, NFSRDMA_BENCH_TABLE=f"{out}.md", BUILD=a.build_dir)
        r = subprocess.run([f"{SRC}/tests/vm/run.sh", SECTIONS[name][1].split()[-1]], env=env)
    else:
        words = SECTIONS[name][1].replace("DIR", folder).replace("out.html", f"{out}.html").split()
        words[0] = f"{a.build_dir}/nfsrdma-bench"
        with open(f"{out}.out", "w") as f:
            r = subprocess.run(words + ["--json", f"{out}.json"], stdout=f)
    shutil.rmtree(folder, ignore_errors=True)
    if r.returncode:
        sys.exit(f"benchmarks: {name}: status {r.returncode}")


def rows(doc):
    for run in doc.get("runs") or [{"set": {}, "tests": doc["tests"]}]:
        label = " ".join(f"{k}={v}" for k, v in run["set"].items())
        for t in run["tests"]:
            yield label, t


def table(doc):
    out = ["| test | case | MB/s (median) | least .. most | ratio [95 %] | CPU s/GiB | p50, p99 us | registrations, pages pinned per I/O |",
           "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    names = list(dict.fromkeys((t["children"], t["name"]) for _, t in rows(doc)))
    for children, name in names:
        for label, t in rows(doc):
            if (t["children"], t["name"]) != (children, name):
                continue
            mb = [x * 1.024e-3 for x in t.get("rounds_kBps", [t["children_kBps"]])]
            q, l = t.get("ratio"), t.get("ledger")
            ratio = "1" if not q else f"{q['mean']:.2f} [{q['low95']:.2f} .. {q['high95']:.2f}]" if "low95" in q else f"{q['mean']:.2f}"
            per_io = f"{l['registrations_per_io']:.3g}, {l['pages_charged_per_io']:.3g}" if l else "-"
            out.append(f"| {children} {name} | {label or '-'} | {t['children_kBps'] * 1.024e-3:.0f} | {min(mb):.0f} .. {max(mb):.0f} | {ratio} | "
                       f"{t['cpu_s_per_GiB']:.3f} | {t['latency_us']['p50']:.0f}, {t['latency_us']['p99']:.0f} | {per_io} |")
    return "\n".join(out)


def lines(name):
    keep = [x for x in open(name) if re.search(r"Children see|Parent sees|M(in|ax|in xfer) |Avg|CPU", x) and not x.startswith("#")]
    return "```\n" + "".join(keep) + "```"


def section(a, name):
    title, command, words = SECTIONS[name]
    out = f"{a.work}/{name}"
    if os.path.exists(f"{out}.md"):
        body = open(f"{out}.md").read().strip()
    elif os.path.exists(f"{out}.json"):
        doc = json.load(open(f"{out}.json"))
        body = (lines(f"{out}.out") + "\n\n" if name == "report2021" else "") + table(doc)
        if doc.get("rounds", 1) > 1:
            words = f"{doc['rounds']} rounds, cases taken in turns. " + words
    else:
        return None
    day = time.strftime("%Y-%m-%d", time.localtime(os.path.getmtime(f"{out}.md" if os.path.exists(f"{out}.md") else f"{out}.json")))
    return f"## {title}\n\n    {command}\n\n{f'Measured {day}. {words}'.strip()}\n\n{body}\n"


def kept():
    """The document's sections by title, as they stand."""
    if not os.path.exists(DOC):
        return {}
    return {m[1]: m[0].rstrip() + "\n" for m in re.finditer(r"^## (.+?)\n.*?(?=^## |\Z)", open(DOC).read(), re.M | re.S)}


def write(a):
    cpu = next((x.split(":")[1].strip() for x in open("/proc/cpuinfo") if x.startswith("model name")), "unknown")
    old = kept()
    parts = [s for s in (section(a, n) or old.get(SECTIONS[n][0]) for n in SECTIONS) if s]
    head = (f"# Benchmarks\n\nMade by `tests/bench/benchmarks.py`: {os.cpu_count()} x {cpu}, Linux {platform.release()}, "
            "server and client on the same machine over loopback, files in memory (DIR is on tmpfs), software RNIC (fabric iwarp). Only ratios mean "
            "something elsewhere: the machine is shared, and the client's work and the server's compete for the same cores.\n\n"
            "MB are 10^6 bytes. `CPU s/GiB` is the client's, user and system. A ratio is that to the first case, taken within rounds.\n\n")
    open(DOC, "w").write(head + "\n".join(parts))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("action", choices=("run", "write"))
    p.add_argument("sections", nargs="*")
    p.add_argument("--build-dir", default=f"{SRC}/build")
    p.add_argument("--dir", default="/dev/shm")
    p.add_argument("--work", default=f"{SRC}/build/benchmarks")
    a = p.parse_args()
    a.build_dir, a.work = os.path.abspath(a.build_dir), os.path.abspath(a.work)  # they go to programs that run elsewhere
    for name in a.sections or SECTIONS if a.action == "run" else ():
        run_section(a, name)
    if a.action == "write":
        write(a)


main()
