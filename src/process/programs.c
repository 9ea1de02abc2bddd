/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pid has a slot while a program of it is known; the index leads from the pid to the slot. Slots
 * are reused, so a new process does not move the others.
 */
#include "process/programs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "lang/lang.h"
#include "process/file_table.h"
#include "process/mapping_set.h"

#define KEEP_ENDED_NS 3000000000ULL

struct pid_key {
	const struct programs *p;
	uint32_t pid;
};

static bool same_pid(const void *ctx, uint32_t slot)
{
	const struct pid_key *k = ctx;

	return k->p->slots.data[slot]->info.pid == k->pid;
}

struct program *programs_get(const struct programs *p, uint32_t pid)
{
	struct pid_key key = { p, pid };
	uint32_t slot;

	return index_find(&p->by_pid, hash_u64(pid), same_pid, &key, &slot) ? p->slots.data[slot]
									    : NULL;
}

struct program *programs_at(struct programs *p, uint32_t pid, uint64_t time_ns)
{
	struct program *e = programs_get(p, pid);

	while (e && e->older && e->info.start_ns > time_ns)
		e = e->older;
	return e;
}

const struct program *programs_from(const struct programs *p, uint32_t pid, uint64_t start_ns,
				    bool any_program)
{
	const struct program *newest = programs_get(p, pid), *e = newest;

	while (e && e->info.start_ns != start_ns)
		e = e->older;
	if (!e || !any_program || !e->info.id.start_ns)
		return e;
	while (newest->info.id.start_ns != e->info.id.start_ns)
		newest = newest->older;
	return newest;
}

void programs_apply_events(struct programs *p)
{
	if (p->sync)
		p->sync(p->sync_ctx);
}

void programs_mark_dirty(struct programs *p, struct program *e)
{
	e->unmapped_is_final = false;
	if (e->dirty)
		return;
	e->dirty = vec_push(&p->dirty, e->info.pid) == 0;
}

void programs_mark_undecided(struct programs *p, struct program *e)
{
	if (p->selection.rules.select && !e->is_undecided)
		e->is_undecided = vec_push(&p->selection.undecided, e->info.pid) == 0;
}

void program_set_comm(struct program *e, const char *comm)
{
	memset(e->info.comm, 0, sizeof(e->info.comm));
	snprintf(e->info.comm, sizeof(e->info.comm), "%s", comm);
	e->is_named = true;
}

static void program_free(struct programs *p, struct program *e, uint64_t now_ns)
{
	mapping_set_unref(e->maps, p->tables, now_ns);
	free(e->jitdump);
	free(e->replaced);
	free(e);
}

void programs_fini(struct programs *p)
{
	struct program *older;

	for (size_t i = 0; i < p->slots.len; i++) {
		for (struct program *e = p->slots.data[i]; e; e = older) {
			older = e->older;
			program_free(p, e, 0);
		}
	}
	vec_fini(&p->slots);
	vec_fini(&p->free_slots);
	vec_fini(&p->dirty);
	index_fini(&p->by_pid);
	executables_fini(&p->executables);
	vec_fini(&p->selection.undecided);
}

/* Assigns a slot to a pid that has none. */
static int slot_add(struct programs *p, struct program *e)
{
	uint32_t slot;
	int r;

	if (p->free_slots.len) {
		slot = p->free_slots.data[--p->free_slots.len];
		p->slots.data[slot] = e;
	} else {
		slot = (uint32_t)p->slots.len;
		r = vec_push(&p->slots, e);
		if (r < 0)
			return r;
	}
	r = index_add(&p->by_pid, hash_u64(e->info.pid), slot);
	if (r < 0)
		p->slots.data[slot] = NULL;
	return r;
}

void programs_end(struct programs *p, struct program *e, uint64_t time_ns)
{
	if (e->info.end_ns)
		return;
	e->info.end_ns = time_ns;
	p->stats.n_running--;
}

struct program *programs_add(struct programs *p, uint32_t pid, uint64_t start_ns)
{
	struct program *e = calloc(1, sizeof(*e)), *old = programs_get(p, pid);
	struct pid_key key = { p, pid };
	uint32_t slot;

	if (!e)
		return NULL;
	e->info.pid = pid;
	e->info.start_ns = start_ns;
	e->selection = old ? old->selection : p->selection.rules.unknown;
	e->maps = mapping_set_new(&p->mappings);
	if (!e->maps) {
		free(e);
		return NULL;
	}
	if (old) {
		e->info.ppid = old->info.end_ns ? 0 : old->info.ppid; /* an exec keeps the parent */
		programs_end(p, old, start_ns);
		e->older = old;
		index_find(&p->by_pid, hash_u64(pid), same_pid, &key, &slot);
		p->slots.data[slot] = e;
	} else if (slot_add(p, e) < 0) {
		program_free(p, e, 0);
		return NULL;
	}
	p->stats.n_running++;
	programs_mark_undecided(p, e);
	return e;
}

struct program *programs_add_stale(struct programs *p, uint32_t pid, uint64_t start_ns)
{
	struct program *e = programs_add(p, pid, start_ns);

	if (!e)
		return NULL;
	e->is_stale = true;
	programs_mark_dirty(p, e);
	return e;
}

static void mark_mapping(struct programs *p, const struct unwind_mapping *m)
{
	if (m->kind == MAPPING_FILE)
		file_table_mark(p->files, m->file);
	else if (p->langs && (m->kind & 0xff) == MAPPING_LANG)
		langs_mark(p->langs, MAPPING_LANG_VM(m->file));
}

void programs_mark_files(struct programs *p)
{
	for (size_t i = 0; i < p->slots.len; i++) {
		for (const struct program *e = p->slots.data[i]; e; e = e->older) {
			file_table_mark(p->files, e->info.exe);
			for (uint32_t k = 0; k < mapping_set_count(e->maps); k++)
				mark_mapping(p, mapping_set_get(e->maps, k));
		}
	}
}

static void slot_free(struct programs *p, uint32_t pid)
{
	struct pid_key key = { p, pid };
	uint32_t slot;

	if (!index_find(&p->by_pid, hash_u64(pid), same_pid, &key, &slot))
		return;
	index_remove(&p->by_pid, hash_u64(pid), slot);
	p->slots.data[slot] = NULL;
	(void)vec_push(&p->free_slots, slot);
}

static bool ended_long_ago(const struct program *e, uint64_t now_ns)
{
	return e->info.end_ns && e->info.end_ns + KEEP_ENDED_NS < now_ns;
}

void programs_reap(struct programs *p, uint64_t now_ns)
{
	executables_reap(&p->executables, p->sampler, p->files);
	for (size_t i = 0; i < p->slots.len; i++) {
		struct program *e = p->slots.data[i], **link;

		if (!e)
			continue;
		link = &e->older;
		while (*link) {
			struct program *old = *link;

			if (ended_long_ago(old, now_ns)) {
				*link = old->older;
				program_free(p, old, now_ns);
			} else {
				link = &old->older;
			}
		}
		if (!e->older && ended_long_ago(e, now_ns)) {
			slot_free(p, e->info.pid);
			program_free(p, e, now_ns);
		}
	}
}
