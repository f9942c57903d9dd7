# SPDX-License-Identifier: BSD-2-Clause
"""served.py - a server of its own for the measurements that move 4 MiB of random bytes by bench_modes."""
import contextlib, json, os, shutil, signal, subprocess, tempfile


@contextlib.contextmanager
def modes_file(build_dir):
    """nfsrdmad over iwarp with /m/modes.dat: yields its ready line, decoded, and the folder."""
    work = tempfile.mkdtemp(prefix="nfsrdma-bench.")
    os.chmod(work, 0o777)
    with open(f"{work}/modes.dat", "wb") as f:
        f.write(os.urandom(4 << 20))
    os.chmod(f"{work}/modes.dat", 0o666)
    server = subprocess.Popen([f"{build_dir}/nfsrdmad", "--export", f"{work}=/m", "--fabric", "iwarp", "--port", "0", "--tcp-port", "0",
                               "--no-rpcbind"], stdout=subprocess.PIPE, text=True)
    try:
        yield json.loads(server.stdout.readline()), work
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
        shutil.rmtree(work)


def callgrind(build_dir, profile, arguments):
    """bench_modes under callgrind, which counts nfsrdma_process() alone; what went wrong, or None."""
    cmd = [f"{build_dir}/libtool", "--mode=execute", "valgrind", "--tool=callgrind", "--toggle-collect=nfsrdma_process",
           f"--callgrind-out-file={profile}", "--compress-strings=no", "--compress-pos=no", "--dump-line=yes",
           f"{build_dir}/tests/bench/bench_modes"]
    r = subprocess.run(cmd + arguments, capture_output=True, text=True, timeout=170)
    return r.stderr.strip()[-2000:] if r.returncode else None
