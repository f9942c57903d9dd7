#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Call every NFSv3 and MOUNT procedure once or more, decoding each reply to its last byte.

A second opinion on the codecs: written from RFC 1813, sharing no line with the C code.
Usage: every-procedure.py HOST PORT EXPORT
"""
import random
import socket
import struct
import sys

NFS, MOUNT = 100003, 100005


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def u32(self):
        self.at += 4
        return struct.unpack_from(">I", self.data, self.at - 4)[0]

    def u64(self):
        self.at += 8
        return struct.unpack_from(">Q", self.data, self.at - 8)[0]

    def fixed(self, n):
        part = self.data[self.at : self.at + n]
        assert len(part) == n, "cut short"
        pad = -n % 4
        assert self.data[self.at + n : self.at + n + pad] == bytes(pad), "padding is not zero"
        self.at += n + pad
        return part

    def opaque(self):
        return self.fixed(self.u32())

    def done(self):
        assert self.at == len(self.data), f"{len(self.data) - self.at} bytes left over"

    def fattr3(self):
        a = dict(zip(("type", "mode", "nlink", "uid", "gid"), (self.u32() for _ in range(5))))
        a["size"], a["used"] = self.u64(), self.u64()
        a["rdev"] = (self.u32(), self.u32())
        a["fsid"], a["fileid"] = self.u64(), self.u64()
        for t in ("atime", "mtime", "ctime"):
            a[t] = (self.u32(), self.u32())
            assert a[t][1] < 10**9
        assert 1 <= a["type"] <= 7
        return a

    def post_op_attr(self):
        return self.fattr3() if self.u32() else None

    def wcc(self):
        if self.u32():
            self.u64(), self.u64(), self.u64()
        return self.post_op_attr()

    def post_op_fh3(self):
        return self.opaque() if self.u32() else None


def u32(*values):
    return b"".join(struct.pack(">I", v) for v in values)


def u64(v):
    return struct.pack(">Q", v)


def opaque(b):
    return u32(len(b)) + b + bytes(-len(b) % 4)


def sattr(mode=None, size=None):
    out = u32(0) if mode is None else u32(1, mode)
    out += u32(0) + u32(0)
    out += u32(0) if size is None else u32(1) + u64(size)
    return out + u32(0) + u32(0)


class Client:
    def __init__(self, host, port):
        self.sock = socket.create_connection((host, port), 20)
        self.xid = random.getrandbits(31)
        self.seen = set()

    def exactly(self, n):
        out = b""
        while len(out) < n:
            part = self.sock.recv(n - len(out))
            assert part, "connection closed"
            out += part
        return out

    def call(self, prog, proc, args=b"", status=0):
        """Results after their status word; MOUNT's and NULL's whole, with status None."""
        self.xid += 1
        cred = u32(0) + opaque(b"host") + u32(1000, 1000, 2, 1000, 27)
        msg = u32(self.xid, 0, 2, prog, 3, proc) + u32(1) + opaque(cred) + u32(0, 0) + args
        self.sock.sendall(u32(0x80000000 | len(msg)) + msg)
        reply, last = b"", 0
        while not last:
            mark = struct.unpack(">I", self.exactly(4))[0]
            last = mark & 0x80000000
            reply += self.exactly(mark & 0x7FFFFFFF)
        r = Reader(reply)
        assert (r.u32(), r.u32(), r.u32()) == (self.xid, 1, 0), "not an accepted reply of this call"
        assert (r.u32(), r.u32()) == (0, 0), "verifier"
        assert r.u32() == 0, "not accepted with success"
        if prog == NFS:
            self.seen.add(proc)
        if status is not None:
            got = r.u32()
            assert got == status, f"procedure {proc}: status {got}, not {status}"
        return r

    def nfs(self, proc, args=b"", status=0):
        return self.call(NFS, proc, args, status)


def mount(c, path):
    r = c.call(MOUNT, 1, opaque(path.encode()))
    root = r.opaque()
    assert [r.u32() for _ in range(r.u32())] == [1]
    r.done()
    c.call(MOUNT, 0, status=None).done()
    r = c.call(MOUNT, 5, status=None)
    names = []
    while r.u32():
        names.append(r.opaque().decode())
        while r.u32():
            r.opaque()
    r.done()
    assert path in names
    r = c.call(MOUNT, 2, status=None)
    while r.u32():
        r.opaque(), r.opaque()
    r.done()
    return root


def made(r):
    fh, attr = r.post_op_fh3(), r.post_op_attr()
    assert fh and attr
    r.wcc()
    r.done()
    return fh


def entries(c, d, plus):
    names, cookie, verf, eof = [], 0, bytes(8), False
    while not eof:
        args = opaque(d) + u64(cookie) + verf + (u32(1024, 4096) if plus else u32(1024))
        r = c.nfs(17 if plus else 16, args)
        r.post_op_attr()
        verf = r.fixed(8)
        while r.u32():
            r.u64()
            names.append(r.opaque())
            cookie = r.u64()
            if plus:
                r.post_op_attr(), r.post_op_fh3()
        eof = r.u32()
        r.done()
    assert len(names) == len(set(names)), "an entry came twice"
    return names


def main():
    host, port, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    c = Client(host, port)
    root = mount(c, path)

    c.nfs(0, status=None).done()
    r = c.nfs(1, opaque(root))
    assert r.fattr3()["type"] == 2
    r.done()
    d = made(c.nfs(9, opaque(root) + opaque(b"made") + sattr(0o755)))
    f = made(c.nfs(8, opaque(d) + opaque(b"file") + u32(1) + sattr(0o644)))
    r = c.nfs(8, opaque(d) + opaque(b"file") + u32(1) + sattr(0o644), status=17)
    r.wcc()
    r.done()
    made(c.nfs(8, opaque(d) + opaque(b"excl") + u32(2) + bytes(range(8))))
    data = bytes(range(256)) * 300 + b"odd"
    r = c.nfs(7, opaque(f) + u64(5) + u32(len(data), 0) + opaque(data))
    r.wcc()
    assert r.u32() == len(data) and r.u32() == 0
    verf = r.fixed(8)
    r.done()
    r = c.nfs(21, opaque(f) + u64(0) + u32(0))
    r.wcc()
    assert r.fixed(8) == verf
    r.done()
    r = c.nfs(6, opaque(f) + u64(4) + u32(1 << 20))
    assert r.post_op_attr()["size"] == 5 + len(data)
    count, eof = r.u32(), r.u32()
    assert r.opaque() == b"\0" + data and count == 1 + len(data) and eof
    r.done()
    r = c.nfs(2, opaque(f) + sattr(0o600, 10) + u32(0))
    assert r.wcc()["size"] == 10
    r.done()
    r = c.nfs(2, opaque(f) + sattr(0o600) + u32(1, 1, 1), status=10002)
    r.wcc()
    r.done()
    r = c.nfs(3, opaque(d) + opaque(b"file"))
    assert r.opaque() == f
    r.post_op_attr(), r.post_op_attr()
    r.done()
    r = c.nfs(3, opaque(d) + opaque(b"none"), status=2)
    r.post_op_attr()
    r.done()
    r = c.nfs(4, opaque(f) + u32(0x3F))
    r.post_op_attr(), r.u32()
    r.done()
    link = made(c.nfs(10, opaque(d) + opaque(b"link") + sattr() + opaque(b"file and more")))
    r = c.nfs(5, opaque(link))
    r.post_op_attr()
    assert r.opaque() == b"file and more"
    r.done()
    made(c.nfs(11, opaque(d) + opaque(b"fifo") + u32(7) + sattr(0o600)))
    r = c.nfs(15, opaque(f) + opaque(d) + opaque(b"second"))
    assert r.post_op_attr()["nlink"] == 2
    r.wcc()
    r.done()
    r = c.nfs(14, opaque(d) + opaque(b"second") + opaque(root) + opaque(b"third"))
    r.wcc(), r.wcc()
    r.done()
    for plus in (False, True):
        assert sorted(entries(c, d, plus)) == sorted([b".", b"..", b"file", b"excl", b"link", b"fifo"])
    for proc, rest in ((18, 6 * 8 + 4), (19, 7 * 4 + 8 + 2 * 4 + 4), (20, 6 * 4)):
        r = c.nfs(proc, opaque(root))
        r.post_op_attr()
        r.fixed(rest)
        r.done()
    for where, name in ((d, b"file"), (d, b"excl"), (d, b"link"), (d, b"fifo"), (root, b"third")):
        r = c.nfs(12, opaque(where) + opaque(name))
        r.wcc()
        r.done()
    r = c.nfs(13, opaque(root) + opaque(b"made"))
    r.wcc()
    r.done()
    c.nfs(1, opaque(d), status=70).done()
    c.nfs(1, opaque(bytes(32)), status=10001).done()
    c.call(MOUNT, 3, opaque(path.encode()), status=None).done()
    c.call(MOUNT, 4, status=None).done()
    assert c.seen == set(range(22)), f"not called: {set(range(22)) - c.seen}"
    print("all 22 procedures answered")


if __name__ == "__main__":
    main()
