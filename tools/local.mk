# SPDX-License-Identifier: BSD-2-Clause
include tools/nfsrdma/local.mk
include tools/nfsrdmad/local.mk
include tools/nfsrdma-bench/local.mk
include tools/nfsrdma-iommu/local.mk
