#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""iommu_table.py FOLDER MODE...: what the scenario iommu-table measured, as markdown tables.

FOLDER/client-MODE holds the guest's documents.  --assert EXPRESSION judges instead, over modes, cells and rhythm(mode).
iommu_table.py --put TABLE: puts what the scenario kept (NFSRDMA_IOMMU_TABLE) into docs/iommu-qemu.md.
"""
import argparse, json, os, sys
from types import SimpleNamespace

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import marked

CLIENTS = {"pool": "bench, pool", "per-io": "bench, per-io", "kernel": "kernel"}
WAYS = {"0": "WRITE", "1": "READ"}
FEW, MORE = 16, 64
EVENTS = ("maps", "unmaps", "flushes")


def numbers(path):
    """Hits of the three events (an event that never fired has no line), then chunks of the kernel's client."""
    words = open(path).read().split()
    return [int(w) for w in words]


def counted(folder, name, n):
    before, after = (numbers(f"{folder}/runs/{name}.{n}.{when}") for when in ("before", "after"))
    return [b - a for a, b in zip(before, after)]


def cell(folder, mode, client, record, way):
    name = f"{client}.{record}.{way}"
    try:
        doc = json.load(open(f"{folder}/runs/{name}.{FEW + MORE}.json"))
    except OSError as e:
        raise SystemExit(f"{mode} {name}: {e}: {open(f'{folder}/runs/{name}.{FEW + MORE}.err').read().strip()}")
    few, many = (counted(folder, name, n) for n in (FEW, FEW + MORE))
    per_io = [(m - f) / MORE for f, m in zip(few, many)]
    test = doc["tests"][0]
    registrations = sum(per_io[3:6]) if client == "kernel" else test["ledger"]["registrations_per_io"]
    calls = test["transport"]["rpcs_per_io"] if "transport" in test else None
    return SimpleNamespace(mode=mode, calls=calls, client=CLIENTS[client], record=record, way=WAYS[way], registrations=registrations,
                           rate=test["children_kBps"] * 1.024e-3, **dict(zip(EVENTS, per_io)))


def read(folder, names, records):
    modes, cells = [], []
    for name in names:
        show = json.load(open(f"{folder}/client-{name}/show.json"))
        modes.append(SimpleNamespace(name=name, domain=show["devices"][0]["domain"]))
        for record in records:
            for client in CLIENTS:
                for way in WAYS:
                    cells.append(cell(f"{folder}/client-{name}", name, client, record, way))
    return modes, cells


def first_table(modes, cells, records):
    print("| record | booted | domain | client | registrations per I/O | maps per I/O, WRITE, READ | unmaps | invalidations | MB/s, WRITE, READ (emulated) |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for record in records:
        for m in modes:
            for client in CLIENTS.values():
                w, r = (next(c for c in cells if (c.mode, c.client, c.record, c.way) == (m.name, client, record, way))
                        for way in WAYS.values())
                pair = lambda what, digits=1: f"{getattr(w, what):.{digits}f}, {getattr(r, what):.{digits}f}"
                print(f"| {record} | {m.name} | {m.domain} | {client} | {pair('registrations', 2)} | {pair('maps')} | {pair('unmaps')} | {pair('flushes')} | {pair('rate')} |")


def second_table(folder, modes, rhythm):
    print("| booted | record | slab | rhythm | VFIO maps, unmaps for all I/Os | kernel's maps per I/O | unmaps per I/O | us per I/O (emulated) |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for m in modes:
        for r in rhythm(m.name):
            print(f"| {m.name} | {r['record'] >> 10} KiB | {r['slab'] >> 20} MiB | {r['rhythm']}, {r['ios']} I/Os | {r['maps']}, {r['unmaps']} | {r['kernel_maps_per_io']:.1f} | {r['kernel_unmaps_per_io']:.1f} | {r['us_per_io']:.1f} |")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder", nargs="?")
    p.add_argument("modes", nargs="*")
    p.add_argument("--records", default="256k")
    p.add_argument("--assert", dest="claim")
    p.add_argument("--put", metavar="TABLE")
    a = p.parse_args()
    if a.put:
        doc = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/iommu-qemu.md")
        return marked.put(doc, "qemu", open(a.put).read())
    records = a.records.split()
    modes, cells = read(a.folder, a.modes, records)

    def rhythm(mode):
        path = f"{a.folder}/client-{mode}/rhythm.json"
        return json.load(open(path))["rhythms"] if os.path.exists(path) else []

    if a.claim:
        if not eval(a.claim, {"modes": modes, "cells": cells, "rhythm": rhythm}):
            sys.exit("\n".join(str(c) for c in cells) + "\n" + str([rhythm(m.name) for m in modes]))
        return
    first_table(modes, cells, records)
    print()
    second_table(a.folder, modes, rhythm)


main()
