# SPDX-License-Identifier: BSD-2-Clause
if HAVE_JANSSON
bin_PROGRAMS += nfsrdma-iommu
nfsrdma_iommu_SOURCES = %D%/tool.h %D%/main.c %D%/report.c %D%/cmd_show.c \
	%D%/cmd_iova.c %D%/cost.h %D%/cmd_cost.c %D%/cost_fabric.c %D%/cost_vfio.c %D%/cost_rhythm.c %D%/memory.h %D%/memory.c \
	%D%/cmd_watch.c
nfsrdma_iommu_SOURCES += %D%/cmd_model.c %D%/model_options.h %D%/model_options.c \
	%D%/model_costs.h %D%/model_costs.c %D%/model_tables.h %D%/model_predictions.c %D%/model_cases.c
nfsrdma_iommu_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
nfsrdma_iommu_LDADD = $(NFSRDMA_LAYERS) $(NFSRDMA_LIBS) $(JANSSON_LIBS)
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = %D%/completion/nfsrdma-iommu
endif
