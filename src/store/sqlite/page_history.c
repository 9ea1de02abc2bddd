/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/page_history.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/vec.h"

/* Histories are in a list, under list_lock. There are few open files. */
struct page_history {
	dev_t dev;
	ino_t ino;
	unsigned int users;
	struct page_history *next;
	pthread_mutex_t lock; /* guards what follows */
	struct {
		VEC(uint64_t);
	} sums; /* 0: not known */
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct page_history *list;

static struct page_history *history_new(const struct stat *st)
{
	struct page_history *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->dev = st->st_dev;
	h->ino = st->st_ino;
	h->next = list;
	pthread_mutex_init(&h->lock, NULL);
	list = h;
	return h;
}

int page_history_open(struct page_history **out, const char *path)
{
	struct page_history *h;
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	pthread_mutex_lock(&list_lock);
	h = list;
	while (h && (h->dev != st.st_dev || h->ino != st.st_ino))
		h = h->next;
	if (!h)
		h = history_new(&st);
	if (h)
		h->users++;
	pthread_mutex_unlock(&list_lock);
	*out = h;
	return h ? 0 : -ENOMEM;
}

void page_history_close(struct page_history *h)
{
	struct page_history **at = &list;

	if (!h)
		return;
	pthread_mutex_lock(&list_lock);
	if (--h->users) {
		h = NULL;
	} else {
		while (*at != h)
			at = &(*at)->next;
		*at = h->next;
	}
	pthread_mutex_unlock(&list_lock);
	if (!h)
		return;
	vec_fini(&h->sums);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

/* With the lock. NULL without memory. */
static uint64_t *sum_of(struct page_history *h, uint64_t number)
{
	if (number > SIZE_MAX / sizeof(uint64_t) || vec_reserve(&h->sums, number) < 0)
		return NULL;
	while (h->sums.len < number)
		h->sums.data[h->sums.len++] = 0;
	return &h->sums.data[number - 1];
}

static void put(struct page_history *h, uint64_t number, uint64_t sum)
{
	uint64_t *known;

	pthread_mutex_lock(&h->lock);
	known = sum_of(h, number);
	if (known)
		*known = sum;
	pthread_mutex_unlock(&h->lock);
}

bool page_history_is(struct page_history *h, uint64_t number, uint64_t sum)
{
	uint64_t *known;
	bool is_same;

	pthread_mutex_lock(&h->lock);
	known = sum_of(h, number);
	if (known && !*known)
		*known = sum;
	is_same = !known || *known == sum;
	pthread_mutex_unlock(&h->lock);
	return is_same;
}

void page_history_forget(struct page_history *h, uint64_t number)
{
	put(h, number, 0);
}

void page_history_set(struct page_history *h, uint64_t number, uint64_t sum)
{
	put(h, number, sum);
}

void page_history_truncate(struct page_history *h, uint64_t n_pages)
{
	pthread_mutex_lock(&h->lock);
	if (h->sums.len > n_pages)
		h->sums.len = n_pages;
	pthread_mutex_unlock(&h->lock);
}
