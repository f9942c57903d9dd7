/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.h - from what maps, the link and the rest cost to throughput, and back: pure arithmetic.
 *
 * The model is a closed queueing network of single-threaded clients: each thread has one record
 * under way.  A record visits two stations that serve one record at a time, the *link* of its
 * direction and the *maps*, which the transport makes under its send lock; all else is a *delay*
 * that threads spend side by side (their own CPU, the round trip, the server).  Exact mean value
 * analysis solves it. docs/iommu.md has the equations, the assumptions and what became of the
 * predictions.
 *
 * Times are in microseconds, rates in kB/s with kB = 1024 bytes as iozone has them.
 */
#ifndef NFSRDMA_IOMMU_MODEL_H
#define NFSRDMA_IOMMU_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct util_err;

#define IOMMU_MODEL_PAGE 4096
#define IOMMU_MODEL_MAP_PAGES 30 /* at most so many pages in one map call, as traced in 2021 */
#define IOMMU_MODEL_RECORD (256 * 1024) /* the record of the published runs */
#define IOMMU_MODEL_THREADS 12
#define IOMMU_MODEL_MAX_THREADS 4096

/* ---- the network ---------------------------------------------------------------------------- */

struct iommu_model_load {
	unsigned threads;
	double delay_us; /* what threads spend side by side */
	double link_us;	 /* one record on the wire */
	double maps_us;	 /* its maps and unmaps, one record at a time */
};

#define IOMMU_MODEL_STATIONS 2

/*
 * Records per microsecond of threads (at least 1) with these demands and that delay; not all are 0.
 * Reiser and Lavenberg's recursion: exact for exponential or processor-sharing stations.
 */
double iommu_model_mva(const double demand_us[IOMMU_MODEL_STATIONS], double delay_us,
		       unsigned threads);
/* kB/s of load with records of so many bytes. */
double iommu_model_rate(const struct iommu_model_load *load, uint64_t record);
/* No more is possible whatever waits for what: the busiest station, or every thread unhindered. */
double iommu_model_bound(const struct iommu_model_load *load, uint64_t record,
			 const char **bound_byp);

/* ---- what a record costs -------------------------------------------------------------------- */

enum iommu_model_policy {
	IOMMU_MODEL_OFF,
	IOMMU_MODEL_PASSTHROUGH,
	IOMMU_MODEL_LAZY,
	IOMMU_MODEL_STRICT,
	IOMMU_MODEL_POLICIES,
};

enum iommu_model_mode {
	IOMMU_MODEL_POOL,
	IOMMU_MODEL_WINDOW,
	IOMMU_MODEL_PER_IO,
	IOMMU_MODEL_MODES,
};

extern const char *const iommu_model_policy_names[IOMMU_MODEL_POLICIES];
extern const char *const iommu_model_mode_names[IOMMU_MODEL_MODES];

struct iommu_model_costs {
	double map_call_us,
		map_page_us; /* a map, and each page of it; its unmap included where known */
	double inval_us;     /* one invalidation that is waited for: strict, per unmap */
	double register_call_us, register_page_us; /* pins and all, on the thread's own CPU */
};

/* Time at the maps for one record. */
double iommu_model_maps_us(const struct iommu_model_costs *costs, uint64_t record,
			   enum iommu_model_policy policy, enum iommu_model_mode mode);
/* Registering one record and releasing it. */
double iommu_model_register_us(const struct iommu_model_costs *costs, uint64_t record);
/* One record on a wire of so many data bits per second. */
double iommu_model_link_us(double link_bps, uint64_t record);

/* ---- published figures ---------------------------------------------------------------------- */

enum iommu_model_role {
	IOMMU_MODEL_FITTED,
	IOMMU_MODEL_HELD_OUT, /* predicted with what the fitted rows gave */
	IOMMU_MODEL_EXCLUDED, /* a testing error: predicted, and of no influence */
	IOMMU_MODEL_ROLES,
};

extern const char *const iommu_model_role_names[IOMMU_MODEL_ROLES];

struct iommu_model_row {
	char kernel[16];
	char test[20]; /* "initial writers", "rewriters", "readers", "re-readers" */
	bool write;
	bool page_by_page; /* the kernel maps each page with a call of its own */
	enum iommu_model_role role;
	double published_kBps;
	double predicted_kBps; /* of a fit */
	double error_pct;
};

#define IOMMU_MODEL_MAX_ROWS 64

struct iommu_model_figures {
	unsigned rows;
	struct iommu_model_row row[IOMMU_MODEL_MAX_ROWS];
};

/* data/cx3-iozone-2021.csv as it was when this was built. */
extern const char iommu_model_cx3_csv[];

/*
 * Parse len bytes of hostile text with the columns of cx3-iozone-2021.csv.  The role follows from
 * the kernel and the direction.  -EINVAL and err: what is wrong in which line.
 */
int iommu_model_figures_parse(struct iommu_model_figures *figures, const char *text, size_t len,
			      struct util_err *err);

/* ---- other published figures ---------------------------------------------------------------- */

struct iommu_model_figure {
	char source[32], setup[96], variant[72], metric[16], unit[8];
	double value;
};

#define IOMMU_MODEL_MAX_FIGURES 64

struct iommu_model_cases {
	unsigned figures;
	struct iommu_model_figure figure[IOMMU_MODEL_MAX_FIGURES];
};

/* data/other-iommu-figures.csv and data/cx3-mend-2021.csv as they were when this was built. */
extern const char iommu_model_cases_csv[];
extern const char iommu_model_mend_csv[];

/* Parse len bytes of hostile text with their columns.  -EINVAL and err: what is wrong, in which
 * line. */
int iommu_model_cases_parse(struct iommu_model_cases *cases, const char *text, size_t len,
			    struct util_err *err);
/* Between two operations, or two times 4 KiB where the figure is a bandwidth; 0: it is no rate. */
double iommu_model_figure_us(const struct iommu_model_figure *figure);

/* ---- the fit -------------------------------------------------------------------------------- */

#define IOMMU_MODEL_LINK_BPS                                                                       \
	54545454545.0			/* FDR 4x: 4 * 14.0625 Gbit/s, 64 of 66 bits are data      \
					 */
#define IOMMU_MODEL_MAP_BEFORE_US 10.07 /* dma_map_sg of 30 pages, traced */
#define IOMMU_MODEL_MAP_AFTER_US 63.6
#define IOMMU_MODEL_CPU_US 40.0 /* a record's share of iozone's own CPU time, all twelve rows */

struct iommu_model_estimate {
	double value;
	double low, high; /* what each of its rows alone would give */
	double slope_pct; /* throughput changes so much where it grows by a tenth */
};

enum iommu_model_parameter {
	IOMMU_MODEL_READ_DELAY,
	IOMMU_MODEL_WRITE_DELAY,
	IOMMU_MODEL_PAGE_EXTRA, /* us per page that mapping page by page adds */
	IOMMU_MODEL_PARAMETERS,
};

struct iommu_model_fit {
	struct iommu_model_estimate parameter[IOMMU_MODEL_PARAMETERS];
};

/*
 * Choose the three parameters so that the relative errors of the fitted rows that determine each
 * add up to nothing, then predict every row.  -EINVAL and err: a cell that is needed has no row.
 * -ERANGE and err: no sensible value gives such figures.
 */
int iommu_model_fit(struct iommu_model_fit *fit, struct iommu_model_figures *figures,
		    struct util_err *err);
/* The load of a published run in the fitted model. */
void iommu_model_fit_load(const struct iommu_model_fit *fit, bool write, bool page_by_page,
			  struct iommu_model_load *load);

/* A value, and the ends of what is not known about it. */
struct iommu_model_span {
	double value, low, high;
};

/*
 * The delay of a record of that size where registering it takes register_us, from a delay that was
 * fitted to records of IOMMU_MODEL_RECORD.  Two things are not known.  How much of the fitted delay
 * grows with the record: none of it and all of it, but never below the CPU's share, are the ends.
 * And how much of it was registering, for that client registered each record: as much as it takes
 * here, at most the CPU's share, or at the other end nothing.  So registering is once in per-io
 * mode, and not at all in the others.
 */
void iommu_model_delay(struct iommu_model_span *span, double fitted_us, double register_us,
		       uint64_t record, enum iommu_model_mode mode);

#endif
