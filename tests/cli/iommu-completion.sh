#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# iommu-completion.sh - the options of nfsrdma-iommu are the same in its sources, in --help, in the manual and in the
# shell's completion; and what the completion offers in the middle of a line.
. "$(dirname "$0")/../lib.sh"
IOMMU=$(program nfsrdma-iommu)
if ! [ -x "$IOMMU" ]; then
	skip "nfsrdma-iommu's completion" "built without jansson"
	finish
fi
page=$SRC/man/nfsrdma-iommu.1.scd sources=$SRC/tools/nfsrdma-iommu
# shellcheck disable=SC1091
. "$sources/completion/nfsrdma-iommu"

"$IOMMU" --help >"$T/help"
commands=$(sed -n 's/^  \([a-z][a-z]*\) .*/\1/p' "$T/help" | sort -u)
same() { # LEFT RIGHT: two lists of words
	diff <(tr -s ' ' '\n' <<<"$1" | sort -u) <(tr -s ' ' '\n' <<<"$2" | sort -u)
}
options() { grep -oE -- '--[a-z][a-z-]*' | sort -u | tr '\n' ' ' | sed 's/ $//'; }
# What each says of COMMAND (the completion's --help holds for all commands)
helped() { awk -v c="$1" '/^  [a-z]/ { on = $1 == c } /^  / && on' "$T/help"; }
synopsis() { grep "^\*nfsrdma-iommu\* \*$1\*" "$page" | tr -d '*_\\'; }
section() { awk -v c="# ${1^^}" '/^# / { on = $0 == c; next } on' "$page"; }
parsed() {
	local files=("$sources/cmd_$1.c")
	[ "$1" != model ] || files+=("$sources/model_options.c")
	grep -hoE '\{"[a-z-]+",\s+(no|required)_argument' "${files[@]}" | sed 's/^{"/--/; s/".*//' | options
}
offered() { _nfsrdma_iommu_options "$1" | sed 's/ *--help//' | options; }

check "--help names commands" test "$(wc -w <<<"$commands")" = 5
for command in $commands; do
	all=$(helped "$command" | options)
	check "$command has options" test -n "$all"
	check "$command: the program takes what --help names" same "$(parsed "$command")" "$all"
	check "$command: the completion has them" same "$(offered "$command")" "$all"
	check "$command: the manual's synopsis has them" same "$(synopsis "$command" | options)" "$all"
	for option in $all; do
		[ "$option" = --json ] || check "$command $option is described in the manual" grep -qE -- "^\*$option\*|\*, \*$option\*|_, \*$option\*" <(section "$command")
		# Words to choose from are the same everywhere; a name, number or file is in capitals.
		words=$(helped "$command" | grep -oE -- "$option [a-z0-9-]+(\|[a-z0-9-]+)+" | head -n 1 | cut -d' ' -f2 | tr '|' ' ')
		[ -z "$words" ] || check "$command $option: the completion has its words" same "$(_nfsrdma_iommu_values "$option")" "$words"
		[ -z "$words" ] || check "$command $option: the manual has its words" same "$(section "$command" | grep -oE -- "\*$option\* _[a-z0-9-]+_(\|_[a-z0-9-]+_)+" | head -n 1 | cut -d' ' -f2 | tr -d _ | tr '|' ' ')" "$words"
	done
done

# complete_line TEXT: what is offered at its end, as bash splits it
complete_line() {
	local line=$1
	read -ra COMP_WORDS <<<"${line//=/ = }"
	[[ $line != *[\ =] ]] || COMP_WORDS+=("")
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
	[[ $line != *= ]] || { unset 'COMP_WORDS[COMP_CWORD]'; COMP_CWORD=$((COMP_CWORD - 1)); }
	_nfsrdma_iommu
	printf '%s\n' "${COMPREPLY[@]}"
}
gives() { # TEXT WORDS
	[ "$(complete_line "$1" | tr '\n' ' ')" = "$2 " ] || { complete_line "$1"; return 1; }
}
check "every command is offered" same "$(complete_line 'nfsrdma-iommu ' | grep -v '^-')" "$commands"
check "a command is completed" gives "nfsrdma-iommu sh" "show"
check "an option is completed" gives "nfsrdma-iommu iova --al" "--allocator"
check "a word is completed" gives "nfsrdma-iommu iova --allocator m" "magazine"
check "after an equals sign, too" gives "nfsrdma-iommu iova --allocator=t" "tree"
check "all words, where none is begun" gives "nfsrdma-iommu cost --api=" "type1 iommufd"
check "no word is made up for a number" gives "nfsrdma-iommu iova --threads " ""
mkdir "$T/w" "$T/w/a folder"
touch "$T/w/a figures.csv" "$T/w/other.txt"
cd "$T/w" || exit 1
check "files of the right kind and folders, blanks and all" test "$(complete_line 'nfsrdma-iommu model --figures a' | sort)" = $'a figures.csv\na folder'
check "no file of another kind" gives "nfsrdma-iommu model --figures o" ""
mkdir -m 700 "$T/run" "$T/run/nfsrdma"
touch "$T/run/nfsrdma/4711.0" "$T/run/nfsrdma/4711.1" "$T/run/nfsrdma/12.0"
export XDG_RUNTIME_DIR=$T/run
check "watch is offered the processes that keep a ledger" gives "nfsrdma-iommu watch " "12 4711"
interactive() { env -u LD_LIBRARY_PATH bash --norc --noprofile -c ". '$sources/completion/nfsrdma-iommu' && complete -p nfsrdma-iommu"; }
check "bash knows of it" test "$(interactive)" = "complete -F _nfsrdma_iommu nfsrdma-iommu"
check "show --help helps" cmp "$T/help" <("$IOMMU" show --help)
check "and behind other options" cmp "$T/help" <("$IOMMU" iova --threads 2 -h)
finish
