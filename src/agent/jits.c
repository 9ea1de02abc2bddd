/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/jits.h"

#include <errno.h>
#include <stdbool.h>

#include "agent/procs.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "symbol/jitdump.h"
#include "symbol/perfmap.h"

struct process_jit {
	uint32_t pid;
	struct perfmap *map;  /* NULL: it has none */
	struct jitdump *dump; /* NULL: it has none */
};

struct jits {
	struct procs *procs;
	struct {
		VEC(struct process_jit);
	} all;
	struct index by_pid; /* -> all */
};

struct pid_key {
	const struct jits *j;
	uint32_t pid;
};

int jits_new(struct jits **out, struct procs *procs)
{
	struct jits *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	j->procs = procs;
	*out = j;
	return 0;
}

void jits_free(struct jits *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->all.len; i++) {
		perfmap_free(j->all.data[i].map);
		jitdump_free(j->all.data[i].dump);
	}
	vec_fini(&j->all);
	index_fini(&j->by_pid);
	free(j);
}

static bool same_pid(const void *ctx, uint32_t id)
{
	const struct pid_key *k = ctx;

	return k->j->all.data[id].pid == k->pid;
}

static struct process_jit *jits_get(const struct jits *j, uint32_t pid)
{
	struct pid_key key = { j, pid };
	uint32_t id;

	return index_find(&j->by_pid, hash_u64(pid), same_pid, &key, &id) ? &j->all.data[id] : NULL;
}

void jits_note(struct jits *j, uint32_t pid)
{
	struct process_jit pj = { .pid = pid };
	const char *dump;

	if (jits_get(j, pid))
		return;
	dump = procs_jitdump(j->procs, pid);
	(void)perfmap_open(&pj.map, (pid_t)pid);
	if (dump)
		(void)jitdump_open(&pj.dump, (pid_t)pid, dump);
	if (vec_push(&j->all, pj) < 0) {
		perfmap_free(pj.map);
		jitdump_free(pj.dump);
		return;
	}
	(void)index_add(&j->by_pid, hash_u64(pid), (uint32_t)j->all.len - 1);
}

void jits_refresh(struct jits *j)
{
	for (size_t i = 0; i < j->all.len; i++) {
		if (j->all.data[i].map)
			(void)perfmap_refresh(j->all.data[i].map);
		if (j->all.data[i].dump)
			(void)jitdump_refresh(j->all.data[i].dump);
	}
}

int jits_find(struct jits *j, uint32_t pid, uint64_t addr, struct jits_function *out)
{
	struct process_jit *pj = jits_get(j, pid);
	struct jit_function fn;
	const char *file = "";
	uint32_t line = 0;

	/* a dump tells more: lines, and code that has moved */
	if (pj && pj->dump && jitdump_find(pj->dump, addr, &fn, &file, &line) == 0) {
		*out = (struct jits_function){ fn.name, file, line };
		return 0;
	}
	if (pj && pj->map && perfmap_find(pj->map, addr, &fn) == 0) {
		*out = (struct jits_function){ fn.name, "", 0 };
		return 0;
	}
	return -ENOENT;
}
