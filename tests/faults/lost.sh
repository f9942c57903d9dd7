# SPDX-License-Identifier: BSD-2-Clause
#
# lost.sh - replies that get lost, for lost-reply.sh and tests/vm.  Read after lib.sh.
#
#   ops_start TARGET OPTIONS          a mount that does single operations (ops.c)
#   lost_reply CLAIM PROCEDURE VERB A [B]   do it, lose the server's answer once it has done it, cut the link;
#                                     the right result must come all the same.  Needs a function
#   server_has VERB A [B]             true once the server has carried the operation out
#   ops_end                           and what it counted, in $T/ops.end
#
# The link goes through the proxy that proxy_start made.

ops_start() {
	rm -f "$T/ops.in" "$T/ops.out"
	mkfifo "$T/ops.in"
	"$BUILD/tests/faults/ops" "$@" <"$T/ops.in" >"$T/ops.out" 2>"$T/ops.err" &
	OPS_PID=$!
	LIB_PIDS+=("$OPS_PID")
	exec {OPS_IN}>"$T/ops.in"
	ops_lines=0
	ops_answer 20 && [ "$ANSWER" = mounted ]
}

# The next line, within so many seconds, in ANSWER.
ops_answer() {
	local end=$((SECONDS + $1))
	ANSWER=
	until [ "$(wc -l <"$T/ops.out" 2>/dev/null || echo 0)" -gt "$ops_lines" ]; do
		[ $SECONDS -lt $end ] && kill -0 "$OPS_PID" 2>/dev/null || return 1
		sleep 0.05
	done
	ops_lines=$((ops_lines + 1))
	ANSWER=$(sed -n "${ops_lines}p" "$T/ops.out")
}

lost_reply() {
	local claim=$1 procedure=$2 end
	shift 2
	# An operation beforehand, so that the connection stands.
	echo "stat /" >&"$OPS_IN"
	ops_answer 60 || { not_ok "$claim" "no connection before it"; return; }
	proxy_say "mute $procedure"
	sleep 0.1
	echo "$*" >&"$OPS_IN"
	end=$((SECONDS + 20))
	until server_has "$@"; do
		[ $SECONDS -lt $end ] || { not_ok "$claim" "the server did not carry it out"; proxy_say cut; ops_answer 60; return; }
		sleep 0.05
	done
	if ops_answer 0; then
		not_ok "$claim" "it was answered though the reply was lost: $ANSWER"
		return
	fi
	proxy_say cut
	ops_answer 60
	if [ "$ANSWER" = "$1: 0" ] && server_has "$@"; then ok "$claim"; else not_ok "$claim" "answer: $ANSWER"; fi
}

ops_end() {
	exec {OPS_IN}>&-
	wait "$OPS_PID" 2>/dev/null
	tail -n +$((ops_lines + 1)) "$T/ops.out" >"$T/ops.end"
	sed 's/^/# /' "$T/ops.end"
}

# All of them, on a server whose tree server_has knows.
lost_replies() { # PREFIX
	lost_reply "$1: MKDIR" 9 mkdir /d
	lost_reply "$1: CREATE, exclusive, and a WRITE" 8 create /f
	lost_reply "$1: SYMLINK" 10 symlink target /s
	lost_reply "$1: LINK" 15 link /f /l
	lost_reply "$1: RENAME" 14 rename /l /r
	lost_reply "$1: REMOVE" 12 unlink /r
	lost_reply "$1: RMDIR" 13 rmdir /d
}
