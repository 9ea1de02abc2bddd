/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/scrape_types.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"

const struct scrape_type_info scrape_types[SCRAPE_TYPE_MAX] = {
#define X(sym, option_, name_, path_, is_timed_, values_)                                          \
	[SCRAPE_##sym] = { option_, name_, path_, is_timed_, values_ },
#include "scrape/scrape_types.def"
#undef X
};

static int find(const char *word, size_t len)
{
	for (int i = 0; i < SCRAPE_TYPE_MAX; i++)
		if (strlen(scrape_types[i].option) == len &&
		    !memcmp(scrape_types[i].option, word, len))
			return i;
	return -1;
}

/* Sums of allocations and of contention would be twice as large. */
static int check_names(uint32_t bits, struct err *err)
{
	for (int i = 0; i < SCRAPE_TYPE_MAX; i++)
		for (int j = i + 1; j < SCRAPE_TYPE_MAX; j++)
			if (bits >> i & bits >> j & 1 &&
			    !strcmp(scrape_types[i].name, scrape_types[j].name))
				return err_set(err, -EINVAL,
					       "scrape-types: \"%s\" and \"%s\" have the same "
					       "values; use one of them",
					       scrape_types[i].option, scrape_types[j].option);
	return 0;
}

int scrape_types_parse(const char *list, uint32_t *out, struct err *err)
{
	uint32_t bits = 0;

	for (const char *p = list;; p++) {
		size_t len = strcspn(p, ",");
		int type = find(p, len);

		if (type < 0)
			return err_set(err, -EINVAL,
				       "scrape-types: unknown type \"%.*s\"; expected cpu, memory, "
				       "goroutine, mutex, block, godeltaprof_memory, "
				       "godeltaprof_mutex or godeltaprof_block",
				       (int)(len < 40 ? len : 40), p);
		bits |= 1u << type;
		p += len;
		if (!*p)
			break;
	}
	*out = bits;
	return check_names(bits, err);
}

int scrape_types_check(const char *list, struct err *err)
{
	uint32_t bits;

	return scrape_types_parse(list, &bits, err);
}
