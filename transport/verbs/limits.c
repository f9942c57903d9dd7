/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limits.c - what a device says of itself, made into what we use.  Pure.
 *
 * Devices differ by orders of magnitude: siw has 6 SGEs, and 1 for an RDMA Read; rxe takes messages
 * of 8 MiB; some say 0 where they mean 1, and some say more SGEs than a queue pair of useful depth
 * gets.  Everything above the fabric sees only struct fabric_attr, after this file.
 */
#include <stdio.h>
#include <string.h>

#include "transport/verbs/internal.h"

/* More than these buys nothing here, and keeps asked-for sizes within what real devices grant. */
#define VERBS_MAX_SGE 32
#define VERBS_MAX_WR 16384
/* The CM carries both directions' counts of outstanding RDMA Reads in one octet each. */
#define VERBS_MAX_RD_ATOMIC 255

/* The software devices' vendor ids, as ibv_devinfo -v shows them. */
#define VERBS_VENDOR_SIW 0x626d74
#define VERBS_VENDOR_RXE 0xffffff

unsigned verbs_quirks(const struct ibv_device_attr *dev)
{
	switch (dev->vendor_id) {
	case VERBS_VENDOR_SIW:
		/* QUIRK(siw): takes an iova without an error and then goes by the process address.
		 */
		return VERBS_QUIRK_FORCES_VA | VERBS_QUIRK_SOFTWARE;
	case VERBS_VENDOR_RXE:
		/* QUIRK(rxe): hands the kernel's wc_flags up as they are. */
		return VERBS_QUIRK_INV_FLAG | VERBS_QUIRK_SOFTWARE;
	default:
		return 0;
	}
}

/* Mbit/s of one lane, as the kernel's "rate" file has it (signalling rate). */
static uint64_t lane_mbps(uint8_t active_speed)
{
	switch (active_speed) {
	case 1: /* SDR */
		return 2500;
	case 2: /* DDR */
		return 5000;
	case 4: /* QDR */
	case 8: /* FDR10 */
		return 10000;
	case 16: /* FDR */
		return 14000;
	case 32: /* EDR */
		return 25000;
	case 64: /* HDR */
		return 50000;
	case 128: /* NDR */
		return 100000;
	default:
		return 0;
	}
}

static unsigned lanes(uint8_t active_width)
{
	switch (active_width) {
	case 1:
		return 1;
	case 2:
		return 4;
	case 4:
		return 8;
	case 8:
		return 12;
	case 16:
		return 2;
	default:
		return 0;
	}
}

/* Bit/s of a port; 0 for codes we do not know. */
uint64_t verbs_link_bps(uint8_t active_width, uint8_t active_speed)
{
	return lane_mbps(active_speed) * lanes(active_width) * 1000000;
}

/* value brought into [low, high]; devices report some of these as signed. */
static uint32_t clamp(int64_t value, uint32_t low, uint32_t high)
{
	if (value < (int64_t)low)
		return low;
	return value > (int64_t)high ? high : (uint32_t)value;
}

/*
 * Everything of attr but its device name, NUMA node and max_inline, which a query of the device
 * does not tell.
 */
void verbs_limits(struct fabric_attr *attr, const struct ibv_device_attr *dev,
		  const struct ibv_port_attr *port)
{
	uint32_t wrs = clamp(dev->max_qp_wr, 1, VERBS_MAX_WR);
	uint32_t reads = clamp(dev->max_qp_rd_atom, 0, VERBS_MAX_RD_ATOMIC);
	uint32_t own_reads = clamp(dev->max_qp_init_rd_atom, 0, VERBS_MAX_RD_ATOMIC);

	/* A queue pair has one completion queue that holds both its queues. */
	if (dev->max_cqe > 0 && wrs > (uint32_t)dev->max_cqe / 2)
		wrs = clamp(dev->max_cqe / 2, 1, VERBS_MAX_WR);
	attr->max_sge = clamp(dev->max_sge, 1, VERBS_MAX_SGE);
	attr->max_read_sge = clamp(dev->max_sge_rd, 1, attr->max_sge);
	attr->max_send_wr = wrs;
	attr->max_recv_wr = wrs;
	attr->max_rd_atomic = reads < own_reads ? reads : own_reads;
	attr->max_msg = port->max_msg_sz ? port->max_msg_sz : UINT32_MAX;
	attr->windows = (dev->device_cap_flags &
			 (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)) &&
			dev->max_mw > 0;
	attr->link_bps = verbs_link_bps(port->active_width, port->active_speed);
}

/*
 * mr.h's rights in verbs' words.  Remote write implies local write (ibv_reg_mr refuses it alone).
 * In iWARP the data of our RDMA Read comes back as a tagged message that names the sink's STag,
 * just as a peer's RDMA Write would, so a sink there needs the remote right.
 */
unsigned verbs_access_flags(unsigned access, bool iwarp)
{
	unsigned flags = 0;

	if (access & (MR_ACCESS_LOCAL_WRITE | MR_ACCESS_READ_SINK))
		flags |= IBV_ACCESS_LOCAL_WRITE;
	if (access & MR_ACCESS_REMOTE_READ)
		flags |= IBV_ACCESS_REMOTE_READ;
	if ((access & MR_ACCESS_REMOTE_WRITE) || ((access & MR_ACCESS_READ_SINK) && iwarp))
		flags |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
	if (access & MR_ACCESS_WINDOW_BIND)
		/* A window with the right to write needs a region that may be written. */
		flags |= IBV_ACCESS_MW_BIND;
	if (access & MR_ACCESS_ON_DEMAND)
		flags |= IBV_ACCESS_ON_DEMAND;
	return flags;
}
