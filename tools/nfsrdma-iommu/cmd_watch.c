/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_watch.c - nfsrdma-iommu watch: pins and the IOMMU's work, as they happen.
 *
 * One line per interval, from four witnesses: what the kernel books for a process (VmPin, VmLck),
 * what it counts system-wide (nr_foll_pin_*), what our own programs count (the ledger each keeps in
 * a file of the user), and the kernel's trace events for IOMMU maps and unmaps (root).  A witness
 * that is not there is a dash, said once why.  In pool mode a busy mount shows 0 in all of them but
 * the reuses; with mr=per-io, or the kernel's own client beside it, the difference is plain to see.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mr/mr.h"
#include "tools/nfsrdma-iommu/tool.h"

#define WATCH_HEADER_EVERY 20

struct watch_options {
	int pid; /* 0: the machine, and all of our processes */
	uint64_t interval_ms, count;
	const char *dir;
	bool json;
	const char *untraced;
};

/* Sums over the ledgers that are watched. */
struct watch_ledger {
	unsigned found;
	uint64_t registrations, maps, unmaps, reuses, charged_now;
};

struct watch_sample {
	uint64_t at_ns;
	struct iommu_pins pins;
	bool process; /* pins has the process's VmPin and VmLck */
	struct watch_ledger ledger;
	const char *untraced; /* why trace is not known, NULL it is */
	struct iommu_trace_counts trace;
};

static void watch_add(void *arg, const struct mr_watch_info *info,
		      const struct mr_ledger_snapshot *snap)
{
	struct watch_ledger *l = arg;

	(void)info;
	l->found++;
	l->registrations += snap->registrations;
	l->maps += snap->iova_maps;
	l->unmaps += snap->iova_unmaps;
	l->reuses += snap->iova_reuses;
	l->charged_now += snap->pages_charged_now + snap->locked_pages_now;
}

/* -ESRCH: the process is gone. */
static int watch_take(const struct watch_options *opts, const struct iommu_trace *trace,
		      struct watch_sample *s)
{
	int ret;

	memset(s, 0, sizeof(*s));
	s->at_ns = util_clock_ns();
	ret = iommu_pins_read(&s->pins, opts->pid, NULL);
	if (ret)
		return -ESRCH;
	s->process = opts->pid != 0;
	mr_watch_each(opts->dir, opts->pid, watch_add, &s->ledger, NULL);
	s->untraced = opts->untraced;
	if (trace)
		iommu_trace_read(trace, &s->trace);
	return 0;
}

static double watch_rate(uint64_t from, uint64_t to, double seconds)
{
	return to > from && seconds > 0 ? (double)(to - from) / seconds : 0;
}

/* "123.4", "-" */
static const char *watch_text(char *buf, size_t len, bool known, double value)
{
	if (known)
		snprintf(buf, len, "%.0f", value);
	else
		snprintf(buf, len, "-");
	return buf;
}

static void watch_number(struct report *r, const char *name, bool known, double value)
{
	if (known)
		report_real(r, name, value, "");
	else
		report_null(r, name, "-");
}

static int64_t watch_pins(const struct watch_sample *s)
{
	return (int64_t)(s->pins.foll_pin_acquired - s->pins.foll_pin_released);
}

static int watch_json(const struct watch_sample *was, const struct watch_sample *now,
		      double seconds)
{
	const struct watch_ledger *from = &was->ledger, *to = &now->ledger;
	struct report *r = report_begin(stdout, true, "nfsrdma-iommu-watch/1");
	bool ledger = to->found > 0;

	if (!r)
		return -ENOMEM;
	report_one_line(r);
	report_real(r, "seconds", seconds, "");
	watch_number(r, "vm_pin_kb", now->process, (double)now->pins.vm_pin_kb);
	watch_number(r, "vm_lck_kb", now->process, (double)now->pins.vm_lck_kb);
	if (now->pins.foll_pin_known)
		report_signed(r, "pins", watch_pins(now));
	else
		report_null(r, "pins", "-");
	watch_number(r, "pins_taken_per_s", now->pins.foll_pin_known,
		     watch_rate(was->pins.foll_pin_acquired, now->pins.foll_pin_acquired, seconds));
	report_number(r, "ledgers", to->found, "");
	watch_number(r, "pages_charged", ledger, (double)to->charged_now);
	watch_number(r, "registrations_per_s", ledger,
		     watch_rate(from->registrations, to->registrations, seconds));
	watch_number(r, "iova_maps_per_s", ledger, watch_rate(from->maps, to->maps, seconds));
	watch_number(r, "iova_unmaps_per_s", ledger, watch_rate(from->unmaps, to->unmaps, seconds));
	watch_number(r, "iova_reuses_per_s", ledger, watch_rate(from->reuses, to->reuses, seconds));
	watch_number(r, "iommu_maps_per_s", !now->untraced,
		     watch_rate(was->trace.maps, now->trace.maps, seconds));
	watch_number(r, "iommu_unmaps_per_s", !now->untraced,
		     watch_rate(was->trace.unmaps, now->trace.unmaps, seconds));
	if (now->untraced)
		report_text(r, "untraced", now->untraced);
	else
		report_null(r, "untraced", "-");
	return report_end(r);
}

static int watch_line(const struct watch_sample *was, const struct watch_sample *now,
		      double seconds)
{
	const struct watch_ledger *from = &was->ledger, *to = &now->ledger;
	bool ledger = to->found > 0;
	char text[8][24];

	printf("%10s %10s %10s %10s %10s %10s %10s %10s\n",
	       watch_text(text[0], 24, now->process, (double)now->pins.vm_pin_kb),
	       watch_text(text[1], 24, now->process, (double)now->pins.vm_lck_kb),
	       watch_text(text[7], 24, now->pins.foll_pin_known, (double)watch_pins(now)),
	       watch_text(text[2], 24, ledger, (double)to->charged_now),
	       watch_text(text[3], 24, ledger,
			  watch_rate(from->registrations, to->registrations, seconds)),
	       watch_text(text[4], 24, ledger, watch_rate(from->reuses, to->reuses, seconds)),
	       watch_text(text[5], 24, !now->untraced,
			  watch_rate(was->trace.maps, now->trace.maps, seconds)),
	       watch_text(text[6], 24, !now->untraced,
			  watch_rate(was->trace.unmaps, now->trace.unmaps, seconds)));
	return report_flush(stdout);
}

static void watch_header(void)
{
	printf("%10s %10s %10s %10s %10s %10s %10s %10s\n", "VmPin kB", "VmLck kB", "pins",
	       "charged", "regs/s", "reuses/s", "maps/s", "unmaps/s");
}

/* 1: interrupted. */
static int watch_sleep(int signals, uint64_t until_ns)
{
	struct pollfd p = {.fd = signals, .events = POLLIN};
	uint64_t now;

	while ((now = util_clock_ns()) < until_ns) {
		int ms = (int)((until_ns - now + UTIL_NS_PER_MS - 1) / UTIL_NS_PER_MS);

		if (poll(&p, 1, ms) > 0)
			return 1;
	}
	return 0;
}

static int watch_loop(const struct watch_options *opts, const struct iommu_trace *trace,
		      int signals, struct util_err *err)
{
	struct watch_sample was, now;
	int ret = watch_take(opts, trace, &was);

	for (uint64_t i = 0; !ret && (!opts->count || i < opts->count); i++) {
		double seconds;

		if (!opts->json && i % WATCH_HEADER_EVERY == 0)
			watch_header();
		if (watch_sleep(signals, was.at_ns + opts->interval_ms * UTIL_NS_PER_MS))
			return TOOL_INTERRUPTED;
		ret = watch_take(opts, trace, &now);
		if (ret)
			return i ? 0 : util_err_set(err, ret, "process %d has ended", opts->pid);
		seconds = (double)(now.at_ns - was.at_ns) / (double)UTIL_NS_PER_S;
		ret = opts->json ? watch_json(&was, &now, seconds)
				 : watch_line(&was, &now, seconds);
		if (ret)
			util_err_set(err, ret, "write: %s", strerror(-ret));
		was = now;
	}
	if (ret == -ESRCH)
		util_err_set(err, ret, "there is no process %d", opts->pid);
	return ret;
}

static int watch_run(struct watch_options *opts)
{
	struct util_err err = {0}, why = {0};
	struct iommu_trace *trace = NULL;
	/* through a descriptor, so that the tracing instance is removed in any case */
	int signals = util_signal_fd(), ret;

	if (signals < 0)
		return 1;
	if (iommu_trace_open(&trace, NULL, &why)) {
		opts->untraced = why.what;
		fprintf(stderr, "nfsrdma-iommu: watch: no IOMMU maps and unmaps: %s (%s)\n",
			why.what, why.hint);
	}
	ret = watch_loop(opts, trace, signals, &err);
	iommu_trace_close(trace);
	close(signals);
	if (ret == -EPIPE) /* whoever reads has seen enough, as in "watch | head" */
		return 1;
	return ret < 0 ? tool_fail("watch", &err) : ret;
}

/* "1", "0.25": seconds of at least 10 ms. */
static bool watch_interval(const char *text, uint64_t *msp)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds >= 0.01 && seconds <= 86400))
		return false;
	*msp = (uint64_t)(seconds * 1000);
	return true;
}

int cmd_watch(int argc, char **argv)
{
	static const struct option options[] = {
		{"interval", required_argument, NULL, 'i'},
		{"count", required_argument, NULL, 'c'},
		{"dir", required_argument, NULL, 'd'},
		{"json", no_argument, NULL, 'j'},
		{0},
	};
	struct watch_options opts = {.interval_ms = 1000};
	uint64_t pid;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (c == 'i' && !watch_interval(optarg, &opts.interval_ms))
			return tool_usage("watch", "--interval %s: seconds, from 0.01", optarg);
		if (c == 'c' &&
		    !tool_number("watch", "--count", optarg, 1, UINT32_MAX, &opts.count))
			return TOOL_USAGE;
		if (c == 'd')
			opts.dir = optarg;
		if (c == 'j')
			opts.json = true;
		if (c == '?' || c == ':')
			return tool_option("watch", c, argv);
	}
	if (optind < argc) {
		if (!tool_number("watch", "PID", argv[optind++], 1, INT32_MAX, &pid))
			return TOOL_USAGE;
		opts.pid = (int)pid;
	}
	if (optind < argc)
		return tool_usage("watch", "unexpected argument '%s'", argv[optind]);
	return watch_run(&opts);
}
