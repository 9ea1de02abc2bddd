/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/test.h"
#include "tests/unit/process/readers.h"
#include "unwind/tables.h"

static int add_chunk(void *ctx, uint32_t n, uint32_t **out)
{
	struct machine *m = ctx;

	if (m->chunk)
		return -ENOMEM;
	m->chunk = calloc(1, ARENA_CHUNK_BYTES);
	*out = m->chunk;
	return m->chunk ? 0 : -ENOMEM;
}

void machine_init(struct machine *m)
{
	struct unwind_tables_memory mem = { .add_chunk = add_chunk, .ctx = m, .max_chunks = 1 };

	*m = (struct machine){ 0 };
	m->rules = calloc(UNWIND_RULES_MAX, sizeof(*m->rules));
	m->unwind_files = calloc(UNWIND_FILES_MAX, sizeof(*m->unwind_files));
	assert_non_null(m->rules);
	assert_non_null(m->unwind_files);
	mem.rules = m->rules;
	mem.files = m->unwind_files;
	mem.generation = &m->generation;
	assert_int_equal(unwind_tables_new(&m->tables, &mem), 0);
	file_table_with_readers(&m->files, &m->readers, m->tables);
	assert_int_equal(process_table_new(&m->processes, m->files, m->tables, &m->sampler), 0);
}

void machine_fini(struct machine *m)
{
	process_table_free(m->processes);
	file_table_free(m->files);
	role_pool_free(m->readers);
	unwind_tables_free(m->tables);
	free(m->chunk);
	free(m->rules);
	free(m->unwind_files);
}

struct published *machine_published(struct sampler *s, uint32_t pid)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->of[i].pid == pid)
			return &s->of[i];
	assert_true(s->n < MACHINE_PIDS);
	s->of[s->n] = (struct published){ .pid = pid };
	return &s->of[s->n++];
}

struct file_ref machine_file_ref(const char *path, uint64_t start)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (struct file_ref){
		.pid = (uint32_t)getpid(),
		.start = start,
		.end = start + 4096,
		.dev_major = major(st.st_dev),
		.dev_minor = minor(st.st_dev),
		.inode = st.st_ino,
		.path = path,
	};
}

/* ---- replacements of the kernel side ------------------------------------------------ */

int sampler_put_executable(struct sampler *s, const struct executable_key *key,
			   const struct executable *e)
{
	s->executable_key = *key;
	s->executable = *e;
	s->n_executables++;
	return 0;
}

void sampler_remove_executable(struct sampler *s, const struct executable_key *key)
{
	s->n_executables_removed++;
}

void sampler_expect(struct sampler *s, uint32_t pid, uint32_t languages)
{
	s->expected |= languages;
}

void sampler_select_by_rules(struct sampler *s, bool by_rules)
{
	s->by_rules = by_rules;
}

int sampler_select(struct sampler *s, uint32_t pid, const struct selection *selection)
{
	struct published *to = machine_published(s, pid);

	to->selection = *selection;
	to->n_selections++;
	return 0;
}

int sampler_put_process(struct sampler *s, uint32_t pid, const struct unwind_process *p)
{
	struct published *to = machine_published(s, pid);

	to->is_there = true;
	to->process = *p;
	return 0;
}

void sampler_remove_process(struct sampler *s, uint32_t pid)
{
	machine_published(s, pid)->is_there = false;
}

int sampler_each_program(struct sampler *s, sampler_record_fn fn, void *ctx)
{
	for (uint32_t i = 0; i < s->n_programs; i++)
		fn(ctx, &s->programs[i], sizeof(s->programs[i]));
	return 0;
}

int sampler_set_alloc_file(struct sampler *s, uint32_t file,
			   const struct allocator_function *functions, size_t n)
{
	s->n_alloc_files++;
	return 0;
}

/* Stores one descriptor, which the caller closes. */
int sampler_attach_alloc(struct sampler *s, const struct alloc_place *place,
			 enum alloc_probe_part part, int *fds, size_t *io_n)
{
	s->n_attached[part]++;
	if (s->attach_result < 0)
		return s->attach_result;
	fds[(*io_n)++] = dup(place->fd);
	return 0;
}

int sampler_stats(const struct sampler *s, struct sampler_stats *out)
{
	*out = (struct sampler_stats){ .counts.n[COUNTER_ALLOCS] = s->n_alloc_calls };
	return 0;
}

void sampler_end_process(struct sampler *s, uint32_t pid, uint64_t start_ns)
{
	sampler_remove_process(s, pid);
	machine_published(s, pid)->has_ended = true;
}

int sampler_add_target(struct sampler *s, uint32_t pid)
{
	machine_published(s, pid)->is_target = true;
	return 0;
}

int sampler_get_thread(struct sampler *s, uint32_t tid, struct off_thread *out)
{
	if (s->thread.tid != tid)
		return -ENOENT;
	*out = s->thread;
	return 0;
}
