/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stable.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/thread.h"
#include "tests/test.h"

enum { N = 300000, N_READERS = 2 };

/* The check is that the parts of an element fit together. */
struct element {
	uint32_t number;
	uint64_t square;
};

static struct element element_of(uint32_t i)
{
	return (struct element){ i, (uint64_t)i * i };
}

static bool is_whole(const struct stable *a, uint32_t i)
{
	const struct element *e = stable_at(a, i);

	return e->number == i && e->square == (uint64_t)i * i;
}

static void elements_do_not_move(void **state)
{
	const void *at[1000];
	struct stable a;

	stable_init(&a, sizeof(struct element));
	assert_int_equal(stable_len(&a), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		const struct element e = element_of(i);

		assert_int_equal(stable_push(&a, &e), 0);
		at[i] = stable_at(&a, i);
	}
	assert_int_equal(stable_len(&a), 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_ptr_equal(stable_at(&a, i), at[i]);
		assert_true(is_whole(&a, i));
	}
	stable_fini(&a);
	assert_int_equal(stable_len(&a), 0);
	assert_int_equal(stable_bytes(&a), 0);
}

static void memory_is_reserved_for_the_number_of_elements(void **state)
{
	static const size_t numbers[] = { 1, 63, 64, 65, 191, 192, 193, 100000 };
	struct stable a;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		stable_init(&a, 1);
		assert_int_equal(stable_reserve(&a, numbers[i]), 0);
		assert_in_range(stable_bytes(&a), numbers[i], 2 * numbers[i] + 64);
		stable_fini(&a);
	}
	stable_init(&a, SIZE_MAX / 100);
	assert_int_equal(stable_reserve(&a, 100), -ENOMEM);
	assert_int_equal(stable_reserve(&a, (size_t)UINT32_MAX + 1), -ENOMEM);
	assert_int_equal(stable_len(&a), 0);
	stable_fini(&a);
}

/* Reads everything that is in the array again and again while it grows. */
static void *read_all(void *arg)
{
	const struct stable *a = arg;
	uint32_t n;

	do {
		n = stable_len(a);
		for (uint32_t i = 0; i < n; i += 97)
			if (!is_whole(a, i))
				return arg;
		if (n && !is_whole(a, n - 1))
			return arg;
	} while (n < N);
	return NULL;
}

static void readers_see_whole_elements_while_the_array_grows(void **state)
{
	pthread_t readers[N_READERS];
	struct stable a;
	void *failed;

	stable_init(&a, sizeof(struct element));
	for (int i = 0; i < N_READERS; i++)
		assert_int_equal(thread_start(&readers[i], read_all, &a), 0);
	for (uint32_t i = 0; i < N; i++) {
		const struct element e = element_of(i);

		assert_int_equal(stable_push(&a, &e), 0);
	}
	for (int i = 0; i < N_READERS; i++) {
		pthread_join(readers[i], &failed);
		assert_null(failed);
	}
	stable_fini(&a);
}

TEST_GROUP(test_stable, TEST(elements_do_not_move),
	   TEST(memory_is_reserved_for_the_number_of_elements),
	   TEST(readers_see_whole_elements_while_the_array_grows))
