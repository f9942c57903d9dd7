/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include "mr/internal.h"

TestSuite(mr_class);

Test(mr_class, every_size_fits_and_wastes_at_most_a_quarter)
{
	for (size_t len = 1; len <= MR_CLASS_MAX; len++) {
		unsigned class = mr_class_of(len);
		size_t size = mr_class_size(class);

		cr_assert_lt(class, MR_CLASSES, "len %zu", len);
		cr_assert_geq(size, len);
		if (len > MR_CLASS_MIN)
			cr_assert_leq(4 * (size - len), size, "len %zu gets %zu", len, size);
		if (class)
			cr_assert_lt(mr_class_size(class - 1), len, "a smaller class holds %zu",
				     len);
	}
}

Test(mr_class, last_class_is_the_largest_size)
{
	cr_assert_eq(mr_class_of(MR_CLASS_MAX), MR_CLASSES - 1);
	cr_assert_eq(mr_class_size(MR_CLASSES - 1), MR_CLASS_MAX);
}

Test(mr_class, spans_are_whole_pages_without_a_tail)
{
	for (unsigned class = 0; class < MR_CLASSES; class ++) {
		size_t bytes = mr_class_size(class) * mr_class_span_cells(class);

		cr_assert_eq(bytes % MR_PAGE, 0, "class %u", class);
		cr_assert_leq(bytes, MR_CLASS_MAX, "class %u", class);
		cr_assert_geq(mr_class_magazine(class), 4);
	}
}
