#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures what docs/iommu.md says of the software IOMMU and of the other published cases, and puts it there.

    tests/bench/iommu_tables.py [--only swiommu|cases]     some ten minutes on a quiet machine

Each table lies between <!-- NAME:begin --> and <!-- NAME:end --> with the commands that made it.
"""
import argparse, json, os, pathlib, platform, re, subprocess, sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import marked

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.path.dirname(os.path.dirname(HERE))
DOC = f"{SRC}/docs/iommu.md"


def run(a, command, **more):
    """What a command prints; words like nfsrdma-bench are the build's programs."""
    words = command.split()
    for folder in (a.build_dir, SRC):
        if os.access(f"{folder}/{words[0]}", os.X_OK):
            words[0] = f"{folder}/{words[0]}"
            break
    r = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=900, **more)
    if r.returncode:
        print(f"iommu_tables: status {r.returncode}: {command}", file=sys.stderr)
    return r.stdout


def document(a, command):
    with tempfile.NamedTemporaryFile(suffix=".json") as f:
        run(a, f"{command} --dir /dev/shm --json {f.name}")
        return json.load(open(f.name))


def machine():
    cpu = next((x.split(":")[1].strip() for x in open("/proc/cpuinfo") if x.startswith("model name")), "unknown")
    return f"{os.cpu_count()} x {cpu}, Linux {platform.release()}, {time.strftime('%Y-%m-%d')}"


def swiommu(a):
    parts = [f"Taken on {machine()}, client and server on the same two processors.\n"]
    for words, command in (
            ("Instructions of the client per RPC (callgrind, kernel excluded):", "tests/bench/iommu.py"),
            ("Wall time, medians of the rounds' ratios [least .. most], policies in turns:",
             "tests/bench/iommu.py --wall 9 --ms 500 --modes pool,per-io"),
            ("The same with 2 us for each invalidation, **modelled**:",
             "tests/bench/iommu.py --wall 9 --ms 500 --modes pool,per-io --inval-ns 2000")):
        parts += [f"{words}\n\n    {command}\n", run(a, f"{command} --build-dir {a.build_dir}")]
    return "\n".join(parts)


def row(run_, name):
    t = next(t for t in run_["tests"] if t["name"] == name)
    l = t["ledger"]
    ratio = t.get("ratio")
    said = f", {ratio['mean']:.2f} [{ratio['low95']:.2f} .. {ratio['high95']:.2f}] of the first" if ratio and "low95" in ratio else ""
    return f"{t['children_kBps'] * 1.024e3 / (t['record_kB'] * 1024):.0f} IOPS{said}", l


def cases(a):
    out = [f"Taken on {machine()}.\n"]
    command = "nfsrdma-bench --sweep mr=pool,per-io -i0 -i2 -+n -s16m -r4k -t1 --rounds 9"
    out.append(f"**Pins per I/O against pins once**, random reads of 4 KiB:\n\n    {command}\n")
    out.append("| mode | throughput, median of 9 rounds | registrations, pages pinned per I/O |\n| --- | --- | --- |")
    for r in document(a, command)["runs"]:
        words, l = row(r, "random readers")
        out.append(f"| {r['set']['mr']} | {words} | {l['registrations_per_io']:.3g}, {l['pages_charged_per_io']:.3g} |")
    command = "nfsrdma-iommu iova --threads 2 --seconds 10"
    d = json.loads(run(a, f"{command} --json"))
    out.append(f"\n**Allocator and flush queue under one lock against per thread**:\n\n    {command}\n    tests/bench/bench_flush 2 21\n")
    out.append("| addresses | ns per allocation and release, one thread | 2 threads, each | of the control's scaling |\n| --- | --- | --- | --- |")
    for k in d["allocators"]:
        out.append(f"| {k['name']} | {k['ns_one_thread']:.1f} | {k['ns_all_threads']:.1f} | {k['of_control_percent']:.0f} % |")
    out.append("\n" + run(a, "tests/bench/bench_flush 2 21").strip())
    command = "nfsrdma-bench -o fabric=iwarp,mr=per-io,iommu-inval-ns=2000 --sweep iommu=off,lazy,strict -i0 -i2 -+n -s16m -r4k -t2 --rounds 9"
    out.append(f"\n**Strict against lazy**, random reads of 4 KiB, each a mapping of its own; an invalidation is **modelled** to take 2 us:\n\n    {command}\n")
    out.append("| policy | throughput, median of 9 rounds | maps, invalidations waited for, per I/O |\n| --- | --- | --- |")
    for r in document(a, command)["runs"]:
        words, l = row(r, "random readers")
        flushes = l["iommu_flushes_per_io"] + l["iommu_flush_batches_per_io"]
        out.append(f"| {r['set']['iommu']} | {words} | {l['iova_maps_per_io']:.3g}, {flushes:.3g} |")
    out.append("\n**Local against remote node**: a machine with two nodes and the device on the second, in QEMU (what is where is a result, the "
               "times are **emulated**):\n\n    tests/vm/run.sh iommu-numa\n\n```")
    text = run(a, "tests/vm/run.sh iommu-numa", env=dict(os.environ, BUILD=a.build_dir))
    out += [x[2:] for x in text.splitlines() if re.match(r"# numa=[01] ", x)]
    out.append("```")
    return "\n".join(out)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--build-dir", default=f"{SRC}/build")
    p.add_argument("--only", choices=("swiommu", "cases"))
    a = p.parse_args()
    a.build_dir = os.path.abspath(a.build_dir)
    for name, make in (("swiommu", swiommu), ("cases", cases)):
        if a.only in (None, name):
            marked.put(DOC, name, make(a))


main()
