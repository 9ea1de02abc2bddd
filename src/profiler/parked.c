/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/parked.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/stack_parts.h"

enum {
	REST_MAX = 96 << 10, /* bytes of stack above a copy */
	PIECE = 8 << 10,
	PROCESS_SHARE = 2, /* as divisor: a process has at most this part of the memory */
};

void parked_free(struct parked *p, struct parked_record *r)
{
	p->bytes -= r->bytes;
	free((void *)r->rest.data);
	outer_stack_free(r->outer);
	free(r->record);
	free(r);
}

void parked_fini(struct parked *p)
{
	for (size_t i = 0; i < p->records.len; i++)
		parked_free(p, p->records.data[i]);
	vec_fini(&p->records);
}

static bool has_room(const struct parked *p, uint32_t pid)
{
	size_t of_process = 0;

	if (p->bytes >= p->max_bytes)
		return false;
	for (size_t i = 0; i < p->records.len; i++)
		if (p->records.data[i]->record->head.pid == pid)
			of_process += p->records.data[i]->bytes;
	return of_process < p->max_bytes / PROCESS_SHARE;
}

/* Reads the stack above the copy piece by piece, up to its end. */
static void read_above(struct parked_record *r, uint64_t at, parked_read_fn read, void *ctx)
{
	uint8_t *data = malloc(REST_MAX), *fitting;
	size_t len = 0, n = PIECE - at % PIECE;

	while (data && len + n <= REST_MAX && read(ctx, at + len, data + len, n) == 0) {
		len += n;
		n = PIECE;
	}
	r->rest.is_cut = !data || len + n > REST_MAX;
	if (!len) {
		free(data);
		return;
	}
	fitting = realloc(data, len);
	r->rest.data = fitting ? fitting : data;
	r->rest.len = len;
}

/* Notes which words of the copy are unchanged, and copies the stack above it. */
static void read_rest(struct parked_record *r, parked_read_fn read, void *ctx)
{
	const struct raw_record *rec = r->record;
	size_t len = rec->head.stack_len;
	uint8_t *live = malloc(len ? len : 1);

	r->rest.is_cut = true;
	if (live && len && read && read(ctx, rec->stack_at, live, len) == 0) {
		unwind_rest_compare(&r->rest, rec->stack, live, len);
		read_above(r, rec->stack_at + len, read, ctx);
	}
	free(live);
}

struct parked_record *parked_new(struct parked *p, const struct raw_record *record, size_t len,
				 struct outer_stack **outer, parked_read_fn read, void *ctx)
{
	struct parked_record *r;

	if (!has_room(p, record->head.pid))
		return NULL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->record = malloc(len);
	if (!r->record) {
		free(r);
		return NULL;
	}
	memcpy(r->record, record, len);
	r->len = len;
	read_rest(r, read, ctx);
	r->outer = steal_ptr(outer);
	r->bytes = sizeof(*r) + len + r->rest.len + (r->outer ? r->outer->bytes : 0);
	p->bytes += r->bytes;
	p->n++;
	return r;
}

int parked_put(struct parked *p, struct parked_record *r)
{
	return vec_push(&p->records, r);
}

struct parked_record **parked_take_all(struct parked *p, size_t *out_n)
{
	struct parked_record **all = p->records.data;

	*out_n = p->records.len;
	memset(&p->records, 0, sizeof(p->records));
	return all;
}

uint64_t parked_since_ns(const struct parked *p)
{
	uint64_t since = UINT64_MAX;

	for (size_t i = 0; i < p->records.len; i++)
		if (p->records.data[i]->record->head.time_ns < since)
			since = p->records.data[i]->record->head.time_ns;
	return since;
}
