#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# cli.sh - every command of nfsrdma against nfsrdmad, on loopback over the iwarp fabric (and once over tcp).
#
# The export is an ordinary folder, so what a command did is looked at from behind the server's back.
. "$(dirname "$0")/../lib.sh"

E=$T/export
mkdir -m 777 "$E"
server_start --export "$E=/e" --null --no-root-squash || { not_ok "nfsrdmad starts"; finish; }
S=127.0.0.1:/e
OPTS=port=$RDMA_PORT,mountproto=rdma
n() { timeout 60 "$NFSRDMA" -o "$OPTS" "$@"; }

# claim, expected status, regular expression its one line on stderr must match, command...
refuses() {
	local claim=$1 want=$2 pattern=$3 status lines
	shift 3
	"$@" >"$T/out" 2>"$T/err" </dev/null
	status=$?
	lines=$(wc -l <"$T/err")
	if [ $status = "$want" ] && [ "$lines" = 1 ] && grep -Eq "$pattern" "$T/err"; then
		ok "$claim"
	else
		not_ok "$claim" "status $status, wanted $want; $lines lines:" "$(cat "$T/err")"
	fi
}
same() { cmp -s "$1" "$2"; }
no_leftovers() { [ -z "$(find "$E" "$T" -name '.nfsrdma-*.part')" ]; }

# ---- help and usage
check "--version prints the version" sh -c "'$NFSRDMA' --version | grep -Eq '^nfsrdma [0-9]+\.[0-9]'"
check "--help lists every command" sh -c "'$NFSRDMA' --help | grep -q '^  truncate '"
check "a command has its own --help" sh -c "'$NFSRDMA' cp --help | grep -q 'cp \[-r\] \[-p\]'"
refuses "no command is a usage error" 2 'no command' "$NFSRDMA"
refuses "an unknown command is a usage error" 2 "unknown command 'lss'" "$NFSRDMA" lss
refuses "an unknown option is a usage error" 2 "unknown option '-Z'" "$NFSRDMA" ls -Z $S
refuses "an unknown mount option is a usage error that names the near miss" 2 'rsize' "$NFSRDMA" -o rsiz=1m ls $S
refuses "a missing operand is a usage error" 2 'not enough operands' "$NFSRDMA" stat
refuses "a local path where a target belongs is a usage error" 2 'not on a server' n ls ./x

# ---- looking
mkdir -p "$E/dir/sub"
echo hello >"$E/dir/hello"
ln -s hello "$E/dir/link"
touch "$E/.hidden"
check "exports lists the exports" sh -c "timeout 60 '$NFSRDMA' -o $OPTS exports 127.0.0.1 | grep -q '^/e'"
[ "$(n ls $S/dir)" = "$(printf 'hello\nlink\nsub')" ] && ok "ls prints names in order" || not_ok "ls prints names in order"
n ls $S | grep -q hidden && not_ok "ls hides dot files" || ok "ls hides dot files"
n ls -a $S | grep -qx .hidden && ok "ls -a shows them" || not_ok "ls -a shows them"
n ls -l $S/dir | grep -Eq '^lrwxrwxrwx .* link -> hello$' && ok "ls -l shows where a link leads" || not_ok "ls -l shows where a link leads"
n ls -R $S | grep -qx "$S/dir/sub:" && ok "ls -R goes down" || not_ok "ls -R goes down"
n --json ls $S/dir | python3 -c 'import json,sys; d=[json.loads(l) for l in sys.stdin]; assert [e["name"] for e in d]==["hello","link","sub"] and d[0]["size"]==6 and d[1]["target"]=="hello"' &&
	ok "ls --json prints one document a line" || not_ok "ls --json prints one document a line"
printf 'x' >"$E/$(printf 'a\nb\033')"
[ "$(script -qec "'$NFSRDMA' -o $OPTS ls $S" /dev/null 2>/dev/null | grep -c 'a\\nb\\x1b')" = 1 ] && ok "control characters are escaped on a terminal" || not_ok "control characters are escaped on a terminal"
rm -f "$E"/a*
n stat $S/dir/hello | grep -q 'Size: 6 .*regular file' && ok "stat shows size and type" || not_ok "stat shows size and type"
[ "$(n readlink $S/dir/link)" = hello ] && ok "readlink prints the target" || not_ok "readlink prints the target"
n df $S | awk 'NR==2 && $1>0 {ok=1} END {exit !ok}' && ok "df shows the size" || not_ok "df shows the size"
refuses "a missing file is one line and status 1" 1 '^nfsrdma: stat: .*/nothing: No such file' n stat $S/nothing
refuses "a missing export is one line and status 1" 1 '^nfsrdma: ls: ' n ls 127.0.0.1:/nowhere/at/all
refuses "a target with two slashes is no URL" 1 'stat: .*nothing: No such file' n stat "127.0.0.1:/${S#127.0.0.1:}/nothing"
refuses "a copy that cannot be made is named as it was asked for" 1 "create 127.0.0.1:.*/nodir/x: No such file" n cp "$NFSRDMA" $S/nodir/x
for few in 6 7 8 9; do
	(ulimit -n $few; timeout 20 "$NFSRDMA" -o $OPTS stat $S/dir </dev/null >/dev/null 2>&1); echo $?
done >"$T/few"
check "short of descriptors it works or says so, and does not hang" test -z "$(grep -v '^[01]$' "$T/few")"
refuses "a closed port is one line and status 1" 1 refused timeout 20 "$NFSRDMA" -o port=1,proto=tcp,mountport=1 ls $S

# ---- making, moving, removing
check "mkdir makes a directory" n mkdir $S/m
refuses "mkdir says when it is there" 1 'File exists' n mkdir $S/m
check "mkdir -p makes the parents and is content with what is there" n mkdir -p $S/m/a/b/c
[ -d "$E/m/a/b/c" ] && ok "they are there" || not_ok "they are there"
check "rmdir removes an empty directory" n rmdir $S/m/a/b/c
refuses "rmdir refuses a full one" 1 'not empty' n rmdir $S/m
check "touch makes a file" n touch $S/m/t
touch -d 2001-01-01 "$E/m/t"
n touch $S/m/t; [ "$(date -r "$E/m/t" +%Y)" != 2001 ] && ok "touch sets the time to now" || not_ok "touch sets the time to now"
check "truncate sets the size" n truncate -s 3k $S/m/t
[ "$(stat -c %s "$E/m/t")" = 3072 ] && ok "to what was said" || not_ok "to what was said"
n chmod u=rwx,go=r $S/m/t && [ "$(stat -c %a "$E/m/t")" = 744 ] && ok "chmod understands clauses" || not_ok "chmod understands clauses"
n chmod 0600 $S/m/t && [ "$(stat -c %a "$E/m/t")" = 600 ] && ok "chmod understands octal" || not_ok "chmod understands octal"
if [ "$(id -u)" = 0 ]; then
	n chown 1234:567 $S/m/t && [ "$(stat -c %u:%g "$E/m/t")" = 1234:567 ] && ok "chown sets owner and group" || not_ok "chown sets owner and group"
else
	skip "chown sets owner and group" "only root may give files away"
fi
check "ln makes a hard link" n ln $S/m/t $S/m/t2
[ "$(stat -c %h "$E/m/t")" = 2 ] && ok "of the same file" || not_ok "of the same file"
check "ln -s makes a symbolic link with any text" n ln -s ../any/thing $S/m/l
[ "$(readlink "$E/m/l")" = ../any/thing ] && ok "which reads back" || not_ok "which reads back"
check "mv renames" n mv $S/m/t2 $S/m/t3
check "mv moves several into a directory" n mv $S/m/t3 $S/m/l $S/m/a
[ -e "$E/m/a/t3" ] && [ -L "$E/m/a/l" ] && ok "both are there" || not_ok "both are there"
refuses "rm refuses a directory without -r" 1 'is a directory' n rm $S/m
mkdir -p "$T/outside"; touch "$T/outside/keep"; ln -s "$T/outside" "$E/m/out"
check "rm -r removes a tree" n rm -r $S/m
[ ! -e "$E/m" ] && [ -e "$T/outside/keep" ] && ok "but not what its links lead to" || not_ok "but not what its links lead to"
check "rm -f is content with what is gone" n rm -f $S/m
refuses "rm -r refuses the export itself" 1 'refused' n rm -r $S

# ---- cp, cat, write: contents
for size in 0 1 4095 4096 65536 1048576 1048577 9437184 20000003; do
	random_file "$T/src" $size
	n cp "$T/src" $S/f && n cp $S/f "$T/back" && n cat $S/f >"$T/cat" && same "$T/src" "$E/f" && same "$T/src" "$T/back" && same "$T/src" "$T/cat" &&
		n write $S/w <"$T/src" && same "$T/src" "$E/w" &&
		cat "$T/src" | n write $S/p && same "$T/src" "$E/p" &&
		ok "$size bytes go in and out by cp, cat and write" || not_ok "$size bytes go in and out by cp, cat and write"
done
printf abc | n write $S/ap && printf def | n write -a $S/ap && [ "$(cat "$E/ap")" = abcdef ] && ok "write -a appends" || not_ok "write -a appends"
printf XY | n write --offset 2 $S/ap && [ "$(cat "$E/ap")" = abXYef ] && ok "write --offset overwrites in place" || not_ok "write --offset overwrites in place"
n cp $S/f $S/g && same "$E/f" "$E/g" && ok "cp copies within a server" || not_ok "cp copies within a server"
timeout 60 "$NFSRDMA" cp "nfs://127.0.0.1:$RDMA_PORT/e/f?mountproto=rdma" "nfs://127.0.0.1:$TCP_PORT/e/h?proto=tcp&mountport=$TCP_PORT" && same "$E/f" "$E/h" &&
	ok "cp copies from an RDMA mount to a TCP one" || not_ok "cp copies from an RDMA mount to a TCP one"
check "truncate makes an endless file on the null export" n truncate -s 64G 127.0.0.1:/null/zeros
[ "$(n cat 127.0.0.1:/null/zeros 2>/dev/null | head -c 1000 | tr -d '\0' | wc -c)" = 0 ] && ok "cat survives a reader that has had enough" || not_ok "cat survives a reader that has had enough"

# ---- cp: what users expect
echo new >"$T/new"
echo old >"$E/old"; chmod 640 "$E/old"
n cp "$T/new" $S/old && [ "$(cat "$E/old")" = new ] && [ "$(stat -c %a "$E/old")" = 640 ] && ok "an existing file gets new contents and keeps its mode" || not_ok "an existing file gets new contents and keeps its mode"
ln "$E/old" "$E/old2"; echo newer >"$T/new"
n cp "$T/new" $S/old && [ "$(cat "$E/old2")" = newer ] && ok "a file with two links stays one file" || not_ok "a file with two links stays one file"
ln -s old "$E/tolink"; echo newest >"$T/new"
n cp "$T/new" $S/tolink && [ -L "$E/tolink" ] && [ "$(cat "$E/old")" = newest ] && ok "a link is written through" || not_ok "a link is written through"
ln -s nowhere "$E/dangling"
refuses "a link that leads nowhere is not" 1 'leads nowhere' n cp "$T/new" $S/dangling
refuses "a directory is not replaced by a file" 1 'No such|is a directory' n cp "$T/nofile" $S/dir
n cp "$T/new" $S/dir && [ -e "$E/dir/new" ] && ok "into a directory a file goes under its own name" || not_ok "into a directory a file goes under its own name"
n cp "$T/new" "$T/src" $S/dir && [ -e "$E/dir/src" ] && ok "several files go into a directory" || not_ok "several files go into a directory"
refuses "several files need a directory" 1 'not a directory' n cp "$T/new" "$T/src" $S/old
refuses "a directory needs -r" 1 'without -r' n cp $S/dir "$T/x"
refuses "a file is not copied onto itself" 1 'same file' n cp $S/f $S/f
refuses "local to local is refused" 2 'cp\(1\)' n cp "$T/new" "$T/new2"
mkdir -p "$T/tree/a/b"; echo 1 >"$T/tree/a/one"; echo 2 >"$T/tree/a/b/two"; ln -s ../one "$T/tree/a/b/l"; mkfifo "$T/tree/fifo"; mkdir "$T/tree/empty"; chmod 555 "$T/tree/a/b"
n cp -r "$T/tree" $S/t1 && n cp -r $S/t1 "$T/t2" && diff <(cd "$T/tree" && find . -printf '%p %y %m %l\n' | sort) <(cd "$T/t2" && find . -printf '%p %y %m %l\n' | sort) >"$T/diff" &&
	same "$T/tree/a/b/two" "$T/t2/a/b/two" && ok "cp -r carries a tree there and back" || not_ok "cp -r carries a tree there and back" "$(cat "$T/diff")"
n cp -r "$T/tree" $S/dir && [ -e "$E/dir/tree/a/one" ] && ok "into a directory a tree goes under its own name" || not_ok "into a directory a tree goes under its own name"
n cp -r $S/t1 $S/t1 >"$T/out" 2>&1; [ $? = 1 ] && grep -q 'into itself' "$T/out" && [ ! -e "$E/t1/t1/t1" ] && ok "a tree is not copied into itself" || not_ok "a tree is not copied into itself" "$(cat "$T/out")"
n cp -r $S/t1/. "$T/new-dir" && [ -e "$T/new-dir/a/one" ] && ok "dir/. copies what is in it" || not_ok "dir/. copies what is in it"
touch -d '2011-11-11 11:11:11.111' "$T/new"; chmod 751 "$T/new"
n cp -p "$T/new" $S/keep && [ "$(stat -c '%a %Y' "$E/keep")" = "$(stat -c '%a %Y' "$T/new")" ] && n cp -p $S/keep "$T/kept" && [ "$(stat -c '%a %y' "$T/kept")" = "$(stat -c '%a %y' "$T/new")" ] &&
	ok "cp -p keeps mode and time, both ways" || not_ok "cp -p keeps mode and time, both ways"
mkdir "$T/links"; ln -s nowhere "$T/links/l"; touch -h -d 2001-02-03 "$T/links/l"
n cp -rp "$T/links" $S/links && n cp -rp $S/links "$T/links2"
[ "$(stat -c %y "$E/links/l" "$T/links2/l" | sort -u)" = "$(stat -c %y "$T/links/l")" ] && ok "cp -rp keeps a link's times, both ways" ||
	not_ok "cp -rp keeps a link's times, both ways" "$(stat -c %y "$E/links/l" "$T/links2/l")"
truncate -s 64M "$T/sparse"; printf data | dd of="$T/sparse" bs=1M seek=33 conv=notrunc status=none
n cp "$T/sparse" $S/sparse && same "$T/sparse" "$E/sparse" && [ "$(stat -c %b "$E/sparse")" -lt 8192 ] && ok "holes stay holes on the way in" || not_ok "holes stay holes on the way in" "$(stat -c '%s %b' "$E/sparse")"
n cp $S/sparse "$T/sparse2" && same "$T/sparse" "$T/sparse2" && [ "$(stat -c %b "$T/sparse2")" -lt 8192 ] && ok "and on the way out" || not_ok "and on the way out" "$(stat -c '%s %b' "$T/sparse2")"
n -v --json cp "$T/src" $S/f | python3 -c 'import json,sys; d=json.load(sys.stdin); assert d["files"]==1 and d["bytes"]==20000003 and d["complete"]' && ok "cp --json sums up" || not_ok "cp --json sums up"
n --stats cp "$T/src" $S/f 2>"$T/err" && grep -Eq '^transport rpcs [1-9]' "$T/err" && grep -Eq '^ledger iova_reuses [1-9]' "$T/err" && ok "--stats prints ledger and transport" || not_ok "--stats prints ledger and transport" "$(cat "$T/err")"
script -qec "'$NFSRDMA' -o $OPTS cp 127.0.0.1:/null/zeros /dev/null" /dev/null >"$T/bar" 2>&1 </dev/null & pid=$!
LIB_PIDS+=($pid); sleep 3; kill $pid 2>/dev/null; wait $pid 2>/dev/null
grep -aq '/s' "$T/bar" && ok "a bar is drawn on a terminal" || not_ok "a bar is drawn on a terminal" "$(head -c 300 "$T/bar")"

# ---- cp: failures leave nothing that looks complete
# In the foreground, since timeout signals its whole group otherwise: a second signal ends the program at once.
echo precious >"$E/victim"
( exec timeout --foreground -s INT 1 "$NFSRDMA" -o "$OPTS" cp 127.0.0.1:/null/zeros $S/victim ) >/dev/null 2>"$T/err"
[ "$(cat "$E/victim")" = precious ] && grep -q 'interrupted' "$T/err" && ok "an interrupted copy leaves the old file" || not_ok "an interrupted copy leaves the old file" "$(cat "$T/err")"
no_leftovers && ok "and no temporary file" || not_ok "and no temporary file" "$(find "$E" -name '.nfsrdma-*')"
( sleep 5 | timeout --foreground -s INT 1 "$NFSRDMA" -o "$OPTS" write $S/victim ) >/dev/null 2>"$T/err"
[ "$(cat "$E/victim")" = precious ] && no_leftovers && ok "an interrupted write that waits for input leaves the old file" || not_ok "an interrupted write that waits for input leaves the old file" "$(cat "$T/err")"
refuses "a full disk on this side is one line, and says what is there" 1 'No space left.*bytes are in' n cp $S/f /dev/full

# ---- streams and slashes
refuses "cat of a directory says so" 1 '/dir: Is a directory' n cat $S/dir
refuses "a slash behind a file asks for a directory" 1 'Not a directory' n cat $S/dir/hello/
refuses "and so it does in a URL" 1 'Not a directory' timeout 60 "$NFSRDMA" stat "nfs://127.0.0.1:$RDMA_PORT/e/dir/hello/?mountproto=rdma"
[ "$(n ls $S//dir/)" = "$(n ls $S/dir)" ] && ok "behind a directory it is welcome" || not_ok "behind a directory it is welcome"
# A descriptor that is closed becomes the next socket: what is printed must not go there.
for command in "cat $S/f" "ls $S" "stat $S/f" "df $S" "exports 127.0.0.1" "--json ls $S"; do
	refuses "standard output closed: $command fails" 1 'Bad file descriptor' eval "n $command >&-"
done
n cat $S/nothing 2>&-
check "standard error closed: the status tells" test $? = 1
refuses "standard input closed: write fails" 1 'Bad file descriptor' eval "n write $S/closed <&-"
[ ! -e "$E/closed" ] && no_leftovers && ok "and leaves nothing" || not_ok "and leaves nothing"
n cp "$T/src" $S/closed <&- >&- 2>&- && same "$T/src" "$E/closed" && ok "all three closed: cp copies" || not_ok "all three closed: cp copies"
refuses "a pool too small for any reply says what to raise" 1 'max-pinned=' n -o max-pinned=4k cat $S/f

# ---- over tcp
OPTS=port=$TCP_PORT,mountport=$TCP_PORT,proto=tcp
n cp "$T/src" $S/tcp && n cp $S/tcp "$T/back" && same "$T/src" "$T/back" && n rm $S/tcp && ok "the same over TCP" || not_ok "the same over TCP"

# ---- the server dies in the middle of a copy and comes back
OPTS=port=$RDMA_PORT,mountproto=rdma
random_file "$T/long" 400000000
n cp "$T/long" $S/long 2>"$T/err" & pid=$!
LIB_PIDS+=($pid)
for i in $(seq 100); do [ -n "$(find "$E" -name '.nfsrdma-*.part' -size +20M)" ] && break; sleep 0.02; done
[ -n "$(find "$E" -name '.nfsrdma-*.part')" ] && ok "a copy is under way" || not_ok "a copy is under way"
kill -9 "$SERVER_PID"; wait "$SERVER_PID" 2>/dev/null
server_start --port "$RDMA_PORT" --tcp-port "$TCP_PORT" --export "$E=/e" --null --no-root-squash
wait $pid && same "$T/long" "$E/long" && no_leftovers && ok "a copy completes though the server was killed and restarted" || not_ok "a copy completes though the server was killed and restarted" "$(cat "$T/err")" "$(cat "$T/nfsrdmad.err")"

server_stop && ok "nfsrdmad ends cleanly" || not_ok "nfsrdmad ends cleanly"
finish
