/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/profiler/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "bpf/shared/abi.h"
#include "bpf/shared/vms.h"
#include "process/sideband.h"
#include "sampler/sampler.h"

struct kernel *kernel;

const uint64_t kernel_stack[KERNEL_WORDS] = {
	FRAME_WORD(FRAME_ADDRESS, 0x1000),
	FRAME_WORD(FRAME_ADDRESS, 0x2000),
	FRAME_WORD(FRAME_ADDRESS, 0x3000),
};

int kernel_setup(void **state)
{
	void *mem = mmap(NULL, sizeof(*kernel), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);

	kernel = mem == MAP_FAILED ? NULL : mem;
	return kernel ? 0 : -1;
}

int kernel_teardown(void **state)
{
	munmap(kernel, sizeof(*kernel));
	kernel = NULL;
	return 0;
}

/* ---- the sampler --------------------------------------------------------------------- */

struct sampler {
	int fd;
	bool is_attached;
	struct unwind_rule *rules;
	struct unwind_file *files;
	uint32_t generation, max_chunks;
	struct {
		VEC(uint32_t *);
	} chunks;
	struct vm_tables vms;
};

int sampler_enable_stats(void)
{
	return -1;
}

uint32_t sampler_max_freq(void)
{
	return 10000;
}

static bool make_tables(struct sampler *s)
{
	s->rules = calloc(UNWIND_RULES_MAX, sizeof(*s->rules));
	s->files = calloc(UNWIND_FILES_MAX, sizeof(*s->files));
	s->vms.codes = calloc(VM_TABLE_MAX, sizeof(*s->vms.codes));
#define X(sym, name, ...) s->vms.name = calloc(VM_TABLE_MAX, sizeof(*s->vms.name));
#include "bpf/shared/langs.def"
#undef X
	return s->rules && s->files && s->vms.codes;
}

int sampler_open(struct sampler **out, const struct sampler_opts *opts, struct err *err)
{
	_cleanup_(sampler_freep) struct sampler *s = NULL;

	if (kernel->open_error)
		return err_set(err, kernel->open_error, "the kernel refuses: run as root");
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	atomic_fetch_add(&kernel->n_opened, 1);
	s->max_chunks = opts->max_chunks;
	kernel->freq_hz = opts->freq_hz;
	kernel->is_targets_only = opts->targets_only;
	kernel->no_children = opts->no_children;
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->fd < 0 || !make_tables(s))
		return -ENOMEM;
	*out = steal_ptr(&s);
	return 0;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	atomic_fetch_add(&kernel->n_freed, 1);
	for (size_t i = 0; i < s->chunks.len; i++)
		free(s->chunks.data[i]);
	vec_fini(&s->chunks);
	free(s->rules);
	free(s->files);
	free(s->vms.codes);
#define X(sym, name, ...) free(s->vms.name);
#include "bpf/shared/langs.def"
#undef X
	close(s->fd);
	free(s);
}

static int add_chunk(void *ctx, uint32_t n, uint32_t **out)
{
	struct sampler *s = ctx;
	uint32_t *chunk = calloc(1, ARENA_CHUNK_BYTES);

	if (!chunk || vec_push(&s->chunks, chunk) < 0) {
		free(chunk);
		return -ENOMEM;
	}
	*out = chunk;
	return 0;
}

void sampler_tables_memory(struct sampler *s, struct unwind_tables_memory *out)
{
	*out = (struct unwind_tables_memory){
		.rules = s->rules,
		.files = s->files,
		.generation = &s->generation,
		.add_chunk = add_chunk,
		.ctx = s,
		.max_chunks = s->max_chunks,
	};
}

void sampler_vm_tables(struct sampler *s, struct vm_tables *out)
{
	*out = s->vms;
}

int sampler_attach(struct sampler *s, struct err *err)
{
	if (kernel->attach_error)
		return err_set(err, kernel->attach_error, "the kernel refuses the event");
	s->is_attached = true;
	atomic_fetch_add(&kernel->n_attached, 1);
	return 0;
}

int sampler_update_cpus(struct sampler *s, struct cpu_list *back, struct err *err)
{
	return 0;
}

int sampler_pause(struct sampler *s, bool pause)
{
	atomic_store(&kernel->is_paused, pause);
	return 0;
}

void sampler_detach(struct sampler *s)
{
	s->is_attached = false;
	atomic_fetch_add(&kernel->n_detached, 1);
}

const char *sampler_offcpu_error(const struct sampler *s)
{
	return kernel->offcpu_error;
}

int sampler_each_thread(struct sampler *s, sampler_thread_fn fn, void *ctx)
{
	if (kernel->waiting.tid)
		fn(ctx, kernel->waiting.tid, &kernel->waiting);
	return 0;
}

int sampler_scan_sleepers(struct sampler *s, uint64_t since_ns, sampler_record_fn fn, void *ctx)
{
	kernel->n_scans++;
	kernel->scan_since_ns = since_ns;
	return 0;
}

int sampler_get_thread(struct sampler *s, uint32_t tid, struct off_thread *out)
{
	return -ENOENT;
}

void sampler_remove_thread(struct sampler *s, uint32_t tid)
{
	kernel->n_removed++;
}

static void deliver_sample(sampler_record_fn fn, void *ctx)
{
	uint32_t pid = kernel->n_targets ? kernel->targets[0] : kernel->pid;
	struct {
		struct record_header head;
		uint64_t words[KERNEL_WORDS];
	} r = { .head = { .type = RECORD_SAMPLE,
			  .pid = pid,
			  .tid = pid,
			  .time_ns = clock_monotonic_ns(),
			  .n_words = KERNEL_WORDS,
			  .comm = KERNEL_COMM } };

	memcpy(r.words, kernel_stack, sizeof(r.words));
	fn(ctx, &r, sizeof(r));
	atomic_fetch_add(&kernel->n_delivered, 1);
}

int sampler_consume(struct sampler *s, sampler_record_fn fn, void *ctx)
{
	int n = 0;

	if (kernel->consume_error)
		return kernel->consume_error;
	if (!s->is_attached || atomic_load(&kernel->is_paused))
		return 0;
	for (; n < (int)kernel->n_per_read; n++) {
		if (kernel->n_samples && kernel->n_delivered >= kernel->n_samples)
			break;
		deliver_sample(fn, ctx);
	}
	return n;
}

int sampler_fd(const struct sampler *s)
{
	return s->fd;
}

void sampler_select_by_rules(struct sampler *s, bool by_rules)
{
}

int sampler_select(struct sampler *s, uint32_t pid, const struct selection *selection)
{
	return 0;
}

int sampler_add_target(struct sampler *s, uint32_t pid)
{
	if (kernel->n_targets < KERNEL_TARGETS)
		kernel->targets[kernel->n_targets++] = pid;
	return 0;
}

int sampler_put_executable(struct sampler *s, const struct executable_key *key,
			   const struct executable *e)
{
	return 0;
}

void sampler_remove_executable(struct sampler *s, const struct executable_key *key)
{
}

void sampler_wait_for_programs(struct sampler *s)
{
}

void sampler_expect(struct sampler *s, uint32_t pid, uint32_t languages)
{
}

int sampler_put_process(struct sampler *s, uint32_t pid, const struct unwind_process *p)
{
	return 0;
}

void sampler_remove_process(struct sampler *s, uint32_t pid)
{
}

int sampler_each_program(struct sampler *s, sampler_record_fn fn, void *ctx)
{
	return 0;
}

int sampler_set_alloc_file(struct sampler *s, uint32_t file,
			   const struct allocator_function *functions, size_t n)
{
	return 0;
}

int sampler_attach_alloc(struct sampler *s, const struct alloc_place *place,
			 enum alloc_probe_part part, int *fds, size_t *io_n)
{
	return 0;
}

void sampler_end_process(struct sampler *s, uint32_t pid, uint64_t start_ns)
{
}

int sampler_memory(const struct sampler_opts *opts, struct sampler_memory *out, struct err *err)
{
	*out = (struct sampler_memory){ .n_cpus = 1 };
	return 0;
}

int sampler_stats(const struct sampler *s, struct sampler_stats *out)
{
	*out = (struct sampler_stats){ .n_cpus = 1 };
	out->counts.n[COUNTER_LOST] = kernel->n_lost;
	return 0;
}

/* ---- the side-band --------------------------------------------------------------------- */

struct sideband {
	int fd;
};

int sideband_open(struct sideband **out, uint32_t ring_bytes, struct err *err)
{
	struct sideband *sb;

	if (kernel->sideband_error)
		return err_set(err, kernel->sideband_error, "the kernel refuses the side-band");
	sb = calloc(1, sizeof(*sb));
	if (!sb)
		return -ENOMEM;
	sb->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	*out = sb;
	return 0;
}

void sideband_free(struct sideband *sb)
{
	if (!sb)
		return;
	close(sb->fd);
	free(sb);
}

int sideband_update_cpus(struct sideband *sb, struct err *err)
{
	return 0;
}

int sideband_reopen_cpu(struct sideband *sb, int cpu, struct err *err)
{
	return 0;
}

int sideband_fd(const struct sideband *sb)
{
	return sb->fd;
}

uint64_t sideband_bytes(const struct sideband *sb)
{
	return 0;
}

bool sideband_has_pending(const struct sideband *sb)
{
	return false;
}

int sideband_consume(struct sideband *sb, uint64_t until_ns, sideband_fn fn, void *ctx)
{
	int n = (int)kernel->n_events;

	for (int i = 0; i < n; i++)
		fn(ctx, &kernel->events[i]);
	kernel->n_events = 0;
	return n;
}
