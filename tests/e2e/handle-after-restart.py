#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""get HOST PORT EXPORT: make a file, print its handle.  use|refused HOST PORT: try the handle on stdin."""
import importlib.util
import os
import sys

spec = importlib.util.spec_from_file_location(
    "nfs", os.path.join(os.path.dirname(os.path.abspath(__file__)), "every-procedure.py")
)
nfs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(nfs)

what, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
client = nfs.Client(host, port)
if what == "get":
    root = nfs.mount(client, sys.argv[4])
    fh = nfs.made(client.nfs(8, nfs.opaque(root) + nfs.opaque(b"kept") + nfs.u32(0) + nfs.sattr(0o644)))
    data = nfs.opaque(b"words")
    client.nfs(7, nfs.opaque(fh) + nfs.u64(0) + nfs.u32(5, 2) + data)
    print(fh.hex())
else:
    fh = bytes.fromhex(sys.stdin.read().strip())
    reply = client.nfs(6, nfs.opaque(fh) + nfs.u64(0) + nfs.u32(100), 0 if what == "use" else 10001)
    if what == "use":
        reply.post_op_attr(), reply.u32(), reply.u32()
        assert reply.opaque() == b"words"
