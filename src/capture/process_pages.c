/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages are single allocations, listed in the order of their first use. Each word is noted when it
 * is read, because the page alone does not show afterwards which of them the walk needed.
 */
#include "capture/process_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "proc/memory.h"

struct process_pages {
	int pid;
	struct {
		VEC(struct process_page *);
	} pages;
};

int process_pages_new(struct process_pages **out, int pid)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->pid = pid;
	return 0;
}

void process_pages_free(struct process_pages *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->pages.len; i++)
		free(p->pages.data[i]);
	vec_fini(&p->pages);
	free(p);
}

/* A walk reads a few dozen pages, mostly in sequence, so the last ones are tried first. */
static struct process_page *find_page(const struct process_pages *p, uint64_t at)
{
	for (size_t i = p->pages.len; i > 0; i--)
		if (p->pages.data[i - 1]->at == at)
			return p->pages.data[i - 1];
	return NULL;
}

static struct process_page *copy_page(struct process_pages *p, uint64_t at)
{
	struct process_page *page;

	if (p->pages.len == PROCESS_PAGES_MAX)
		return NULL;
	page = calloc(1, sizeof(*page));
	if (!page)
		return NULL;
	page->at = at;
	if (proc_memory_read((uint32_t)p->pid, at, page->data, sizeof(page->data)) < 0 ||
	    vec_push(&p->pages, page) < 0) {
		free(page);
		return NULL;
	}
	return page;
}

static void note_words(struct process_page *page, size_t off, size_t len)
{
	for (size_t word = off / 8; word <= (off + len - 1) / 8; word++)
		page->read[word / 64] |= 1ULL << word % 64;
}

int process_pages_read(void *pages, uint64_t addr, void *dst, size_t len)
{
	struct process_pages *p = pages;

	if (addr + len < addr)
		return -EFAULT;
	for (size_t i = 0; i < len;) {
		size_t off = (addr + i) % PROCESS_PAGE, left = PROCESS_PAGE - off;
		size_t n = left < len - i ? left : len - i;
		struct process_page *page = find_page(p, addr + i - off);

		if (!page)
			page = copy_page(p, addr + i - off);
		if (!page)
			return -EFAULT;
		memcpy((uint8_t *)dst + i, page->data + off, n);
		note_words(page, off, n);
		i += n;
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct process_page *const *x = a, *const *y = b;

	return (*x)->at < (*y)->at ? -1 : (*x)->at > (*y)->at;
}

static void scrub_page(struct process_page *page)
{
	for (size_t word = 0; word < PROCESS_PAGE_WORDS; word++)
		if (!(page->read[word / 64] >> word % 64 & 1))
			memset(page->data + word * 8, 0, 8);
}

void process_pages_scrub(struct process_pages *p)
{
	if (p->pages.len)
		qsort(p->pages.data, p->pages.len, sizeof(*p->pages.data), by_address);
	for (size_t i = 0; i < p->pages.len; i++)
		scrub_page(p->pages.data[i]);
}

size_t process_pages_count(const struct process_pages *p)
{
	return p->pages.len;
}

const struct process_page *process_pages_at(const struct process_pages *p, size_t i)
{
	return p->pages.data[i];
}
