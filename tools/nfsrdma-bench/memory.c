/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.c - the buffers of clients that register nothing: plain pages, present from the start. */
#include <errno.h>
#include <sys/mman.h>

#include "tools/nfsrdma-bench/client.h"

int bench_memory_get(struct bench_memory *memory, unsigned count, size_t len, void **addr,
		     struct util_err *err)
{
	void *base = mmap(NULL, count * len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (base == MAP_FAILED)
		return util_err_set(err, -ENOMEM, "no memory for buffers");
	*memory = (struct bench_memory){.base = base, .len = count * len, .each = len};
	for (unsigned i = 0; i < count; i++)
		addr[i] = bench_memory_at(memory, i);
	return 0;
}

void bench_memory_put(struct bench_memory *memory)
{
	if (memory->base)
		munmap(memory->base, memory->len);
	memory->base = NULL;
}
