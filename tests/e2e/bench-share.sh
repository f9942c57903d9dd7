#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# bench-share.sh - what the bench itself costs, counted in instructions.
. "$(dirname "$0")/../lib.sh"
share() { timeout 250 "$SRC/tests/bench/share.py" --build-dir "$BUILD" --limit 5; }
check "at most 5 % of an operation's instructions are the bench's own" share
sed 's/^/# /' "$T/check.out"
finish
