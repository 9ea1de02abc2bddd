/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same detection as in a recording runs on each file. A runtime that generates code is also
 * queried for that code, because only this shows whether its structures are known.
 */
#include "cli/doctor_runtimes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "cli/text.h"
#include "lang/lang.h"
#include "lang/runtime.h"
#include "lang/vm_memory.h"
#include "proc/maps.h"
#include "proc/root.h"
#include "process/mapped_file.h"
#include "reader/lang_client.h"
#include "reader/reader.h"
#include "roles/pool.h"

enum { FILES_MAX = 4096, READER_BYTES = 32 << 20, TIMEOUT_MS = 3000 };

struct inode {
	uint32_t dev_major, dev_minor;
	uint64_t number;
};

struct search {
	struct doctor_runtimes *out;
	uint32_t pid;
	struct mapped_file_context context;
	struct {
		VEC(struct inode);
	} seen;
};

/* Returns true if the mapping's file was examined before, and remembers it. */
static bool was_seen(struct search *s, const struct proc_map *m)
{
	for (size_t i = 0; i < s->seen.len; i++) {
		const struct inode *f = &s->seen.data[i];

		if (f->number == m->inode && f->dev_major == m->dev_major &&
		    f->dev_minor == m->dev_minor)
			return true;
	}
	return s->seen.len >= FILES_MAX ||
	       vec_push(&s->seen, (struct inode){ m->dev_major, m->dev_minor, m->inode }) < 0;
}

/* Returns -EAGAIN if the runtime has not started yet; a failure is noted in langs_runtimes(). */
static int attach(const struct search *s, const struct lang_file *file, const struct proc_map *m)
{
	const struct lang_process process = { .pid = s->pid };
	struct unwind_mapping regions[LANG_REGIONS_MAX];

	if (!file->vm || !file->attaches || file->loop_off < m->file_off ||
	    file->loop_off - m->file_off >= m->end - m->start)
		return 0;
	return langs_attach(s->context.langs, file,
			    m->start + file->loop_off - m->file_off - file->loop_vaddr, &process,
			    regions);
}

static void add(struct search *s, const struct lang_runtime *r, const char *path, int attached)
{
	const char *problem = atomic_load(&r->problem);
	_cleanup_(buf_fini) struct buf safe = { 0 };
	struct doctor_check *c;
	char *name;

	if (s->out->n == DOCTOR_RUNTIMES_MAX)
		return;
	c = &s->out->all[s->out->n].check;
	name = s->out->all[s->out->n].name;
	s->out->n++;
	text_put_safe(&safe, path);
	buf_put_byte(&safe, '\0');
	path = buf_error(&safe) ? "" : (const char *)safe.data;
	snprintf(name, sizeof(s->out->all[0].name), "%s%s%s", r->name, r->version[0] ? " " : "",
		 r->version);
	c->status = problem ? DOCTOR_DEGRADED : DOCTOR_OK;
	if (problem)
		snprintf(c->text, sizeof(c->text), "not supported (%s): %s; %.100s", problem,
			 r->effect, path);
	else
		snprintf(c->text, sizeof(c->text), "supported%s: %.180s",
			 attached == -EAGAIN ? " (it is still starting)" : "", path);
}

static int examine(void *ctx, const struct proc_map *m)
{
	struct search *s = ctx;
	const struct file_ref ref = file_ref_of(s->pid, m);
	struct mapped_file *file;
	const struct lang_file *lang;
	int r;

	if (!m->inode || was_seen(s, m))
		return 0;
	file = mapped_file_open(&s->context, &ref);
	if (!file)
		return -ENOMEM;
	mapped_file_detect(&s->context, file);
	lang = &file->info.lang;
	r = attach(s, lang, m);
	if (lang->runtime)
		add(s, &langs_runtimes(s->context.langs)->all[lang->runtime - 1], m->path, r);
	mapped_file_free(file);
	return 0;
}

/* Creates a registry whose requests a reader process handles. */
static int open_langs(struct langs **out, struct lang_client **out_client,
		      const struct vm_tables *tables)
{
	const struct lang_client_opts opts = {
		.reader_bytes = READER_BYTES,
		.timeout_ms = TIMEOUT_MS,
		.detect_ms = TIMEOUT_MS,
	};
	struct lang_source source;
	int r = lang_client_new(out_client, &opts, NULL);

	if (r == 0)
		r = langs_new(out, tables, false);
	if (r < 0)
		return r;
	lang_client_source(*out_client, &source);
	langs_set_source(*out, &source);
	return 0;
}

int doctor_runtimes_find(struct doctor_runtimes *out, uint32_t pid, struct err *err)
{
	_cleanup_(freep) struct vm_memory *vms = calloc(1, sizeof(*vms));
	_cleanup_(lang_client_freep) struct lang_client *client = NULL;
	_cleanup_(langs_freep) struct langs *langs = NULL;
	_cleanup_(closep) int own_root = proc_root_open((int)getpid());
	const struct role_pool_opts pool = { .max_children = 1,
					     .max_abandoned = 1,
					     .memory_bytes = READER_BYTES };
	_cleanup_(role_pool_freep) struct role_pool *readers = NULL;
	struct search s = { .out = out, .pid = pid };
	int r;

	memset(out, 0, sizeof(*out));
	if (!vms)
		return -ENOMEM;
	vm_memory_init(vms);
	r = open_langs(&langs, &client, &vms->tables);
	if (r < 0)
		return err_set(err, r, "cannot examine process %u: %s", pid, strerror(-r));
	r = role_pool_new(&readers, &reader_role, &pool, err);
	if (r < 0)
		return r;
	s.context = (struct mapped_file_context){ .readers = readers,
						  .langs = langs,
						  .own_root = own_root };
	r = proc_maps_read((int)pid, PROC_MAPS_EXEC, examine, &s, err);
	vec_fini(&s.seen);
	return r < 0 ? err_set(err, r, "cannot read the mappings of process %u: %s", pid,
			       strerror(-r))
		     : 0;
}
