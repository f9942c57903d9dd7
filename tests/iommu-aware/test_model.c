/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_model.c - the queueing model against closed forms, and the honesty of its fit.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iommu-aware/model.h"
#include "util/util.h"

static bool near(double a, double b)
{
	double d = a - b;

	return d < 1e-9 * b && d > -1e-9 * b;
}

static struct iommu_model_figures published(void)
{
	struct iommu_model_figures figures;

	cr_assert_eq(iommu_model_figures_parse(&figures, iommu_model_cx3_csv,
					       strlen(iommu_model_cx3_csv), NULL),
		     0);
	return figures;
}

Test(iommu_model, one_station_is_busy_all_the_time)
{
	const double demand[] = {7, 0};

	for (unsigned n = 1; n < 50; n++)
		cr_expect(near(iommu_model_mva(demand, 0, n), 1.0 / 7));
}

Test(iommu_model, a_balanced_network_has_its_closed_form)
{
	const double demand[] = {5, 5};

	for (unsigned n = 1; n < 50; n++)
		cr_expect(near(iommu_model_mva(demand, 0, n), n / (5.0 * (n + 1))));
}

Test(iommu_model, two_stations_have_their_closed_form)
{
	const double demand[] = {4, 6};
	double r = 4.0 / 6, power = 1; /* (1 - r^n) / (1 - r^(n+1)) / 6 */

	for (unsigned n = 1; n < 30; n++) {
		power *= r;
		cr_expect(near(iommu_model_mva(demand, 0, n), (1 - power) / (1 - power * r) / 6));
	}
}

Test(iommu_model, delay_alone_scales_with_threads)
{
	const double demand[] = {0, 0};

	cr_expect(near(iommu_model_mva(demand, 20, 8), 8.0 / 20));
}

Test(iommu_model, never_exceeds_its_bound_and_grows_with_threads)
{
	const char *by;

	srand(1);
	for (unsigned i = 0; i < 500; i++) {
		struct iommu_model_load load = {1, rand() % 500, 1 + rand() % 90, rand() % 90};
		double before = 0;

		for (load.threads = 1; load.threads < 40; load.threads++) {
			double rate = iommu_model_rate(&load, 4096);

			cr_assert(rate >= before * (1 - 1e-12));
			cr_assert(rate <= iommu_model_bound(&load, 4096, &by) * (1 + 1e-12));
			before = rate;
		}
		load.threads--;
		load.maps_us += 1;
		cr_assert(iommu_model_rate(&load, 4096) < before * (1 + 1e-12));
	}
}

Test(iommu_model, maps_cost_nothing_but_per_io_behind_translation)
{
	const struct iommu_model_costs costs = {1, 0.5, 2, 0, 0};

	for (unsigned policy = 0; policy < IOMMU_MODEL_POLICIES; policy++)
		for (unsigned mode = 0; mode < IOMMU_MODEL_MODES; mode++)
			cr_expect_eq(iommu_model_maps_us(&costs, 262144, policy, mode) > 0,
				     mode == IOMMU_MODEL_PER_IO && policy >= IOMMU_MODEL_LAZY);
	/* 30 + 30 + 4 pages, three invalidations */
	cr_expect(near(iommu_model_maps_us(&costs, 262144, IOMMU_MODEL_STRICT, IOMMU_MODEL_PER_IO),
		       3 * 1 + 64 * 0.5 + 3 * 2));
}

/* 3 us and half a us a page: 35 us for 64 pages, 103 for 200 of them. */
Test(iommu_model, registering_is_counted_once_per_io_and_not_at_all_in_a_pool)
{
	const struct iommu_model_costs costs = {.register_call_us = 3, .register_page_us = 0.5};
	double us = iommu_model_register_us(&costs, 262144);
	struct iommu_model_span pool, per_io;

	cr_assert(near(us, 35));
	iommu_model_delay(&pool, 331, us, 262144, IOMMU_MODEL_POOL);
	iommu_model_delay(&per_io, 331, us, 262144, IOMMU_MODEL_PER_IO);
	cr_expect(near(pool.value, 296) && near(pool.low, 296) && near(pool.high, 331));
	cr_expect(near(per_io.value, 331) && near(per_io.low, 331) && near(per_io.high, 366));
	/* more than the CPU's 40 us cannot have been in the fitted delay */
	iommu_model_delay(&pool, 331, 103, 262144, IOMMU_MODEL_WINDOW);
	iommu_model_delay(&per_io, 331, 103, 262144, IOMMU_MODEL_PER_IO);
	cr_expect(near(pool.value, 291) && near(per_io.value, 394));
	/* a quarter of the record: a quarter of the delay, or all of it */
	iommu_model_delay(&pool, 400, 11, 65536, IOMMU_MODEL_POOL);
	cr_expect(near(pool.value, 89) && near(pool.low, 89) && near(pool.high, 400));
	/* never below the CPU's share before registering is taken off */
	iommu_model_delay(&pool, 400, 0, 4096, IOMMU_MODEL_POOL);
	cr_expect(near(pool.value, 40));
}

Test(iommu_model, published_cases_are_parsed_and_told_per_operation)
{
	struct iommu_model_cases cases;
	struct iommu_model_figure f = {.unit = "IOPS", .value = 50000};

	cr_assert_eq(iommu_model_cases_parse(&cases, iommu_model_cases_csv,
					     strlen(iommu_model_cases_csv), NULL),
		     0);
	cr_expect_eq(cases.figures, 15);
	cr_expect_str_eq(cases.figure[8].variant,
			 "iommu=on, per-cpu IOVA cache V2 (flush lock still shared)");
	cr_assert_eq(iommu_model_cases_parse(&cases, iommu_model_mend_csv,
					     strlen(iommu_model_mend_csv), NULL),
		     0);
	cr_expect_eq(cases.figures, 4);
	cr_expect(near(iommu_model_figure_us(&f), 20));
	strcpy(f.unit, "Mbit/s"); /* 4 KiB are 32768 bits */
	f.value = 32768;
	cr_expect(near(iommu_model_figure_us(&f), 1));
	strcpy(f.unit, "MiB/s");
	f.value = 256;
	cr_expect(near(iommu_model_figure_us(&f), 1e6 / 65536));
	strcpy(f.unit, "%");
	cr_expect_eq(iommu_model_figure_us(&f), 0);
}

#define CASES_HEAD "source,setup,variant,metric,value,unit\n"
Test(iommu_model, broken_cases_name_their_line)
{
	static const char *const broken[] = {
		"a,b,c,d,1\n",	      "a,b,c,d,1,e,f\n",     "a,\"b,c,d,1,e\n",
		"a,\"b\"c,d,e,1,f\n", "a,b,c,d,-1,e\n",	     "a,b,c,d,,e\n",
		",b,c,d,1,e\n",	      "a,b,\033[1m,d,1,e\n", "a,b,c,d,1,12345678\n",
	};
	struct iommu_model_cases cases;
	char text[200];

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(broken); i++) {
		struct util_err err = {0};

		snprintf(text, sizeof(text), CASES_HEAD "\n%s", broken[i]);
		cr_expect_eq(iommu_model_cases_parse(&cases, text, strlen(text), &err), -EINVAL,
			     "%s", broken[i]);
		cr_expect_eq(strncmp(err.what, "line 3", 6), 0, "%s", err.what);
	}
	cr_expect_eq(iommu_model_cases_parse(&cases, "", 0, NULL), -EINVAL);
	cr_expect_eq(iommu_model_cases_parse(&cases, CASES_HEAD "a,\"b,c\",d,e,1,f", 54, NULL), 0);
	cr_expect_str_eq(cases.figure[0].setup, "b,c");
}

Test(iommu_model, fit_recovers_what_made_the_figures)
{
	struct iommu_model_figures figures = published();
	struct iommu_model_fit truth = {{{300, 0, 0, 0}, {450, 0, 0, 0}, {0.7, 0, 0, 0}}}, fit;

	for (unsigned i = 0; i < figures.rows; i++) {
		struct iommu_model_row *row = &figures.row[i];
		struct iommu_model_load load;

		iommu_model_fit_load(&truth, row->write, row->page_by_page, &load);
		row->published_kBps = iommu_model_rate(&load, IOMMU_MODEL_RECORD);
	}
	cr_assert_eq(iommu_model_fit(&fit, &figures, NULL), 0);
	for (unsigned i = 0; i < IOMMU_MODEL_PARAMETERS; i++)
		cr_expect(near(fit.parameter[i].value, truth.parameter[i].value));
}

Test(iommu_model, excluded_and_held_out_rows_do_not_move_the_fit)
{
	struct iommu_model_figures figures = published(), other = figures;
	struct iommu_model_fit fit, again;
	unsigned changed = 0;

	for (unsigned i = 0; i < other.rows; i++)
		if (other.row[i].role != IOMMU_MODEL_FITTED) {
			other.row[i].published_kBps *= 0.1;
			changed++;
		}
	cr_assert_eq(changed, 6);
	cr_assert_eq(iommu_model_fit(&fit, &figures, NULL), 0);
	cr_assert_eq(iommu_model_fit(&again, &other, NULL), 0);
	cr_expect_eq(memcmp(&fit, &again, sizeof(fit)), 0);
}

Test(iommu_model, a_cell_is_held_out_with_both_of_its_rows)
{
	struct iommu_model_figures figures = published();

	for (unsigned i = 0; i < figures.rows; i++)
		for (unsigned j = 0; j < figures.rows; j++)
			if (!strcmp(figures.row[i].kernel, figures.row[j].kernel) &&
			    figures.row[i].write == figures.row[j].write)
				cr_expect_eq(figures.row[i].role, figures.row[j].role);
}

Test(iommu_model, rows_are_met_within_five_percent_by_at_most_four_parameters)
{
	struct iommu_model_figures figures = published();
	unsigned role[IOMMU_MODEL_ROLES] = {0};
	struct iommu_model_fit fit;

	cr_assert_leq(IOMMU_MODEL_PARAMETERS, 4);
	cr_assert_eq(iommu_model_fit(&fit, &figures, NULL), 0);
	for (unsigned i = 0; i < figures.rows; i++) {
		role[figures.row[i].role]++;
		if (figures.row[i].role != IOMMU_MODEL_EXCLUDED)
			cr_expect(figures.row[i].error_pct < 5 && figures.row[i].error_pct > -5);
	}
	cr_expect(role[IOMMU_MODEL_FITTED] == 6 && role[IOMMU_MODEL_HELD_OUT] == 2 &&
		  role[IOMMU_MODEL_EXCLUDED] == 4);
}

Test(iommu_model, impossible_figures_are_refused)
{
	struct iommu_model_figures figures = published();
	struct iommu_model_fit fit;
	struct util_err err = {0};

	figures.row[2].published_kBps = figures.row[3].published_kBps = 9e6; /* above the link */
	cr_expect_eq(iommu_model_fit(&fit, &figures, &err), -ERANGE);
	figures.rows = 1;
	cr_expect_eq(iommu_model_fit(&fit, &figures, &err), -EINVAL);
}

Test(iommu_model, broken_tables_name_their_line)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "line 1"},
		{"kernel,test\n", "line 1"},
		{"kernel_commit,test,children_kBps\nx,readers,1\n", "line 2: a kernel"},
		{"kernel_commit,test,children_kBps\n65f746e8285f,reader,1\n", "line 2: a test"},
		{"kernel_commit,test,children_kBps\n\n65f746e8285f,readers,-1\n", "line 3: child"},
		{"kernel_commit,test,children_kBps\n65f746e8285f,readers,nan\n", "line 2: child"},
		{"kernel_commit,test,children_kBps\n65f746e8285f,readers,1.2.3\n", "line 2: child"},
		{"kernel_commit,test,children_kBps\n65f746e8285f,readers", "line 2: child"},
		{"kernel_commit,test,children_kBps\n65f746e8285f,readers,\n", "line 2: child"},
		{"kernel_commit,test,children_kBps\n65f746e8285f,readers,1e9\n", "line 2: child"},
	};
	struct iommu_model_figures figures;

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		struct util_err err = {0};

		cr_expect_eq(iommu_model_figures_parse(&figures, cases[i].text,
						       strlen(cases[i].text), &err),
			     -EINVAL, "case %zu", i);
		cr_expect_eq(strncmp(err.what, cases[i].says, strlen(cases[i].says)), 0, "%s",
			     err.what);
	}
}

/* Any bytes: refused or rows that make sense, read within their bounds (the copy has no NUL
 * behind). */
Test(iommu_model, tables_of_any_bytes_are_parsed_or_refused)
{
	size_t len = strlen(iommu_model_cx3_csv);

	srand(2);
	for (unsigned i = 0; i < 20000; i++) {
		size_t cut = i % 3 ? len : (size_t)rand() % (len + 1);
		struct iommu_model_figures figures;
		char *text = malloc(cut ? cut : 1);

		cr_assert_not_null(text);
		memcpy(text, iommu_model_cx3_csv, cut);
		for (unsigned j = 0; cut && j < i % 5; j++)
			text[(size_t)rand() % cut] = (char)rand();
		if (iommu_model_figures_parse(&figures, text, cut, NULL) == 0)
			for (unsigned j = 0; j < figures.rows; j++)
				cr_assert(figures.row[j].published_kBps > 0 &&
					  figures.row[j].published_kBps < 1e12);
		cr_assert_leq(figures.rows, IOMMU_MODEL_MAX_ROWS);
		free(text);
	}
}
