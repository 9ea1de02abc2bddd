/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/context_keys.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "lang/context/process_context.h"
#include "lang/lang.h"
#include "proc/maps.h"
#include "profiler/record.h"

enum { PROGRAMS_MAX = 64, PAUSE_MAX_S = 64 };

struct entry {
	uint64_t start_ns;
	uint32_t pid; /* 0: the entry is unused */
	uint64_t due_ns, pause_ns, used_ns;
	struct process_context *context; /* owned; NULL: never searched */
};

struct context_keys {
	struct langs *langs;
	struct entry entries[PROGRAMS_MAX];
	struct context_set set; /* of the last record */
	uint64_t n_bad, n_dropped;
};

int context_keys_new(struct context_keys **out, struct langs *langs)
{
	struct context_keys *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->langs = langs;
	*out = k;
	return 0;
}

void context_keys_free(struct context_keys *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < PROGRAMS_MAX; i++)
		free(k->entries[i].context);
	free(k);
}

/* The entry of the program, or the least recently used one in its place. */
static struct entry *entry_of(struct context_keys *k, const struct lang_process *p)
{
	struct entry *oldest = &k->entries[0];

	for (size_t i = 0; i < PROGRAMS_MAX; i++) {
		struct entry *e = &k->entries[i];

		if (e->pid == p->pid && e->start_ns == p->start_ns)
			return e;
		if (e->used_ns < oldest->used_ns)
			oldest = e;
	}
	free(oldest->context);
	*oldest = (struct entry){ .pid = p->pid, .start_ns = p->start_ns };
	return oldest;
}

/*
 * Returns true if @path may be the mapping of a context: a memory file with its name or, with
 * CONFIG_ANON_VMA_NAME, anonymous or shared memory with its name in brackets.
 */
static bool is_context(const char *path)
{
	const char *name = strstr(path, ":OTEL_CTX"), *end = name ? name + strlen(":OTEL_CTX") : "";

	return name && (!strcmp(end, "") || !strcmp(end, "]"));
}

static int on_map(void *ctx, const struct proc_map *m)
{
	uint64_t *at = ctx;

	if (!is_context(m->path))
		return 0;
	*at = m->start;
	return 1;
}

/* Reads the names again; those that are known stay if that fails. */
static void search(struct context_keys *k, struct entry *e, const struct lang_process *p,
		   uint64_t now_ns)
{
	uint64_t at = 0;
	struct process_context *found;

	e->pause_ns = e->pause_ns ? 2 * e->pause_ns : CLOCK_SECOND_NS;
	if (e->pause_ns > PAUSE_MAX_S * (uint64_t)CLOCK_SECOND_NS)
		e->pause_ns = PAUSE_MAX_S * (uint64_t)CLOCK_SECOND_NS;
	e->due_ns = now_ns + e->pause_ns;
	if (proc_maps_read((int)p->pid, PROC_MAPS_ALL, on_map, &at, NULL) != 1)
		return;
	found = malloc(sizeof(*found));
	if (!found)
		return;
	langs_read_context(k->langs, p, at, found);
	if (found->result < 0) {
		free(found);
		return;
	}
	free(e->context);
	e->context = found;
}

/* True if each key of the context has a name. */
static bool are_named(const struct context *c, const struct context_names *names)
{
	const uint8_t *data = c->otel.attributes;
	size_t n = c->len - CONTEXT_OTEL_HEAD;

	for (size_t at = 0; n - at >= 2 && n - at - 2 >= data[at + 1]; at += 2U + data[at + 1])
		if (!names || data[at] >= names->n)
			return false;
	return true;
}

/* Returns the names for the context @c; NULL if they are unknown or the context needs none. */
static const struct context_names *names_of(struct context_keys *k, const struct lang_process *p,
					    const struct context *c, uint64_t now_ns)
{
	const struct context_names *names;
	struct entry *e;

	if (c->kind != CONTEXT_OTEL || c->len <= CONTEXT_OTEL_HEAD)
		return NULL;
	e = entry_of(k, p);
	e->used_ns = now_ns;
	names = e->context ? &e->context->names : NULL;
	if (!are_named(c, names) && now_ns >= e->due_ns)
		search(k, e, p, now_ns);
	return e->context ? &e->context->names : NULL;
}

struct sample_labels context_keys_labels(struct context_keys *k, const struct lang_process *p,
					 const struct record_header *h, size_t len, uint64_t now_ns)
{
	struct context c;
	int r = record_context(h, len, &c);

	k->n_bad += r < 0;
	if (r <= 0)
		return (struct sample_labels){ 0 };
	context_set_make(&c, names_of(k, p, &c, now_ns), &k->set);
	/* those that the BPF program dropped are counted there */
	k->n_dropped += k->set.n_dropped - c.n_dropped;
	return (struct sample_labels){ k->set.text, k->set.len };
}

void context_keys_stats(const struct context_keys *k, uint64_t *out_bad, uint64_t *out_dropped)
{
	*out_bad = k->n_bad;
	*out_dropped = k->n_dropped;
}
