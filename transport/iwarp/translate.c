/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * translate.c - every access to memory a key names passes through the software IOMMU, if there is
 * one.
 *
 * The key says who may (stag.c), the IOMMU says where.  Both are asked each time memory is touched:
 * once when a segment's header has come, and for the bytes themselves around each copy and each
 * read or write of the socket.  The hold keeps the region from being deregistered, so what was
 * translated stays mapped while it is used.
 *
 * A refusal is no fault of the peer's, who had a valid key: this end cannot do what it promised.
 * RFC 5040 section 4.8 has a layer's catastrophic error for that, without any address in it.
 */
#include <stdio.h>

#include "transport/iwarp/internal.h"

/* What was not looked up last.  Apart, so that who has no IOMMU passes by. */
static enum iwarp_denial __attribute__((noinline))
translate(struct iwarp_conn *conn, unsigned right, uint64_t len, struct iwarp_hold *hold,
	  struct iommu_sw_last *last)
{
	void *ptr = iommu_sw_translate_last(conn->cq->domain->iommu, hold->bus, len, right,
					    &conn->iommu_fault, last);

	if (!ptr) {
		iwarp_stags_release(hold);
		return IWARP_DENIED_IOMMU;
	}
	hold->ptr = ptr;
	return IWARP_GRANTED;
}

static inline enum iwarp_denial hold_for(struct iwarp_conn *conn, const struct iwarp_access *access,
					 uint64_t len, struct iwarp_hold *hold, unsigned right,
					 struct iommu_sw_last *last)
{
	enum iwarp_denial denial = iwarp_stags_hold(conn->fabric->stags, access, hold);
	void *ptr;

	if (denial || !conn->cq->domain->iommu || !len)
		return denial;
	ptr = iommu_sw_last_find(last, hold->bus, len);
	if (!ptr)
		return translate(conn, right, len, hold, last);
	hold->ptr = ptr;
	return IWARP_GRANTED;
}

enum iwarp_denial iwarp_hold_to_read(struct iwarp_conn *conn, const struct iwarp_access *access,
				     uint64_t len, struct iwarp_hold *hold)
{
	return hold_for(conn, access, len, hold, IOMMU_SW_READ, &conn->iommu_read_last);
}

enum iwarp_denial iwarp_hold_to_write(struct iwarp_conn *conn, const struct iwarp_access *access,
				      uint64_t len, struct iwarp_hold *hold)
{
	return hold_for(conn, access, len, hold, IOMMU_SW_WRITE, &conn->iommu_write_last);
}

const char *iwarp_iommu_fault_text(const struct iwarp_conn *conn, char *buf, size_t len)
{
	const struct iommu_sw_fault *fault = &conn->iommu_fault;

	if (!fault->right)
		return NULL;
	snprintf(buf, len, "IOMMU fault: %s of bus address %#llx: %s",
		 fault->right == IOMMU_SW_READ ? "read" : "write", (unsigned long long)fault->bus,
		 iommu_sw_reason_name(fault->reason));
	return buf;
}
