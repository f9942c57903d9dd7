/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * progress.c - the bar on a terminal.
 *
 * It is drawn over itself with a carriage return, never wider than the terminal (a wrapped line
 * cannot be overdrawn), and first after half a second, so that small files make no noise.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "progress.h"

#define FIRST_NS (UTIL_NS_PER_S / 2)
#define EVERY_NS (UTIL_NS_PER_S / 5)

void progress_start(struct progress *p, struct cli *cli, const char *name, uint64_t total)
{
	memset(p, 0, sizeof(*p));
	p->cli = cli;
	p->enabled = !cli->no_progress && !cli->json && cli->verbosity >= 0 && isatty(2);
	p->total = total;
	if (!p->enabled)
		return;
	cli_safe(name, p->name, sizeof(p->name));
	p->start_ns = util_clock_ns();
	p->shown_ns = p->start_ns + FIRST_NS - EVERY_NS;
}

static void format_left(uint64_t seconds, char *buf, size_t len)
{
	if (seconds >= 3600)
		snprintf(buf, len, "%u:%02u:%02u left", (unsigned)(seconds / 3600),
			 (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60));
	else
		snprintf(buf, len, "%u:%02u left", (unsigned)(seconds / 60),
			 (unsigned)(seconds % 60));
}

#define BAR_WIDTH 20

/* "[#####     ]" */
static void format_bar(double share, char bar[BAR_WIDTH + 3])
{
	bar[0] = '[';
	memset(bar + 1, ' ', BAR_WIDTH);
	memset(bar + 1, '#', (size_t)(share * BAR_WIDTH));
	bar[BAR_WIDTH + 1] = ']';
	bar[BAR_WIDTH + 2] = '\0';
}

void progress_format(const struct progress *p, uint64_t now_ns, unsigned width, char *line,
		     size_t len)
{
	double seconds = (double)(now_ns - p->start_ns) / 1e9;
	double rate = seconds > 0 ? (double)p->done / seconds : 0;
	char amount[32], speed[32], numbers[128], left[32] = "", bar[BAR_WIDTH + 3];
	unsigned name_width;

	util_size_format(p->done, amount, sizeof(amount));
	util_size_format((uint64_t)rate, speed, sizeof(speed));
	if (p->total) {
		double share = p->done < p->total ? (double)p->done / (double)p->total : 1;

		format_bar(share, bar);
		if (rate > 0 && p->done <= p->total)
			format_left((uint64_t)((double)(p->total - p->done) / rate + 0.5), left,
				    sizeof(left));
		snprintf(numbers, sizeof(numbers), "%3u%% %s %s  %s/s  %s", (unsigned)(share * 100),
			 bar, amount, speed, left);
	} else {
		snprintf(numbers, sizeof(numbers), "%s  %s/s", amount, speed);
	}
	name_width = width > strlen(numbers) + 3 ? width - (unsigned)strlen(numbers) - 3 : 0;
	if (name_width > sizeof(p->name))
		name_width = sizeof(p->name);
	if (name_width)
		snprintf(line, len, "%.*s  %s", (int)name_width, p->name, numbers);
	else
		snprintf(line, len, "%.*s", (int)(width ? width - 1 : 0), numbers);
}

static void draw(struct progress *p, uint64_t now_ns)
{
	struct winsize size;
	unsigned width = 80;
	char line[512];

	if (ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col)
		width = size.ws_col;
	progress_format(p, now_ns, width < sizeof(line) ? width : sizeof(line) - 1, line,
			sizeof(line));
	fprintf(stderr, "\r%s\033[K", line);
	fflush(stderr);
	p->cli->progress_shown = true;
	p->shown_ns = now_ns;
}

void progress_update(struct progress *p, uint64_t done)
{
	uint64_t now;

	p->done = done;
	if (!p->enabled)
		return;
	now = util_clock_ns();
	if (now - p->shown_ns < EVERY_NS || now < p->shown_ns)
		return;
	draw(p, now);
}

void progress_end(struct progress *p, bool completed)
{
	if (!p->enabled || !p->cli->progress_shown)
		return;
	if (completed) {
		draw(p, util_clock_ns());
		fputc('\n', stderr);
	} else {
		fputs("\r\033[K", stderr);
	}
	p->cli->progress_shown = false;
}
