/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads and attaches the BPF programs and owns their maps. An error from the kernel is often the
 * first message that a new user sees, so each of them explains how to fix it.
 */
#include "sampler/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "arch/arch.h"
#include "base/err.h"
#include "base/vec.h"
#include "bpf/sample.skel.h"
#include "sampler/alloc_programs.h"
#include "sampler/attach.h"
#include "sampler/events.h"
#include "sampler/fault_probe.h"
#include "sampler/kernel_error.h"
#include "sampler/sched_probe.h"
#include "sampler/sparse_maps.h"
#include "sampler/task_iterator.h"
#include "sampler/walk_programs.h"

enum {
	RING_BYTES_PER_CPU = 4 << 20,
	RING_BYTES_MIN = 1 << 20,
	RING_BYTES_MAX = 64 << 20,
	PROGRAMS_NS = 1000000000, /* time limit for loading the BPF programs of running languages */
};

struct sampler {
	struct sample_bpf *skel;
	struct ring_buffer *ring;
	struct sampler_opts opts;
	struct unwind_rule *rules;
	struct unwind_file *files;
	struct vm_tables vms;
	struct walk_programs *walks;
	struct attach *events;
	uint32_t *chunks[ARENA_CHUNKS_MAX]; /* NULL: not added, or returned */
	uint32_t n_chunks;
	struct bpf_link *exec_link, *fork_link;
	struct bpf_link *programs; /* the iterator each_program */
	struct fault_probe faults;
	struct sched_probe *off; /* NULL: not requested, or refused for the reason in off_error */
	char off_error[sizeof(((struct err *)NULL)->msg)];
	int stats_fd;
	uint64_t fixed_bytes; /* kernel memory of the maps that do not grow */
	uint32_t n_possible;
	sampler_record_fn fn;
	void *fn_ctx;
};

static size_t rules_bytes(void)
{
	return UNWIND_RULES_MAX * sizeof(struct unwind_rule);
}

static size_t files_bytes(void)
{
	return UNWIND_FILES_MAX * sizeof(struct unwind_file);
}

uint32_t sampler_max_freq(void)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	unsigned int hz;

	return f && fscanf(f, "%u", &hz) == 1 ? hz : 0;
}

static int on_ring_record(void *ctx, void *data, size_t len)
{
	struct sampler *s = ctx;

	s->fn(s->fn_ctx, data, len);
	return 0;
}

static uint32_t ring_bytes(const struct sampler *s)
{
	uint64_t wanted_bytes = (uint64_t)RING_BYTES_PER_CPU * s->n_possible;
	uint32_t bytes = RING_BYTES_MIN;

	if (s->opts.ring_bytes)
		return s->opts.ring_bytes;

	while (bytes < wanted_bytes && bytes < RING_BYTES_MAX)
		bytes *= 2;
	return bytes;
}

__attribute__((format(printf, 2, 0))) static int on_libbpf_message(enum libbpf_print_level level,
								   const char *fmt, va_list ap)
{
	return getenv("CAMEO_LIBBPF_DEBUG") ? vfprintf(stderr, fmt, ap) : 0;
}

/* Opens the BPF object, with @lists of runtimes, and sets what must be known before it is loaded.
 */
static int prepare_programs(struct sampler *s, bool lists, struct err *err)
{
	uint32_t bytes = ring_bytes(s), n_walks = attach_walks(&s->opts);
	int r;

	s->skel = sample_bpf__open();
	if (!s->skel)
		return err_set(err, -errno, "cannot open the BPF object: %s", strerror(errno));
	s->skel->rodata->collect_kernel = s->opts.kernel;
	s->skel->rodata->collect_user = s->opts.user;
	s->skel->rodata->collect_idle = s->opts.idle;
	s->skel->rodata->selected_only = s->opts.targets_only;
	s->skel->rodata->select_children = !s->opts.no_children;
	s->skel->rodata->ring_wakeup_bytes = bytes / 2;
	if (!s->opts.targets_only && !s->opts.by_rules)
		bpf_map__set_max_entries(s->skel->maps.selected, 1);
	sparse_maps_prepare(s->skel, s->opts.targets_only);
	s->skel->rodata->n_walks = n_walks;
	s->skel->rodata->code_mask = arch_code_mask();
	bpf_map__set_max_entries(s->skel->maps.raw_records, s->n_possible * n_walks + 1);
	bpf_map__set_max_entries(s->skel->maps.walks, s->n_possible * n_walks);
	attach_prepare(s->skel, &s->opts, s->n_possible);
	fault_probe_prepare(s->skel, &s->opts);
	alloc_programs_prepare(s->skel, &s->opts);
	r = sched_probe_prepare(s->skel, &s->opts, s->n_possible * n_walks, err);
	if (r < 0)
		return r;
	walk_programs_prepare(s->skel, lists);
	bpf_map__set_max_entries(s->skel->maps.ring, bytes);
	return 0;
}

/* A kernel that refuses the programs for lists may accept the others. */
static int try_programs(struct sampler *s)
{
	int r = sample_bpf__load(s->skel);

	if (r >= 0)
		return r;
	sample_bpf__destroy(s->skel);
	r = prepare_programs(s, false, NULL);
	return r < 0 ? r : sample_bpf__load(s->skel);
}

static int load_programs(struct sampler *s, struct err *err)
{
	int r = prepare_programs(s, true, err);

	if (r < 0)
		return r;
	r = try_programs(s);
	if (r == -EACCES && geteuid() == 0)
		return err_set(
			err, r,
			"the verifier of this kernel rejected the BPF program: run again with "
			"CAMEO_LIBBPF_DEBUG=1 in the environment, and report the output");
	if (r == -ESRCH)
		return err_set(err, r,
			       "cannot use /sys/kernel/btf/vmlinux: it is truncated or does not "
			       "match the running kernel");
	return r < 0 ? kernel_error(r, "load BPF programs", err) : 0;
}

/*
 * Loads the programs. If off-CPU time was requested in addition to samples and its programs
 * are refused, the sampler works without them; sampler_offcpu_error() returns the reason.
 */
static int sampler_load(struct sampler *s, struct err *err)
{
	struct err cause = { 0 };
	int r = load_programs(s, s->opts.off_cpu && !s->opts.no_samples ? &cause : err);

	if (r >= 0 || !s->opts.off_cpu || s->opts.no_samples)
		return r;
	snprintf(s->off_error, sizeof(s->off_error), "%s", cause.msg);
	sample_bpf__destroy(s->skel);
	s->opts.off_cpu = false;
	return load_programs(s, err);
}

/* ---- memory ------------------------------------------------------------------------ */

static uint64_t up_to(uint64_t n, uint64_t multiple)
{
	return (n + multiple - 1) / multiple * multiple;
}

static void add_map(const struct bpf_map *map, const struct sample_bpf *skel,
		    struct sampler_memory *out)
{
	uint64_t n = bpf_map__max_entries(map), value = up_to(bpf_map__value_size(map), 8);

	if (map == skel->maps.ring)
		return;
	switch (bpf_map__type(map)) {
	case BPF_MAP_TYPE_PERCPU_ARRAY:
		out->per_cpu_bytes += n * value;
		break;
	case BPF_MAP_TYPE_HASH:
	case BPF_MAP_TYPE_LRU_HASH:
		out->fixed_bytes += sparse_maps_hash_bytes(map, n);
		break;
	default:
		out->fixed_bytes += up_to(n * value, 4096);
	}
}

/*
 * Arrays with an element for each CPU are among the maps; their elements are counted for one CPU
 * and multiplied by the caller.
 */
static void add_maps(const struct sampler *s, struct sampler_memory *out)
{
	uint64_t of_cpu = (bpf_map__value_size(s->skel->maps.walks) +
			   bpf_map__value_size(s->skel->maps.raw_records)) *
			  (uint64_t)attach_walks(&s->opts);
	const struct bpf_map *map = NULL;

	while ((map = bpf_object__next_map(s->skel->obj, map)))
		add_map(map, s->skel, out);
	out->fixed_bytes -= of_cpu * s->n_possible;
	out->per_cpu_bytes += of_cpu;
}

int sampler_memory(const struct sampler_opts *opts, struct sampler_memory *out, struct err *err)
{
	struct sampler s = { .opts = *opts, .n_possible = (uint32_t)libbpf_num_possible_cpus() };
	int r;

	*out = (struct sampler_memory){ .n_cpus = s.n_possible };
	libbpf_set_print(on_libbpf_message);
	r = prepare_programs(&s, true, err);
	if (r == 0)
		add_maps(&s, out);
	sample_bpf__destroy(s.skel);
	return r;
}

static void *map_memory(struct bpf_map *map, size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return p == MAP_FAILED ? NULL : p;
}

static size_t page_up(size_t len)
{
	return (len + 4095) & ~(size_t)4095;
}

#define VM_BYTES(field) page_up(VM_TABLE_MAX * sizeof(*((struct vm_tables *)NULL)->field))

static size_t contexts_bytes(void)
{
	return page_up(CONTEXT_LAYOUTS_MAX * sizeof(struct context_layout));
}

static bool have_vms(const struct sampler *s)
{
#define X(sym, name)                                                                               \
	if (!s->vms.name)                                                                          \
		return false;
#include "bpf/shared/langs.def"
#undef X
	return s->vms.codes && s->vms.contexts;
}

static void unmap_vms(struct sampler *s)
{
	if (s->vms.codes)
		munmap(s->vms.codes, VM_BYTES(codes));
	if (s->vms.contexts)
		munmap(s->vms.contexts, contexts_bytes());
#define X(sym, name)                                                                               \
	if (s->vms.name)                                                                           \
		munmap(s->vms.name, VM_BYTES(name));
#include "bpf/shared/langs.def"
#undef X
}

static int sampler_map(struct sampler *s, struct err *err)
{
	s->rules = map_memory(s->skel->maps.rules, rules_bytes());
	s->files = map_memory(s->skel->maps.files, files_bytes());
	s->vms.codes = map_memory(s->skel->maps.vm_codes, VM_BYTES(codes));
	s->vms.contexts = map_memory(s->skel->maps.context_layouts, contexts_bytes());
#define X(sym, name) s->vms.name = map_memory(s->skel->maps.name##_vms, VM_BYTES(name));
#include "bpf/shared/langs.def"
#undef X
	if (!s->rules || !s->files || !have_vms(s))
		return err_set(err, -errno, "cannot map the unwind tables: %s", strerror(errno));
	s->ring = ring_buffer__new(bpf_map__fd(s->skel->maps.ring), on_ring_record, s, NULL);
	if (!s->ring)
		return err_set(err, -errno, "cannot map the ring buffer: %s", strerror(errno));
	return 0;
}

/* These are raw tracepoints, which need neither tracefs nor kprobes. */
static int sampler_attach_tracepoints(struct sampler *s, struct err *err)
{
	s->exec_link = bpf_program__attach(s->skel->progs.on_exec);
	if (!s->exec_link)
		return kernel_error(-errno, "attach to sched_process_exec", err);
	s->fork_link = bpf_program__attach(s->skel->progs.on_fork);
	if (!s->fork_link)
		return kernel_error(-errno, "attach to sched_process_fork", err);
	/* without it, records identify the programs that ran before, and nothing is swept */
	s->programs = bpf_program__attach_iter(s->skel->progs.each_program, NULL);
	return 0;
}

/*
 * BPF programs report pids of the initial pid namespace. In another namespace, /proc shows
 * the same processes under other pids, so no mapping could be read.
 */
static bool in_first_pid_namespace(void)
{
	const ino_t init_ino = 0xeffffffc; /* PROC_PID_INIT_INO, include/linux/proc_ns.h */
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 || st.st_ino == init_ino;
}

/* Kernel memory of a map in bytes. It is in fdinfo, but not in bpf_map_info. */
static uint64_t map_bytes(const struct bpf_map *map)
{
	_cleanup_(fclosep) FILE *f = NULL;
	unsigned long long bytes = 0;
	char path[48], line[128];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(map));
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "memlock: %llu", &bytes) == 1)
			break;
	return bytes;
}

/* Kernel memory of the maps whose entries are allocated by need, or of all others. */
static uint64_t maps_bytes(const struct sampler *s, bool are_sparse)
{
	const struct bpf_map *map = NULL;
	uint64_t bytes = 0;

	while ((map = bpf_object__next_map(s->skel->obj, map)))
		if (sparse_maps_has(map) == are_sparse)
			bytes += map_bytes(map);
	return bytes;
}

static uint64_t mapped_bytes(const struct sampler *s)
{
	/* the ring's data pages are mapped twice, so that records never wrap */
	return rules_bytes() + files_bytes() + 2 * (uint64_t)ring_bytes(s) +
	       s->n_chunks * (uint64_t)ARENA_CHUNK_BYTES;
}

int sampler_enable_stats(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	return fd < 0 ? -1 : fd;
}

int sampler_open(struct sampler **out, const struct sampler_opts *opts, struct err *err)
{
	_cleanup_(sampler_freep) struct sampler *s = NULL;
	int r;

	if (access("/sys/kernel/btf/vmlinux", F_OK) < 0)
		return err_set(
			err, -ENOENT,
			"this kernel has no BTF (/sys/kernel/btf/vmlinux is missing): boot a "
			"kernel with CONFIG_DEBUG_INFO_BTF=y, such as that of Debian 11 or later");
	if (!in_first_pid_namespace())
		return err_set(err, -ENOTSUP,
			       "cannot identify processes outside of the host's PID namespace: run "
			       "cameo on the host, or in a container that shares the namespace "
			       "(docker run --pid=host)");
	if ((opts->allocs && alloc_programs_check(err) < 0) ||
	    (opts->faults && fault_probe_check(err) < 0))
		return -ENOTSUP;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->opts = *opts;
	s->stats_fd = -1;
	s->n_possible = (uint32_t)libbpf_num_possible_cpus();
	libbpf_set_print(on_libbpf_message);
	r = sampler_load(s, err);
	if (r < 0)
		return r;
	r = sampler_map(s, err);
	if (r < 0)
		return r;
	s->fixed_bytes = maps_bytes(s, false);
	r = walk_programs_new(&s->walks, s->skel, err);
	if (r < 0)
		return r;
	r = attach_new(&s->events, &s->opts, s->skel);
	if (r < 0)
		return r;
	r = sampler_attach_tracepoints(s, err);
	if (r < 0)
		return r;
	if (opts->stats)
		s->stats_fd = opts->stats_fd > 0 ? opts->stats_fd : sampler_enable_stats();
	*out = steal_ptr(&s);
	return 0;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	sampler_detach(s);
	sched_probe_free(s->off);
	attach_free(s->events);
	bpf_link__destroy(s->exec_link);
	bpf_link__destroy(s->fork_link);
	bpf_link__destroy(s->programs);
	closep(&s->stats_fd);
	ring_buffer__free(s->ring);
	for (uint32_t i = 0; i < ARENA_CHUNKS_MAX; i++)
		if (s->chunks[i])
			munmap(s->chunks[i], ARENA_CHUNK_BYTES);
	if (s->rules)
		munmap(s->rules, rules_bytes());
	if (s->files)
		munmap(s->files, files_bytes());
	unmap_vms(s);
	walk_programs_free(s->walks);
	sample_bpf__destroy(s->skel);
	free(s);
}

/*
 * Each chunk of the unwind tables is a map of its own, so that memory is allocated as the tables
 * grow, and freed as they shrink.
 */
static int sampler_add_chunk(void *ctx, uint32_t n, uint32_t **out_mem)
{
	struct sampler *s = ctx;
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	_cleanup_(closep) int fd = -1;
	void *mem;
	int r;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "chunk", 4, ARENA_CHUNK_BYTES, 1, &opts);
	if (fd < 0)
		return -errno;
	mem = mmap(NULL, ARENA_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		return -errno;
	r = bpf_map__update_elem(s->skel->maps.chunks, &n, sizeof(n), &fd, sizeof(fd), BPF_ANY);
	if (r < 0) {
		munmap(mem, ARENA_CHUNK_BYTES);
		return r;
	}
	s->chunks[n] = *out_mem = mem;
	s->n_chunks++;
	return 0;
}

/* A walk that has looked the map up holds it until it ends. */
static void sampler_release_chunk(void *ctx, uint32_t n)
{
	struct sampler *s = ctx;

	(void)bpf_map__delete_elem(s->skel->maps.chunks, &n, sizeof(n), 0);
	munmap(s->chunks[n], ARENA_CHUNK_BYTES);
	s->chunks[n] = NULL;
	s->n_chunks--;
}

void sampler_tables_memory(struct sampler *s, struct unwind_tables_memory *out)
{
	*out = (struct unwind_tables_memory){
		.rules = s->rules,
		.files = s->files,
		.generation = &s->skel->bss->table_generation,
		.add_chunk = sampler_add_chunk,
		.release_chunk = sampler_release_chunk,
		.ctx = s,
		.max_chunks = s->opts.max_chunks,
	};
}

void sampler_vm_tables(struct sampler *s, struct vm_tables *out)
{
	*out = s->vms;
}

int sampler_update_cpus(struct sampler *s, struct cpu_list *back, struct err *err)
{
	return s->opts.no_samples ? 0 : attach_update(s->events, back, err);
}

/*
 * Attaches the off-CPU programs. As in sampler_load(), a refusal is fatal only if nothing
 * else was requested.
 */
static int attach_off(struct sampler *s, struct err *err)
{
	struct err cause = { 0 };
	int r = s->opts.off_cpu ? sched_probe_attach(&s->off, s->skel) : 0;

	if (r < 0 && s->opts.no_samples)
		return kernel_error(r, "attach to the scheduler's tracepoints", err);
	if (r < 0)
		kernel_error(r, "attach to the scheduler's tracepoints", &cause);
	if (r < 0)
		snprintf(s->off_error, sizeof(s->off_error), "%s", cause.msg);
	return 0;
}

int sampler_attach(struct sampler *s, struct err *err)
{
	struct cpu_list back = { 0 };
	int r = sampler_update_cpus(s, &back, err);

	vec_fini(&back);
	if (r >= 0 && s->opts.faults) {
		r = fault_probe_attach(&s->faults, s->skel);
		if (r < 0)
			return kernel_error(
				r, "attach to the tracepoints of page faults and mappings", err);
	}
	return r < 0 ? r : attach_off(s, err);
}

int sampler_pause(struct sampler *s, bool pause)
{
	return attach_pause(s->events, pause);
}

void sampler_detach(struct sampler *s)
{
	attach_detach(s->events);
	fault_probe_detach(&s->faults);
	sched_probe_detach(s->off);
}

int sampler_set_alloc_file(struct sampler *s, uint32_t file,
			   const struct allocator_function *functions, size_t n)
{
	return alloc_probe_set_file(s->skel, file, functions, n);
}

int sampler_attach_alloc(struct sampler *s, const struct alloc_place *place,
			 enum alloc_probe_part part, int *fds, size_t *io_n)
{
	return alloc_probe_attach(s->skel, place, part, fds, io_n);
}

const char *sampler_offcpu_error(const struct sampler *s)
{
	return s->off_error[0] ? s->off_error : NULL;
}

int sampler_each_thread(struct sampler *s, sampler_thread_fn fn, void *ctx)
{
	return sched_probe_each_thread(s->off, fn, ctx);
}

int sampler_scan_sleepers(struct sampler *s, uint64_t since_ns, sampler_record_fn fn, void *ctx)
{
	return sched_probe_scan_sleepers(s->off, since_ns, fn, ctx);
}

int sampler_get_thread(struct sampler *s, uint32_t tid, struct off_thread *out)
{
	return sched_probe_get_thread(s->off, tid, out);
}

void sampler_remove_thread(struct sampler *s, uint32_t tid)
{
	sched_probe_remove_thread(s->off, tid);
}

int sampler_each_program(struct sampler *s, sampler_record_fn fn, void *ctx)
{
	struct record_header h;

	if (!s->programs)
		return -ENOTSUP;
	return task_iterator_read(s->programs, &h, sizeof(h), fn, ctx);
}

int sampler_consume(struct sampler *s, sampler_record_fn fn, void *ctx)
{
	s->fn = fn;
	s->fn_ctx = ctx;
	return ring_buffer__consume(s->ring);
}

int sampler_fd(const struct sampler *s)
{
	return ring_buffer__epoll_fd(s->ring);
}

int sampler_add_target(struct sampler *s, uint32_t pid)
{
	struct selection any = { 0 };

	return bpf_map__update_elem(s->skel->maps.selected, &pid, sizeof(pid), &any, sizeof(any),
				    BPF_ANY);
}

static bool get_selection(const struct sampler *s, uint32_t pid, struct selection *out)
{
	return bpf_map__lookup_elem(s->skel->maps.selected, &pid, sizeof(pid), out, sizeof(*out),
				    0) == 0;
}

void sampler_select_by_rules(struct sampler *s, bool by_rules)
{
	if (s->skel->bss)
		s->skel->bss->select_by_rules = by_rules;
}

/* The kernel knows the start of a process that it has seen the fork of. */
int sampler_select(struct sampler *s, uint32_t pid, const struct selection *selection)
{
	struct selection own = *selection, old;

	if (get_selection(s, pid, &old) && old.start_ns)
		own.start_ns = old.start_ns;
	return bpf_map__update_elem(s->skel->maps.selected, &pid, sizeof(pid), &own, sizeof(own),
				    BPF_ANY);
}

/* Returns true if samples of the process are walked, or will be when the rules have decided. */
static bool is_profiled(const struct sampler *s, uint32_t pid)
{
	struct selection selection;

	if (!s->opts.targets_only && !s->opts.by_rules)
		return true;
	if (!get_selection(s, pid, &selection))
		return !s->opts.targets_only;
	return (selection.flags & SELECT_EXCLUDED) != SELECT_EXCLUDED;
}

int sampler_put_process(struct sampler *s, uint32_t pid, const struct unwind_process *p)
{
	struct unwind_process own = *p;

	walk_programs_request(s->walks, p->languages, &own.walk, &own.lists);
	return bpf_map__update_elem(s->skel->maps.processes, &pid, sizeof(pid), &own, sizeof(own),
				    BPF_ANY);
}

void sampler_expect(struct sampler *s, uint32_t pid, uint32_t languages)
{
	uint16_t walk, lists;

	if (!s->opts.user || !is_profiled(s, pid))
		return;
	walk_programs_request(s->walks, languages, &walk, &lists);
}

void sampler_wait_for_programs(struct sampler *s)
{
	walk_programs_wait(s->walks, PROGRAMS_NS);
}

int sampler_put_executable(struct sampler *s, const struct executable_key *key,
			   const struct executable *e)
{
	struct executable own = *e;

	walk_programs_request(s->walks, e->languages, &own.walk, &own.lists);
	return bpf_map__update_elem(s->skel->maps.executables, key, sizeof(*key), &own, sizeof(own),
				    BPF_ANY);
}

void sampler_remove_executable(struct sampler *s, const struct executable_key *key)
{
	bpf_map__delete_elem(s->skel->maps.executables, key, sizeof(*key), 0);
}

void sampler_remove_process(struct sampler *s, uint32_t pid)
{
	bpf_map__delete_elem(s->skel->maps.processes, &pid, sizeof(pid), 0);
}

/* The pid may belong to a new process already, which the kernel has selected since. */
static void end_target(struct sampler *s, uint32_t pid, uint64_t start_ns)
{
	struct selection selected;

	if (get_selection(s, pid, &selected) &&
	    (!selected.start_ns || selected.start_ns == start_ns))
		bpf_map__delete_elem(s->skel->maps.selected, &pid, sizeof(pid), 0);
}

void sampler_end_process(struct sampler *s, uint32_t pid, uint64_t start_ns)
{
	sampler_remove_process(s, pid);
	if (s->opts.targets_only || s->opts.by_rules)
		end_target(s, pid, start_ns);
}

static void counters_add(struct counters *sum, const struct counters *c)
{
	for (int i = 0; i < COUNTER_MAX; i++)
		sum->n[i] += c->n[i];
	for (int i = 0; i < WALK_ERR_MAX; i++)
		sum->walk_errors[i] += c->walk_errors[i];
	for (int i = 0; i < SELECT_RULES_MAX; i++)
		sum->excluded[i] += c->excluded[i];
}

int sampler_stats(const struct sampler *s, struct sampler_stats *out)
{
	_cleanup_(freep) struct counters *per_cpu = calloc(s->n_possible, sizeof(*per_cpu));
	struct walk_programs_stats walks;
	uint32_t zero = 0;
	int r;

	if (!per_cpu)
		return -ENOMEM;
	walk_programs_stats(s->walks, &walks);
	*out = (struct sampler_stats){
		.n_language_programs = walks.n_loaded,
		.n_language_programs_refused = walks.n_refused,
		.language_programs_ns = walks.load_ns,
		.n_cpus = s->n_possible,
		.maps_bytes = s->fixed_bytes + maps_bytes(s, true) +
			      s->n_chunks * (uint64_t)ARENA_CHUNK_BYTES,
		.mapped_bytes = mapped_bytes(s),
	};
	r = bpf_map__lookup_elem(s->skel->maps.counts, &zero, sizeof(zero), per_cpu,
				 s->n_possible * sizeof(*per_cpu), 0);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < s->n_possible; i++)
		counters_add(&out->counts, &per_cpu[i]);
	out->run_ns = out->counts.n[COUNTER_RUN_NS];
	out->run_count = out->counts.n[COUNTER_SENT] + out->counts.n[COUNTER_LOST];
	return s->stats_fd < 0 ? 0 : attach_cost(s->events, &out->run_ns, &out->run_count);
}
