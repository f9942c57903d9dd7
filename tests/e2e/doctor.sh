#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# doctor.sh - nfsrdma doctor: every step is told on each fabric, the one that is missing is named with its remedy, and
# the status says whether anything failed.  (On RDMA devices: tests/vm.)
. "$(dirname "$0")/../lib.sh"

mkdir -m 777 "$T/export" "$T/export/empty" "$T/export/dir"
random_file "$T/export/dir/file" 100000
server_start --export "$T/export=/e" || { not_ok "the server starts"; finish; }
rdma=proto=rdma,fabric=iwarp,port=$RDMA_PORT tcp=proto=tcp,port=$TCP_PORT
steps="limits device module address route connect private_data NULL MOUNT FSINFO READ registration memlock pins IOMMU"

# seen OUTPUT: the steps in the order they were told, each once
seen() { sed -nE 's/^(ok  |warn|FAIL) ([A-Za-z ]+): .*/\2/p' "$1" | tr ' ' '_' | uniq | tr '\n' ' ' | sed 's/ $//'; }

# all_well CLAIM OPTIONS TARGET
all_well() {
	local status
	timeout 60 nfsrdma -o "$2" doctor "$3" >"$T/out" 2>"$T/err"
	status=$?
	if [ $status = 0 ] && [ "$(seen "$T/out")" = "$steps" ] && ! grep -q ^FAIL "$T/out" && [ ! -s "$T/err" ]; then
		ok "$1"
	else
		not_ok "$1" "status $status" "$(cat "$T/out" "$T/err")"
	fi
}

# told CLAIM PATTERN: in the last output
told() { grep -qE "$2" "$T/out" && ok "$1" || not_ok "$1" "no line matches /$2/ in:" "$(cat "$T/out")"; }

# sick CLAIM STEP PATTERN LAST-STEP COMMAND...: that step fails with a remedy, nothing is told past LAST-STEP, status 1
sick() {
	local claim=$1 step=$2 pattern=$3 last=$4 status
	shift 4
	timeout 60 "$@" >"$T/out" 2>"$T/err"
	status=$?
	if [ $status = 1 ] && grep -qE "^FAIL ($step): .*($pattern).*; remedy: .+" "$T/out" &&
		[[ $(seen "$T/out" | sed 's/.* //') =~ ^($last)$ ]]; then
		ok "$claim"
	else
		not_ok "$claim" "status $status" "$(cat "$T/out" "$T/err")"
	fi
}

all_well "iwarp: every step is told, in order, and all is well" "$rdma" 127.0.0.1:/e/dir
told "iwarp: a file of the directory was read" '^ok   READ: 65536 bytes of .*/file in'
told "iwarp: the agreed message size is told" '^ok   private data: messages of 4096 bytes to and 4096 from'
told "iwarp: the connection, its time and the fabric are told" "^ok   connect: iwarp on iwarp to 127.0.0.1:$RDMA_PORT in [0-9.]+ ms"
told "iwarp: pins are compared with the kernel's" '^ok   (pins: VmPin [0-9]+ kB, of which this mount [1-9]|pins: locked)'
all_well "iwarp: a target that is a file is read from" "$rdma" 127.0.0.1:/e/dir/file
all_well "auto: where there is no device the software does it" "proto=rdma,port=$RDMA_PORT" 127.0.0.1:/e/dir
told "auto: and it says so" '^ok   connect: iwarp on iwarp'
all_well "tcp: every step is told, in order, and all is well" "$tcp" 127.0.0.1:/e/dir
told "tcp: nothing is registered" '^ok   registration: none on tcp'
all_well "inline=1024: all is well" "$rdma,inline=1024,slots=1" 127.0.0.1:/e/dir
told "inline=1024: the smaller size is told" '^ok   private data: messages of 1024 bytes to and 1024 from'
all_well "an empty directory is no failure" "$rdma" 127.0.0.1:/e/empty
told "an empty directory: how to have a READ is told" '^warn READ: not tried.*remedy: name a file'

closed=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
sick "a port where nobody listens" connect "refused" connect nfsrdma -o "proto=rdma,fabric=iwarp,port=$closed" doctor 127.0.0.1:/e
sick "auto: both attempts are in the failure" connect "verbs: .*; iwarp: .*refused" connect nfsrdma -o "proto=rdma,port=$closed" doctor 127.0.0.1:/e
sick "a name nobody knows" address "resolve" address nfsrdma doctor no-such-host.invalid:/e
sick "no such export" MOUNT "no such export" MOUNT nfsrdma -o "$rdma" doctor 127.0.0.1:/nothing
sick "no such path in the export" READ "No such file" IOMMU nfsrdma -o "$rdma" doctor 127.0.0.1:/e/nothing
if [ -d /sys/class/infiniband ] && [ -n "$(ls /sys/class/infiniband)" ]; then
	skip "fabric=verbs without a device" "this machine has an RDMA device"
else
	sick "fabric=verbs without a device" device "no RDMA device" address nfsrdma -o "proto=rdma,fabric=verbs,port=$RDMA_PORT" doctor 127.0.0.1:/e
fi

if [ "$(id -u)" = 0 ]; then
	chmod 644 "$T/export/dir/file"
	unprivileged() { setpriv --reuid=65534 --clear-groups --bounding-set=-all --inh-caps=-all bash -c 'ulimit -l 2048; exec "$@"' - "$@"; }
	unprivileged "$BUILD/nfsrdma" -o "$rdma,noresvport" doctor 127.0.0.1:/e/dir >"$T/out" 2>&1
	told "a small memlock limit is a warning with a remedy" '^warn limits: memlock 2 MiB.*remedy: raise it'
	ulimit_8() { setpriv --reuid=65534 --clear-groups --bounding-set=-all --inh-caps=-all bash -c 'ulimit -l 8; exec "$@"' - "$@"; }
	ulimit_8 "$BUILD/nfsrdma" -o "$rdma,noresvport" doctor 127.0.0.1:/e/dir >"$T/out" 2>&1
	told "none to speak of is a failure with that remedy" '^FAIL (connect|NULL|MOUNT): .*remedy: .*memlock'
else
	skip "none to speak of is a failure with that remedy" "needs root to become somebody else"
	skip "a small memlock limit is a warning with a remedy" "needs root to become somebody else"
fi

nfsrdma --json -o "$rdma" doctor 127.0.0.1:/e/dir >"$T/json" 2>"$T/err"
check "--json: one document a step, with verdict, detail and remedy" python3 - "$T/json" $steps <<'P'
import json, sys
docs = [json.loads(line) for line in open(sys.argv[1])]
names = [d["step"].replace(" ", "_") for d in docs]
assert names == sys.argv[2:], names
assert all(d["verdict"] in ("ok", "warn", "FAIL") and d["detail"] and "remedy" in d for d in docs), docs
P
nfsrdma -o "$rdma,frobnicate" doctor 127.0.0.1:/e >"$T/out" 2>"$T/err"
check "a wrong option is wrong usage" test $? = 2
nfsrdma doctor /local >"$T/out" 2>"$T/err"
check "a local path is wrong usage" test $? = 2
nfsrdma -v -o "proto=rdma,port=$RDMA_PORT" ls 127.0.0.1:/e >"$T/ls" 2>"$T/out"
told "-v says why it is not verbs" '^nfsrdma: fabric: not verbs: .+'
told "-v says which fabric it is, and why" '^nfsrdma: fabric: iwarp on iwarp: in software, since'
nfsrdma -v -o "$rdma" ls 127.0.0.1:/e >"$T/ls" 2>"$T/out"
told "-v says that the fabric was asked for" '^nfsrdma: fabric: iwarp on iwarp: asked for'
check "the server stops cleanly" server_stop
finish
