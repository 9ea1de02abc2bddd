/* SPDX-License-Identifier: Apache-2.0 */
/* Pages are freed only all at once, so a pointer into one stays valid. */
#include "memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum {
	PAGE = 4096,
	SLOTS = 1 << 15, /* hash slots for pages, at most half of them used */
	SPOTS_MAX = 1 << 14,
	LIES_MAX = 3,
};

struct page {
	uint64_t at;
	uint8_t *data; /* NULL if the slot is free */
};

struct spot {
	uint8_t *at;
	uint64_t addr;
	size_t len; /* at least a word */
};

struct memory {
	pid_t pid;
	struct page pages[SLOTS];
	size_t n_pages;
	struct spot spots[SPOTS_MAX];
	size_t n_spots;
	bool noting;
	struct {
		uint8_t *at;
		uint64_t was;
	} lies[LIES_MAX];
	size_t n_lies;
};

int memory_new(struct memory **out, pid_t pid)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->pid = pid;
	return 0;
}

void memory_free(struct memory *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < SLOTS; i++)
		free(m->pages[i].data);
	free(m);
}

static uint8_t *copy_page(const struct memory *m, uint64_t at)
{
	uint8_t *data = malloc(PAGE);
	struct iovec local = { data, PAGE }, remote = { (void *)at, PAGE }; /* NOLINT */

	if (data && process_vm_readv(m->pid, &local, 1, &remote, 1, 0) != PAGE) {
		free(data);
		data = NULL;
	}
	return data;
}

static uint8_t *page_get(struct memory *m, uint64_t at)
{
	size_t i = (size_t)(at * 0x9e3779b97f4a7c15ULL >> 49) % SLOTS;

	for (; m->pages[i].data; i = (i + 1) % SLOTS)
		if (m->pages[i].at == at)
			return m->pages[i].data;
	if (m->n_pages == SLOTS / 2)
		return NULL;
	m->pages[i] = (struct page){ at, copy_page(m, at) };
	m->n_pages += m->pages[i].data != NULL;
	return m->pages[i].data;
}

int memory_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct memory *m = ctx;

	if (addr + len < addr)
		return -EFAULT;
	for (size_t i = 0; i < len;) {
		size_t off = (addr + i) % PAGE, n = PAGE - off < len - i ? PAGE - off : len - i;
		uint8_t *page = page_get(m, addr + i - off);

		if (!page)
			return -EFAULT;
		memcpy((uint8_t *)dst + i, page + off, n);
		if (m->noting)
			memory_note_words(m, page + off, addr + i, n);
		i += n;
	}
	return 0;
}

void memory_note(struct memory *m, bool on)
{
	m->noting = on;
}

void memory_note_words(struct memory *m, void *at, uint64_t addr, size_t len)
{
	if (len >= sizeof(uint64_t) && m->n_spots < SPOTS_MAX)
		m->spots[m->n_spots++] = (struct spot){ at, addr, len };
}

static const struct spot *any_spot(const struct memory *m, size_t *out_off)
{
	const struct spot *s = &m->spots[(size_t)random() % m->n_spots];

	*out_off = (size_t)random() % (s->len / 8) * 8;
	return s;
}

static uint64_t odd_word(const struct memory *m)
{
	static const uint64_t odd[] = {
		0, 1, 8, UINT64_MAX, INT64_MAX, 1ULL << 47, 4096, 1000000000
	};
	uint64_t rnd = (uint64_t)random();
	const struct spot *s;
	size_t off;

	switch (rnd % 4) {
	case 0:
		return odd[rnd / 4 % (sizeof(odd) / sizeof(odd[0]))];
	case 1:
		return rnd * 0x9e3779b97f4a7c15ULL;
	default: /* an address that is read too: makes cycles, and swaps objects */
		s = any_spot(m, &off);
		return s->addr + off - 8 * (rnd / 64 % 16);
	}
}

bool memory_lie(struct memory *m)
{
	size_t n = 1 + (size_t)random() % LIES_MAX, off;

	assert(!m->n_lies);
	if (!m->n_spots)
		return false;
	for (; m->n_lies < n; m->n_lies++) {
		uint64_t word = odd_word(m);
		const struct spot *s = any_spot(m, &off);

		m->lies[m->n_lies].at = s->at + off;
		memcpy(&m->lies[m->n_lies].was, s->at + off, sizeof(word));
		memcpy(s->at + off, &word, 1u << random() % 4);
	}
	return true;
}

void memory_restore(struct memory *m)
{
	while (m->n_lies) {
		m->n_lies--;
		memcpy(m->lies[m->n_lies].at, &m->lies[m->n_lies].was, sizeof(uint64_t));
	}
}
