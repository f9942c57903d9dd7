# SPDX-License-Identifier: BSD-2-Clause
# pace.sh - copies that are in the middle when something strikes, on a fast machine and on a slow one: the data flows at
# the pace of a shell, and its last pieces only once the file $over is there.  Read inside the guest and outside.
pieces=12
piece=$((1 << 20))
last=10
size=$((pieces * piece))
struck_after=$((size / 8)) # strike when this much has passed

pace_gate() { # PIECE
	[ "$1" -lt $last ] || until [ -e "$over" ]; do sleep 0.1; done
}

feed() { # FILE: to stdout
	local i
	for ((i = 0; i < pieces; i++)); do
		pace_gate $i
		dd if="$1" bs=$piece skip=$i count=1 2>/dev/null
	done
}

drain() { # FILE: from stdin
	local i
	for ((i = 0; i < pieces; i++)); do
		pace_gate $i
		dd bs=$piece count=1 iflag=fullblock 2>/dev/null
	done >"$1"
}
