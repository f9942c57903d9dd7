#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""nfsrdma-iommu show on trees that nobody would make on purpose.

Each case takes one of the trees of tests/data/sysfs and does a few things to it at random: files are cut, filled with
noise, NULs or a GiB of nothing, replaced by folders, FIFOs, sockets, loops of links; folders by files and links to
themselves; names and numbers are odd.  Whatever the tree, show must end soon and with 0, say nothing on stderr, print
plain text, and a JSON document that is whole and has what the text has.  The same seed makes the same cases.

    mutate_trees.py PROGRAM TREES WORK [--seed N] [--first N] [--cases N]

PROGRAM runs as nobody where root asks, for root may read what nobody may.  A tree that fails is left in WORK.
"""
import argparse, json, os, random, shutil, socket, stat, subprocess, sys

NUMBERS = ["", "0", "-1", "+5", "18446744073709551615", "18446744073709551616", "0x", "0xffffffffffffffff", "1e9", " 7", "4294967296",
           "99999999999999999999999999999999", "٣", "1\0", "0-4294967295", "3-1", "0,,1", "0-", "-", "63", "64", "1023", "65536", "nan"]
WORDS = ["identity", "DMA", "DMA-FQ", "blocked", "auto", "%n%s%s%s", "\"},{\"", "\\", "\x1b[2J", "é", "a" * 5000, "../../../etc/passwd", "..", "."]
NAMES = ["odd\nname", "quote\"s", "back\\slash", "%s%n", "\x1b[31m", "a" * 255, " ", "-rf", "utf\udcff", ".hidden", "x,y=z", "0000:00:00.0", "mlx5_9"]


def paths(root):
    found = []
    for folder, folders, files in os.walk(root):
        folders.sort()
        found += [os.path.join(folder, name) for name in sorted(folders + files)]
    return found


def gone(path):
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return
    if stat.S_ISDIR(mode):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def fill(path, data):
    gone(path)
    with open(path, "wb") as f:
        f.write(data)


def old(path):
    """What a file holds; links are not followed."""
    if stat.S_ISREG(os.lstat(path).st_mode):
        with open(path, "rb") as f:
            return f.read(1 << 20)
    return b""


def text(words):
    return words.encode("utf-8", "surrogateescape")


def cut(rng, path, root):
    data = old(path)
    fill(path, data[:rng.randrange(len(data) + 1)])


def noise(rng, path, root):
    fill(path, rng.randbytes(rng.choice([1, 31, 32, 511, 4096, 70000])))


def flip(rng, path, root):
    data = bytearray(old(path) or b"\n")
    for _ in range(rng.randrange(1, 9)):
        data[rng.randrange(len(data))] = rng.choice([0, 10, 32, 34, 37, 45, 48, 57, 92, 127, 255])
    fill(path, bytes(data))


def nuls(rng, path, root):
    fill(path, b"\0" * rng.choice([1, 4096, 100000]))


def hole(rng, path, root):
    fill(path, old(path))
    os.truncate(path, 1 << 30)


def repeated(rng, path, root):
    data = old(path) or b"x"
    fill(path, (data * (200000 // len(data) + 1))[:200000])


def number(rng, path, root):
    fill(path, text(rng.choice(NUMBERS)) + rng.choice([b"\n", b""]))


def word(rng, path, root):
    fill(path, text(rng.choice(WORDS)) + rng.choice([b"\n", b""]))


def other(rng, path, root):
    fill(path, old(rng.choice(paths(root))))


def remove(rng, path, root):
    gone(path)


def folder(rng, path, root):
    gone(path)
    os.mkdir(path)


def full_folder(rng, path, root):
    folder(rng, path, root)
    for i in range(rng.choice([3, 30, 300])):
        fill(f"{path}/{i}", b"1\n")


def odd_names(rng, path, root):
    folder(rng, path, root)
    for name in rng.sample(NAMES, 5):
        name = os.path.join(text(path), text(name))
        rng.choice([os.mkdir, lambda p: os.symlink("..", p), lambda p: open(p, "wb").close()])(name)


def fifo(rng, path, root):
    gone(path)
    os.mkfifo(path)


def sock(rng, path, root):
    gone(path)
    here = os.getcwd()
    os.chdir(os.path.dirname(path))  # a socket's path is short
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(os.path.basename(path)[:90])
    finally:
        os.chdir(here)


def link(rng, path, root):
    gone(path)
    os.symlink(rng.choice([os.path.basename(path), ".", "..", "../..", "/", "nowhere", "/dev/zero", "/dev/tty", "/proc/self/mem", "/proc/kmsg",
                           "a" * 4000, "x/" * 1500, os.path.relpath(rng.choice(paths(root) or [root]), os.path.dirname(path)), root]), path)


def loop(rng, path, root):
    gone(path)
    os.symlink(os.path.basename(path) + ".other", path)
    gone(path + ".other")
    os.symlink(os.path.basename(path), path + ".other")


def hide(rng, path, root):
    if not stat.S_ISLNK(os.lstat(path).st_mode):
        os.chmod(path, 0)


CHANGES = [cut, cut, noise, flip, flip, flip, nuls, hole, repeated, number, number, number, word, word, other, remove, folder, full_folder,
           odd_names, fifo, sock, link, link, link, loop, hide]


def mutate(rng, root):
    done = []
    hidden = []
    for _ in range(rng.randrange(1, 16)):
        found = paths(root)
        if not found:
            break
        # what is deep is what is read: folders near the top are rarely touched
        path = rng.choice(found)
        if path.count("/") - root.count("/") < 3 and rng.random() < 0.9:
            continue
        change = rng.choice(CHANGES)
        if change is hide:
            hidden.append(path)
            continue
        done.append(f"{change.__name__} {path[len(root):]!r}")
        try:
            change(rng, path, root)
        except OSError as e:  # a name that is too long already
            done[-1] += f": {e.strerror}"
    for path in hidden:
        if os.path.lexists(path):
            done.append(f"hide {path[len(root):]!r}")
            hide(rng, path, root)
    return done


def run(program, root, *more):
    r = subprocess.run([*program, "show", "--root", root, *more], stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
    assert r.returncode == 0, f"{more}: status {r.returncode}: {r.stderr.decode(errors='replace')[-3000:]}"
    assert not r.stderr, r.stderr.decode(errors="replace")[-3000:]
    return r.stdout


def keys(o, into):
    if isinstance(o, dict):
        for k, v in o.items():
            into.add(k)
            keys(v, into)
    elif isinstance(o, list):
        for v in o:
            keys(v, into)
    return into


def numbers(o):
    if isinstance(o, (dict, list)):
        for v in o.values() if isinstance(o, dict) else o:
            yield from numbers(v)
    elif isinstance(o, (int, float)):
        yield o


def judge(program, root):
    said = run(program, root)
    assert not said.translate(None, bytes(range(0x20, 0x7f)) + b"\n"), "what is printed is not plain"
    doc = json.loads(run(program, root, "--json"))
    assert doc["schema"] == "nfsrdma-iommu-show/1"
    assert {"machine", "iommu", "memory", "numa", "advice", "devices"} <= doc.keys(), doc.keys()
    assert all(n >= 0 for n in numbers(doc)), "a number became negative"
    known = keys(doc, set())
    for line in said.decode().splitlines():
        label = line[:30].strip().replace(" ", "_")
        if line[29:30] == " " and line[30:].strip() and label:
            assert label in known, f"{label} is not in the JSON"
    for advice in doc["advice"] + [a for d in doc["devices"] for a in d["advice"]]:
        assert all(advice[k] for k in ("id", "level", "fact", "consequence", "remedy", "source")), advice
    for device in doc["devices"]:
        assert {"name", "domain", "group", "node", "policy", "iommu_unit", "relaxed_ordering"} <= device.keys(), device
    for device in doc["devices"][:2]:
        assert run(program, root, "--json", "--device", device["name"])


def removed(root):
    for folder, folders, _ in os.walk(root):
        for name in folders:
            if not os.path.islink(os.path.join(folder, name)):
                os.chmod(os.path.join(folder, name), 0o700)
    shutil.rmtree(root)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("trees")
    p.add_argument("work")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--cases", type=int, default=200)
    a = p.parse_args()
    # one tree has thousands of entries, which is its point and makes copies slow
    trees = sorted(t for t in os.listdir(a.trees) if os.path.isdir(f"{a.trees}/{t}") and sum(len(f) for _, _, f in os.walk(f"{a.trees}/{t}")) < 1000)
    assert len(trees) >= 12, trees
    program = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    program.append(a.program)
    for case in range(a.first, a.first + a.cases):
        rng = random.Random(f"{a.seed}.{case}")
        root = f"{a.work}/tree"
        tree = rng.choice(trees)
        shutil.copytree(f"{a.trees}/{tree}", root, symlinks=True, ignore=lambda folder, names: [n for n in names if not os.access(os.path.join(folder, n), os.R_OK) and not os.path.islink(os.path.join(folder, n))])
        done = mutate(rng, root)
        try:
            judge(program, root)
        except Exception as e:
            print(f"seed {a.seed}, case {case}, tree {tree} (left in {root}):", *done, f"{type(e).__name__}: {e}", sep="\n  ")
            sys.exit(1)
        removed(root)
    print(f"{a.cases} cases hold")


main()
