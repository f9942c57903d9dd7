# SPDX-License-Identifier: BSD-2-Clause
# A fabric in the test's own process, for every binary that wants one.
FAKE_SOURCES = %D%/fake.h %D%/internal.h %D%/fake.c %D%/conn.c %D%/listen.c %D%/mr.c %D%/peer.c \
	%D%/post.c %D%/window.c

# Counts allocations, see alloc.h.
ALLOC_SOURCES = %D%/alloc.h %D%/alloc.c
ALLOC_WRAP = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=posix_memalign
