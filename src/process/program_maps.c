/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc shows the program that runs while it is read, which may be a later one than was expected.
 * The fork or exec event of a program is written before it shows up in /proc: so events are applied
 * after the reading, and if the program has ended by then, what was read is dropped.
 */
#include "process/program_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "lang/lang.h"
#include "proc/maps.h"
#include "proc/stat.h"
#include "process/file_table.h"
#include "process/mapping_set.h"
#include "process/programs.h"
#include "process/replaced.h"
#include "sampler/sampler.h"
#include "symbol/jitdump.h"

enum {
	DEVICE_MINOR_BITS = 20,    /* in the kernel */
	EAGER_MAPPINGS_MAX = 1024, /* larger sets are published only when a sample needs them */
	REREAD_COST_SHARE = 20,    /* rereading a process may take up to 1/20 of the time */
};

static bool begins_with(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/* Memory may have a name that looks like a file's. */
static bool is_file_name(const char *name)
{
	return name[0] == '/' && name[1] != '/' && !begins_with(name, "/dev/zero") &&
	       !begins_with(name, "/SYSV") && !begins_with(name, "/memfd:doublemapper");
}

/*
 * If the file's name is that of a language runtime, requests the BPF programs of the language now,
 * so that they are loaded while the runtime starts and before a reader has examined the file.
 */
static void expect_runtime(struct programs *p, const struct program *e, const char *path)
{
	uint32_t languages = langs_guess(path);

	if (languages)
		sampler_expect(p->sampler, e->info.pid, languages);
}

void programs_map(struct programs *p, struct program *e, const struct file_ref *ref,
		  uint64_t file_off, uint64_t time_ns)
{
	struct unwind_mapping map = { .start = ref->start,
				      .end = ref->end,
				      .file_off = file_off,
				      .kind = MAPPING_ANONYMOUS };

	if (!e->jitdump && jitdump_is_path(ref->path))
		e->jitdump = strdup(ref->path);
	if (!strcmp(ref->path, "[vdso]")) {
		map.file = file_table_vdso(p->files);
		map.file_off = 0;
	} else if (is_file_name(ref->path)) {
		map.file = file_table_find(p->files, ref);
		expect_runtime(p, e, ref->path);
	}
	e->has_unread |= file_table_is_unread(p->files, map.file);
	if (map.file)
		map.kind = MAPPING_FILE;
	else
		map.file_off = 0;
	if (map.file && !e->info.exe && is_file_name(ref->path)) {
		e->info.exe = map.file;
		programs_mark_undecided(p, e);
		e->exe = (struct executable_key){
			.inode = ref->inode,
			.device = ref->dev_major << DEVICE_MINOR_BITS | ref->dev_minor,
		};
	}
	replaced_note(&e->replaced, e->maps, &map, time_ns);
	(void)mapping_set_add(e->maps, &map);
}

struct reread_job {
	struct programs *p;
	struct program *e;
	uint32_t task; /* the thread whose /proc is read */
};

static int on_proc_map(void *ctx, const struct proc_map *m)
{
	struct reread_job *job = ctx;
	struct file_ref ref = file_ref_of(job->task, m);

	programs_map(job->p, job->e, &ref, m->file_off, 0); /* into an empty set */
	return 0;
}

/*
 * Returns true if what was just read was still the program's. Processes that it forked meanwhile
 * would share what was read, so they are read on their own.
 */
static bool confirm(struct programs *p, struct program *e)
{
	e->is_unconfirmed = true;
	programs_apply_events(p);
	e->is_unconfirmed = false;
	return !e->info.end_ns;
}

/* Reads the mappings from /proc, through another thread if the main thread has ended. */
static int read_maps(struct programs *p, struct program *e)
{
	struct reread_job job = { p, e, e->info.pid };
	int r = proc_maps_read((int)job.task, PROC_MAPS_EXEC, on_proc_map, &job, NULL), task;

	if (r != -ESRCH)
		return r;
	task = proc_living_thread((int)e->info.pid);
	if (task < 0 || task == (int)e->info.pid)
		return -ESRCH;
	job.task = (uint32_t)task;
	return proc_maps_read(task, PROC_MAPS_EXEC, on_proc_map, &job, NULL);
}

/*
 * Replaces the known mappings with those in /proc, unless the last reread was too recent.
 * Returns 0; -ESRCH if the program is gone, or -ENOMEM: then the known ones stay.
 */
static int programs_reread(struct programs *p, struct program *e, uint64_t now_ns)
{
	uint64_t started_ns = clock_monotonic_ns(), ended_ns;
	struct mapping_set *old = e->maps, *fresh;
	bool had_unread = e->has_unread;
	int r;

	if (e->info.end_ns)
		return -ESRCH;
	if (e->next_reread_ns > now_ns)
		return 0;
	fresh = mapping_set_new(&p->mappings);
	if (!fresh)
		return -ENOMEM;
	e->maps = fresh;
	e->has_unread = false;
	r = read_maps(p, e);
	e->is_stale = r == -ETIMEDOUT;
	ended_ns = clock_monotonic_ns();
	e->next_reread_ns = ended_ns + (ended_ns - started_ns) * REREAD_COST_SHARE;
	if (r == 0 && !confirm(p, e))
		r = -ESRCH;
	if (r == 0)
		runtimes_detach(&e->runtimes);
	mapping_set_unref(r == 0 ? old : e->maps, p->tables, now_ns);
	if (r < 0) {
		e->maps = old;
		e->has_unread = had_unread;
	}
	return r;
}

static void programs_attach(struct programs *p, struct program *e, uint64_t now_ns)
{
	const struct runtimes_context of = { p->langs, p->files, p->tables, &e->maps, e->info.pid };

	if (!e->info.end_ns)
		runtimes_attach(&e->runtimes, &of, now_ns);
}

static void note_executable(struct programs *p, const struct program *e,
			    const struct unwind_process *description)
{
	const struct known_executable own = { .key = e->exe, .file = e->info.exe };

	if (!e->info.end_ns)
		executables_note(&p->executables, p->sampler, p->files, &own, e->maps, description,
				 e->info.pid);
}

int programs_publish_one(struct programs *p, struct program *e, uint64_t now_ns,
			 struct unwind_process *out)
{
	int r = 0;

	if (e->is_stale)
		r = programs_reread(p, e, now_ns);
	if (r < 0 && !mapping_set_count(e->maps))
		return r;
	r = mapping_set_publish(e->maps, p->tables, now_ns, out);
	p->stats.n_mappings_full += r == -ENOSPC;
	if (r < 0)
		return r;
	out->unmapped_is_final = e->unmapped_is_final;
	runtimes_describe(&e->runtimes, p->files, e->maps, out);
	runtimes_find_contexts(p->files, e->maps, out);
	out->program = e->info.id;
	note_executable(p, e, out);
	/* the pid may belong to a successor already, whose entry must stay */
	if (!e->info.end_ns && e->info.id.start_ns)
		r = sampler_put_process(p->sampler, e->info.pid, out);
	if (r == 0)
		replaced_publish(e->replaced, clock_monotonic_ns());
	p->stats.n_processes_full += r == -E2BIG;
	return r;
}

void programs_publish(struct programs *p, uint64_t now_ns)
{
	struct unwind_process ignored;

	for (size_t i = 0; i < p->dirty.len; i++) {
		struct program *e = programs_get(p, p->dirty.data[i]);

		if (!e)
			continue;
		e->dirty = false;
		if (e->info.end_ns || !e->info.id.start_ns)
			continue;
		/* search for generated code at once: until it is known, its samples arrive raw */
		if (!e->is_stale)
			programs_attach(p, e, now_ns);
		if (e->is_stale || mapping_set_count(e->maps) > EAGER_MAPPINGS_MAX ||
		    programs_publish_one(p, e, now_ns, &ignored) < 0) {
			sampler_remove_process(p->sampler, e->info.pid);
			replaced_publish(e->replaced, clock_monotonic_ns());
		}
	}
	p->dirty.len = 0;
}

int programs_mappings(struct programs *p, struct program *e, uint64_t now_ns,
		      struct unwind_process *out)
{
	int r = 0;

	if (!e)
		return -ESRCH;
	if (e->is_stale)
		r = programs_reread(p, e, now_ns);
	if (r < 0 && !mapping_set_count(e->maps))
		return r;
	programs_attach(p, e, now_ns);
	return programs_publish_one(p, e, now_ns, out);
}

bool programs_ignore_unmapped(struct programs *p, struct program *e, uint64_t now_ns)
{
	struct unwind_process ignored;

	if (!e || e->info.end_ns || e->dirty)
		return false;
	if (e->next_reread_ns <= now_ns && programs_reread(p, e, now_ns) == 0)
		return true;
	e->unmapped_is_final = true;
	(void)programs_publish_one(p, e, clock_monotonic_ns(), &ignored);
	return false;
}
