/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/scrape_kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void remove_at(struct scrape_kept *k, size_t i)
{
	k->bytes -= k->data[i].body.cap;
	free(k->data[i].url);
	buf_fini(&k->data[i].body);
	k->data[i] = k->data[--k->len];
}

void scrape_kept_fini(struct scrape_kept *k)
{
	while (k->len)
		remove_at(k, k->len - 1);
	vec_fini(k);
}

static size_t index_of(const struct scrape_kept *k, const char *url)
{
	size_t i = 0;

	while (i < k->len && strcmp(k->data[i].url, url) != 0)
		i++;
	return i;
}

const struct scrape_body *scrape_kept_find(const struct scrape_kept *k, const char *url)
{
	size_t i = index_of(k, url);

	return i < k->len ? &k->data[i] : NULL;
}

void scrape_kept_use(struct scrape_kept *k, const char *url, uint64_t round)
{
	size_t i = index_of(k, url);

	if (i < k->len)
		k->data[i].round = round;
}

int scrape_kept_put(struct scrape_kept *k, const char *url, struct buf *body, int64_t arrived_ns,
		    uint64_t round)
{
	struct scrape_body new = { .body = *body, .arrived_ns = arrived_ns, .round = round };
	size_t i = index_of(k, url);
	int r;

	*body = (struct buf){ 0 };
	if (i < k->len)
		remove_at(k, i);
	new.url = strdup(url);
	r = new.url ? vec_push(k, new) : -ENOMEM;
	if (r == 0) {
		k->bytes += new.body.cap;
		return 0;
	}
	free(new.url);
	buf_fini(&new.body);
	return r;
}

void scrape_kept_forget(struct scrape_kept *k, uint64_t round)
{
	for (size_t i = k->len; i-- > 0;)
		if (k->data[i].round < round)
			remove_at(k, i);
}
