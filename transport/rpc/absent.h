/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * absent.h - parts of transport/ that a build may lack: they are linked weakly and looked for.
 */
#ifndef NFSRDMA_TRANSPORT_RPC_ABSENT_H
#define NFSRDMA_TRANSPORT_RPC_ABSENT_H

#pragma weak verbs_fabric_ops
#pragma weak iwarp_fabric_ops

#endif
