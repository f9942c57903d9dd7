/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_html.c - one page with everything: no file beside it, nothing from the network.
 *
 * It answers two questions first, in words and with the numbers they rest on: what does registering
 * memory for each I/O cost, and what does the pool save (when both were measured); else, which case
 * is the fastest and by how much.  Then pictures, then the tables, then where it ran, then the
 * document itself for programs.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tools/nfsrdma-bench/picture.h"

static const char html_head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n<title>nfsrdma-bench</title>\n"
	"<style>\n"
	":root{--bg:#fff;--fg:#1c2430;--mute:#5b6676;--line:#dde2e9;--card:#f5f7fa;--good:#1a7f4e;"
	"--bad:#b3401c;--h0:#1f6fb2;--h1:#d9822b;--h2:#8a4fb0;--h3:#2a8f6d;--h4:#b8405e;--h5:#"
	"6b7280}"
	"\n@media(prefers-color-scheme:dark){:root{--bg:#14181f;--fg:#e6eaf0;--mute:#9aa5b5;"
	"--line:#2c3440;--card:#1c222b;--good:#5cc98f;--bad:#ef8b63;--h0:#5aa7e6;--h1:#efa65a;"
	"--h2:#b98bdb;--h3:#5fc4a0;--h4:#e27d97;--h5:#9aa5b5}}\n"
	"body{margin:0 auto;padding:28px "
	"24px;max-width:1080px;background:var(--bg);color:var(--fg);"
	"font:15px/1.5 system-ui,sans-serif}\n"
	"h1{font-size:24px;margin:0}h2{font-size:18px;margin:36px 0 8px}"
	"p{margin:6px 0}.mute{color:var(--mute)}\n"
	".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(270px,1fr));gap:14px;"
	"margin:20px 0}\n"
	".card{background:var(--card);border:1px solid var(--line);border-radius:8px;"
	"padding:14px 16px}.card b{display:block;font-size:30px;line-height:1.25}\n"
	".card h3{margin:0;font-size:14px;font-weight:600;color:var(--mute)}\n"
	".good{color:var(--good)}.bad{color:var(--bad)}\n"
	"svg{width:100%;height:auto;display:block}svg text{font:12px system-ui,sans-serif;"
	"fill:var(--fg)}svg .g{font-weight:600;font-size:13px}svg .l{text-anchor:end}"
	"svg .t{text-anchor:middle;fill:var(--mute)}svg .v{fill:var(--mute)}"
	"svg .grid{stroke:var(--line)}svg .w{stroke:var(--fg);stroke-width:1.3;fill:none}\n"
	"table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-"
	"nums}"
	"th,td{padding:4px 6px;text-align:right;border-bottom:1px solid var(--line);"
	"white-space:nowrap}th:first-child,td:first-child{text-align:left}"
	"th{color:var(--mute);font-weight:600}tr.t td{font-weight:600;padding-top:14px}\n"
	".wide{overflow-x:auto}code{background:var(--card);padding:2px 5px;border-radius:4px;"
	"overflow-wrap:anywhere}dt{color:var(--mute);float:left;clear:left;width:170px}"
	"dd{margin-left:180px;overflow-wrap:anywhere}\n";

struct html_page {
	FILE *out;
	const json_t *doc;
	struct doc_row *rows;
	unsigned count;
	struct picture_style *styles;
};

static void html_style(FILE *out)
{
	static const char opacity[][5] = {"1", ".55", ".3"};

	fputs(html_head, out);
	for (unsigned hue = 0; hue < 6; hue++)
		for (unsigned s = 0; s < UTIL_ARRAY_SIZE(opacity); s++)
			fprintf(out, ".h%us%u{fill:var(--h%u);fill-opacity:%s}", hue, s, hue,
				opacity[s]);
	fputs("\n</style></head><body>\n", out);
}

static const char *html_string(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));

	return text ? text : "";
}

/* ---- at a glance ------------------------------------------------------------------------------
 */

/* Does the case set key to value, and is it RDMA's? */
static bool html_sets(const struct doc_row *row, const char *key, const char *value)
{
	return !strcmp(html_string(json_object_get(row->run, "set"), key), value);
}

static bool html_is_rdma(const struct doc_row *row)
{
	return strcmp(html_string(json_object_get(row->run, "env"), "proto"), "tcp") != 0;
}

/* The same test of the same case but for mr=. */
static const struct doc_row *html_sibling(const struct html_page *page, const struct doc_row *row,
					  const char *mode)
{
	const json_t *set = json_object_get(row->run, "set");

	for (unsigned i = 0; i < page->count; i++) {
		json_t *other = json_object_get(page->rows[i].run, "set"), *value;
		const char *key;
		bool same = html_sets(&page->rows[i], "mr", mode);

		if (!same || !doc_row_same_test(&page->rows[i], row))
			continue;
		json_object_foreach(other, key, value) same &=
			!strcmp(key, "mr") || json_equal(value, json_object_get(set, key));
		if (same)
			return &page->rows[i];
	}
	return NULL;
}

static void html_card(const struct html_page *page, const char *title, const char *class,
		      const char *figure)
{
	fputs("<div class=\"card\"><h3>", page->out);
	picture_text(page->out, title);
	fprintf(page->out, "</h3><b class=\"%s\">", class);
	picture_text(page->out, figure);
	fputs("</b>", page->out);
}

static double html_loss(const struct doc_row *per_io, const struct doc_row *pool)
{
	return pool->kbps > 0 ? 100 * (1 - per_io->kbps / pool->kbps) : 0;
}

/* Of all RDMA tests the one that registering slows most. */
static const struct doc_row *html_worst(const struct html_page *page, const char *mode)
{
	const struct doc_row *worst = NULL;
	double loss = -1e9;

	for (unsigned i = 0; i < page->count; i++) {
		const struct doc_row *row = &page->rows[i];
		const struct doc_row *pool;

		if (!html_sets(row, "mr", mode) || !html_is_rdma(row))
			continue;
		pool = html_sibling(page, row, "pool");
		if (pool && html_loss(row, pool) > loss) {
			loss = html_loss(row, pool);
			worst = row;
		}
	}
	return worst;
}

/* What a mode costs against the pool, in percent of throughput, over all RDMA tests. */
struct html_cost {
	double mean, least, most; /* geometric; the tests' own */
	double cpu;		  /* seconds more per GiB */
	unsigned n;
};

/* false: none were measured. */
static bool html_cost(const struct html_page *page, const char *mode, struct html_cost *cost)
{
	double sum = 0;

	*cost = (struct html_cost){.least = INFINITY, .most = -INFINITY};

	for (unsigned i = 0; i < page->count; i++) {
		const struct doc_row *row = &page->rows[i];
		const struct doc_row *pool;

		if (!html_sets(row, "mr", mode) || !html_is_rdma(row))
			continue;
		pool = html_sibling(page, row, "pool");
		if (!pool || !(row->kbps > 0 && pool->kbps > 0))
			continue;
		sum += log(row->kbps / pool->kbps);
		cost->cpu += row->cpu_per_gib - pool->cpu_per_gib;
		cost->least = fmin(cost->least, html_loss(row, pool));
		cost->most = fmax(cost->most, html_loss(row, pool));
		cost->n++;
	}
	if (!cost->n)
		return false;
	cost->mean = 100 * (1 - exp(sum / cost->n));
	cost->cpu /= cost->n;
	return true;
}

static void html_cost_card(const struct html_page *page, const char *mode, const char *title)
{
	const struct doc_row *worst = html_worst(page, mode), *pool;
	struct html_cost cost;
	const char *class = "good";
	char figure[64];

	if (!worst || !html_cost(page, mode, &cost))
		return;
	pool = html_sibling(page, worst, "pool");
	snprintf(figure, sizeof(figure), "%.0f %% %s", fabs(cost.mean),
		 cost.mean >= 0 ? "slower" : "faster");
	/* Tests that disagree about the sign have no colour; and where they gain by it on the
	 * whole, it is the machine that says so. */
	if (cost.mean > 3)
		class = cost.least > 0 ? "bad" : "";
	if (cost.mean < 0 && cost.most > 0) {
		class = "";
		snprintf(figure, sizeof(figure), "none that shows");
	}
	html_card(page, title, class, figure);
	fprintf(page->out, "<p>mr=%s against mr=pool, mean of %u tests over RDMA", mode, cost.n);
	if (cost.n > 1 && cost.least < 0)
		fprintf(page->out, ", which differ: from %.0f %% faster to %.0f %% slower",
			-cost.least, cost.most);
	fputs("; most at ", page->out);
	picture_text(page->out, worst->name);
	fprintf(page->out,
		": %.0f MB/s where the pool has %.0f.</p><p>CPU: %+.3f s per GiB.</p></div>\n",
		worst->kbps * 1.024e-3, pool->kbps * 1.024e-3, cost.cpu);
}

/* What each I/O does without the pool, and with it. */
static void html_saved_card(const struct html_page *page)
{
	static const char names[][2][24] = {{"registrations", "registrations"},
					    {"deregistrations", "deregistrations"},
					    {"iova_maps", "IOVA maps"},
					    {"iova_unmaps", "IOVA unmaps"},
					    {"pages_charged", "pages pinned"}};
	const struct doc_row *row = html_worst(page, "per-io"), *pool;
	double per_io, with_pool, sum = 0;
	char figure[64];

	if (!row)
		return;
	pool = html_sibling(page, row, "pool");
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(names); i++)
		sum += doc_per_io(pool->test, "ledger", names[i][0], &with_pool) ? with_pool : 0;
	if (sum > 0)
		snprintf(figure, sizeof(figure), "%.3g left per I/O", sum);
	else
		snprintf(figure, sizeof(figure), "all of it");
	html_card(page, "What the pool saves", sum > 0.01 ? "bad" : "good", figure);
	fputs("<p>Per I/O, per-io &rarr; pool:</p><p>", page->out);
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(names); i++) {
		per_io = with_pool = 0;
		doc_per_io(row->test, "ledger", names[i][0], &per_io);
		doc_per_io(pool->test, "ledger", names[i][0], &with_pool);
		fprintf(page->out, "%s%.3g &rarr; %.3g %s", i ? "<br>" : "", per_io, with_pool,
			names[i][1]);
	}
	fputs("</p></div>\n", page->out);
}

/* Without mr= in the sweep: the fastest case against the first. */
static void html_best_card(const struct html_page *page)
{
	const struct doc_row *best = NULL;
	char figure[64];

	for (unsigned i = 0; i < page->count; i++)
		if (page->rows[i].has_ratio && (!best || page->rows[i].ratio > best->ratio))
			best = &page->rows[i];
	if (!best)
		return;
	snprintf(figure, sizeof(figure), "%.2f times", best->ratio);
	html_card(page, "The largest difference", best->ratio >= 1 ? "good" : "bad", figure);
	fputs("<p>", page->out);
	picture_text(page->out, best->label);
	fputs(" against ", page->out);
	picture_text(page->out, page->rows[0].label);
	fputs(", ", page->out);
	picture_text(page->out, best->name);
	fprintf(page->out, ": %.0f MB/s", best->kbps * 1.024e-3);
	if (best->has_interval)
		fprintf(page->out, "; 95 %% confidence %.2f to %.2f", best->ratio_low,
			best->ratio_high);
	fputs(".</p></div>\n", page->out);
}

static void html_peak_card(const struct html_page *page)
{
	const struct doc_row *peak = &page->rows[0];
	char figure[64];

	for (unsigned i = 1; i < page->count; i++)
		if (page->rows[i].kbps > peak->kbps)
			peak = &page->rows[i];
	snprintf(figure, sizeof(figure), "%.0f MB/s", peak->kbps * 1.024e-3);
	html_card(page, "Most throughput", "", figure);
	fprintf(page->out, "<p>%u ", peak->children);
	picture_text(page->out, peak->name);
	if (peak->label[0]) {
		fputs(", ", page->out);
		picture_text(page->out, peak->label);
	}
	fprintf(page->out, ".</p><p>CPU: %.3f s per GiB; p50 %.0f us, p99 %.0f us.</p></div>\n",
		peak->cpu_per_gib, peak->p50, peak->p99);
}

static void html_glance(const struct html_page *page)
{
	fputs("<div class=\"cards\">\n", page->out);
	html_cost_card(page, "per-io", "What registering for each I/O costs");
	html_saved_card(page);
	html_cost_card(page, "window", "What a window per I/O costs");
	if (!html_worst(page, "per-io"))
		html_best_card(page);
	html_peak_card(page);
	fputs("</div>\n", page->out);
}

/* ---- pictures and tables ----------------------------------------------------------------------
 */

static void html_throughput(const struct doc_row *row, struct picture_value *v)
{
	v->value = row->kbps * 1.024e-3;
	v->low = row->low_kbps * 1.024e-3;
	v->high = row->high_kbps * 1.024e-3;
	if (row->has_ratio)
		snprintf(v->text, sizeof(v->text), "%.0f MB/s   x %.2f", v->value, row->ratio);
	else
		snprintf(v->text, sizeof(v->text), "%.0f MB/s", v->value);
}

static void html_cpu(const struct doc_row *row, struct picture_value *v)
{
	v->value = v->low = v->high = row->cpu_per_gib;
	snprintf(v->text, sizeof(v->text), "%.3f s/GiB", v->value);
}

static void html_pictures(const struct html_page *page)
{
	fputs("<h2>Throughput</h2><p class=\"mute\">Median of the rounds; the whisker goes from "
	      "the "
	      "least to the most. x is the ratio to the first case, taken within rounds.</p>\n",
	      page->out);
	picture_bars(page->out, page->rows, page->count, page->styles, html_throughput,
		     "throughput", "MB/s");
	fputs("<h2>CPU time of the client</h2><p class=\"mute\">User and system, per GiB moved. "
	      "Less "
	      "is better.</p>\n",
	      page->out);
	picture_bars(page->out, page->rows, page->count, page->styles, html_cpu, "CPU per GiB",
		     "s/GiB");
	fputs("<h2>Latency of one operation</h2><p class=\"mute\">The bar goes from p50 to p99, "
	      "the "
	      "line on to the maximum.</p>\n",
	      page->out);
	picture_latency(page->out, page->rows, page->count, page->styles);
}

static void html_per_io(FILE *out, const struct doc_row *row, const char *group, const char *name)
{
	double value;

	if (doc_per_io(row->test, group, name, &value))
		fprintf(out, "<td>%.3g</td>", value);
	else
		fputs("<td>-</td>", out);
}

static void html_row(const struct html_page *page, const struct doc_row *row)
{
	FILE *out = page->out;

	fputs("<tr><td class=\"case\">", out);
	picture_text(out, row->label[0] ? row->label : "this run");
	fputs("</td><td class=\"rate\" data-test=\"", out);
	picture_text(out, row->name);
	fprintf(out, "\" data-kbps=\"%.2f\">%.1f</td><td>%.1f .. %.1f</td>", row->kbps,
		row->kbps * 1.024e-3, row->low_kbps * 1.024e-3, row->high_kbps * 1.024e-3);
	if (!row->has_ratio)
		fputs("<td>1</td>", out);
	else if (row->has_interval)
		fprintf(out, "<td>%.3f [%.3f .. %.3f]</td>", row->ratio, row->ratio_low,
			row->ratio_high);
	else
		fprintf(out, "<td>%.3f</td>", row->ratio);
	fprintf(out, "<td>%.3f</td><td>%.0f</td><td>%.0f</td>", row->cpu_per_gib, row->p50,
		row->p99);
	html_per_io(out, row, "ledger", "registrations");
	html_per_io(out, row, "ledger", "iova_maps");
	html_per_io(out, row, "ledger", "pages_charged");
	html_per_io(out, row, "ledger", "windows_bound");
	html_per_io(out, row, "transport", "doorbells");
	html_per_io(out, row, "ledger", "iotlb_lookups");
	html_per_io(out, row, "ledger", "iotlb_misses");
	html_per_io(out, row, "ledger", "iommu_flushes");
	fputs("</tr>\n", out);
}

static void html_tables(const struct html_page *page)
{
	fputs("<h2>Figures</h2><div class=\"wide\"><table "
	      "id=\"figures\">\n<tr><th>case</th><th>MB/s"
	      "</th><th>least .. most</th><th>ratio [95 %]</th><th>CPU s/GiB</th><th>p50 us</th>"
	      "<th>p99 us</th><th>reg.</th><th>maps</th><th>pins</th>"
	      "<th>binds</th><th>bells</th><th>IOTLB</th><th>misses</th><th>flushes</th></tr>\n",
	      page->out);
	for (unsigned i = 0; i < page->count; i++) {
		bool leads = true;

		for (unsigned k = 0; k < i && leads; k++)
			leads = !doc_row_same_test(&page->rows[k], &page->rows[i]);
		if (!leads)
			continue;
		fprintf(page->out, "<tr class=\"t\"><td colspan=\"15\">%u ",
			page->rows[i].children);
		picture_text(page->out, page->rows[i].name);
		fprintf(page->out, ", files of %.0f kB, records of %.0f kB</td></tr>\n",
			page->rows[i].file_kb, page->rows[i].record_kb);
		for (unsigned k = i; k < page->count; k++)
			if (doc_row_same_test(&page->rows[k], &page->rows[i]))
				html_row(page, &page->rows[k]);
	}
	fputs("</table></div><p class=\"mute\">The last eight columns are counts per I/O, from the "
	      "library's own ledger: memory registrations, IOVA maps, pages pinned, windows bound, "
	      "doorbells, and of the software IOMMU (-o iommu=) look-ups in its IOTLB, misses, and "
	      "flushes that were waited for. Cases that are called modelled had their flushes "
	      "prolonged (iommu-inval-ns): they are no measurements. Where fabric is iwarp or "
	      "proto is tcp, the network card's "
	      "driver still maps each packet: only an RDMA card is spared that.</p>\n",
	      page->out);
}

static void html_where(const struct html_page *page)
{
	static const char names[][2][16] = {
		{"host", "host"},    {"kernel", "kernel"}, {"cpu", "CPU"}, {"client", "client"},
		{"where", "server"}, {"iommu", "IOMMU"},   {"thp", "THP"},
	};
	const json_t *env = json_object_get(page->doc, "env");
	const json_t *args = json_object_get(page->doc, "args");

	fputs("<h2>Where and how</h2><dl>\n", page->out);
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(names); i++) {
		fprintf(page->out, "<dt>%s</dt><dd>", names[i][1]);
		picture_text(page->out, html_string(env, names[i][0]));
		fputs("</dd>\n", page->out);
	}
	fputs("<dt>command</dt><dd><code>nfsrdma-bench", page->out);
	for (size_t i = 0; i < json_array_size(args); i++) {
		const char *arg = json_string_value(json_array_get(args, i));

		fputc(' ', page->out);
		picture_text(page->out, arg ? arg : "");
	}
	fputs("</code></dd></dl>\n", page->out);
}

/* "</script>" must not stand in it; JSON may escape any character. */
static int html_data(const struct html_page *page)
{
	char *text = json_dumps(page->doc, JSON_COMPACT | JSON_REAL_PRECISION(9));

	if (!text)
		return -ENOMEM;
	fputs("<script type=\"application/json\" id=\"document\">", page->out);
	for (const char *p = text; *p; p++) {
		if (p[0] == '<')
			fputs("\\u003c", page->out);
		else
			fputc(*p, page->out);
	}
	fputs("</script>\n", page->out);
	free(text);
	return 0;
}

static int html_page(const struct html_page *page)
{
	int ret;

	html_style(page->out);
	fputs("<h1>nfsrdma-bench</h1><p class=\"mute\">", page->out);
	picture_text(page->out, html_string(json_object_get(page->doc, "env"), "host"));
	fprintf(page->out, ", %.0f round%s", doc_number(page->doc, "rounds"),
		doc_number(page->doc, "rounds") > 1 ? "s, cases taken in turns" : "");
	fputs("</p>\n", page->out);
	if (json_is_false(json_object_get(page->doc, "complete"))) {
		fputs("<p class=\"bad\">Incomplete: ", page->out);
		picture_text(page->out, html_string(page->doc, "error"));
		fputs("</p>\n", page->out);
	}
	if (page->count) {
		html_glance(page);
		html_pictures(page);
		html_tables(page);
	}
	html_where(page);
	ret = html_data(page);
	fputs("</body></html>\n", page->out);
	return ret;
}

int report_html_write(const json_t *doc, FILE *out)
{
	struct html_page page = {.out = out, .doc = doc};
	int ret = doc_rows(doc, &page.rows, &page.count);

	if (ret)
		return ret;
	page.styles = calloc(page.count + 1, sizeof(*page.styles));
	ret = -ENOMEM;
	if (page.styles) {
		picture_styles(page.rows, page.count, page.styles);
		ret = html_page(&page);
	}
	free(page.styles);
	free(page.rows);
	return ret;
}
