/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay-jvm ROUNDS STACK JAVA [ARG...]: runs a Java program and stops it a few times where its
 * busiest thread is. Its stack is walked (bpf/lib, built for the host) and symbolized, and must
 * contain STACK: methods separated by commas, innermost first.
 *
 * Then words that were read, on the stack, in the heaps and in the metadata of the VM, are replaced
 * by others, ROUNDS times each: attaching, walking and symbolizing terminate within their limits
 * for a process with wrong data, and an incomplete stack ends with an error frame.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lang/jvm/jvm.h"
#include "lang/lang.h"
#include "lang/vm_memory.h"
#include "memory.h"
#include "snapshot.h"
#include "unwind/tables.h"
#include "unwind/walk.h"

enum {
	STOPS = 3,       /* in which STACK was found */
	TRIES_MAX = 200, /* not all of them are in it */
	BUSY_MS = 700,   /* ms of CPU time, by which the program is compiled */
	BETWEEN_MS = 30,
	TEXT_MAX = 1 << 16,
	STACK_LIES = 8192,   /* bytes of the stack, from its top, that may be corrupted */
	READS_MAX = 1 << 20, /* reads for one stack, with its names */
};

static struct world {
	struct vm_memory vms;
	uint64_t woven[LANG_STACK_MAX];
	size_t n_reads;
} world;

/* One stopped process. */
struct target {
	pid_t pid, tid;
	struct process_image im;
	struct snapshot snap;
	struct memory *memory;
	struct langs *langs;
	struct lang_file file; /* the runtime's file, and its load bias */
	uint64_t bias;
	struct unwind_walk_input in;
	struct unwind_mapping *plain; /* mappings without generated code */
	size_t n_plain;
};

static int counted_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	world.n_reads++;
	return memory_read(ctx, addr, dst, len);
}

static struct lang_process process_of(const struct target *t)
{
	return (struct lang_process){
		.pid = (uint32_t)t->pid,
		.read = counted_read,
		.ctx = t->memory,
	};
}

/* ---- mappings ------------------------------------------------------------------ */

/* Publishes the process's mappings with its generated code, @n regions. */
static int publish(struct target *t, const struct unwind_mapping *regions, int n)
{
	int r = 0;

	t->im.mappings.len = 0;
	for (size_t i = 0; i < t->n_plain && r == 0; i++)
		r = vec_push(&t->im.mappings, t->plain[i]);
	for (int i = 0; i < n && r == 0; i++)
		r = process_image_cover(&t->im, &regions[i]);
	if (r < 0)
		return r;
	unwind_tables_retire_mappings(t->im.tables, &t->im.process, 0);
	unwind_tables_reap(t->im.tables, UINT64_MAX);
	return process_image_seal(&t->im);
}

static int find_machine(struct target *t)
{
	for (size_t i = 0; i < t->im.mappings.len; i++) {
		const struct unwind_mapping *m = &t->im.mappings.data[i];

		if (m->kind != MAPPING_FILE || !t->im.files.data[m->file].elf)
			continue;
		langs_detect(t->langs, t->im.files.data[m->file].elf, -1, &t->file);
		if (!t->file.vm)
			continue;
		t->bias = m->start + t->file.loop_off - m->file_off - t->file.loop_vaddr;
		return 0;
	}
	return -ENOENT;
}

/* ---- one stack -------------------------------------------------------------------- */

/* Walks and symbolizes; writes the methods one after the other, innermost first. */
static void tell(struct target *t, struct langs *l, char *out)
{
	struct lang_stack stack = { .process = process_of(t) };
	struct symbol_frame f;
	bool complete;
	size_t n, at = 0;

	world.n_reads = 0;
	t->in.process = t->im.process;
	t->in.process.reporting_bias = t->bias;
	stack.n_words = unwind_walk(t->im.walker, &t->in, &stack.words, &complete);
	assert(stack.n_words > 0 && stack.n_words <= RECORD_WORDS_MAX);
	assert(complete || stack.words[stack.n_words - 1] >> FRAME_KIND_SHIFT == FRAME_ERROR);
	n = langs_weave(l, &stack, world.woven);
	assert(n > 0 && n <= LANG_STACK_MAX);
	out[0] = 0;
	for (size_t i = 0; i < n; i++) {
		if (world.woven[i] >> FRAME_KIND_SHIFT != FRAME_SCRIPT)
			continue;
		langs_symbolize(l, world.woven[i], &f);
		assert(f.name && f.file && strlen(f.name) <= 4 * LANG_NAME_MAX);
		if (at < TEXT_MAX - 5 * LANG_NAME_MAX)
			at += (size_t)snprintf(out + at, TEXT_MAX - at, "%s,", f.name);
	}
	assert(world.n_reads <= READS_MAX);
}

static void lie_while_walking(struct target *t, long rounds)
{
	static char text[TEXT_MAX];

	for (long i = 0; i < rounds && memory_lie(t->memory); i++) {
		struct langs *l;
		int r = langs_new(&l, &world.vms.tables, true);

		assert(r == 0);
		tell(t, l, text);
		memory_restore(t->memory);
		langs_free(l);
	}
}

/* The reported code may be wrong too; the layouts of wrong code stay clear of the true one. */
static void lie_while_attaching(struct target *t, long rounds, uint32_t spare)
{
	static char text[TEXT_MAX];
	struct unwind_mapping regions[LANG_REGIONS_MAX];
	struct lang_process p = process_of(t);
	const struct vm_tables own = { .jvm = &world.vms.jvm[spare] };

	for (long i = 0; i < rounds && memory_lie(t->memory); i++) {
		struct langs *l;
		int r = langs_new(&l, &world.vms.tables, true), n;

		assert(r == 0);
		world.n_reads = 0;
		n = jvm_attach(&world.vms.tables, t->file.vm, t->bias, &p, &own, regions);
		assert(world.n_reads <= READS_MAX);
		n = n > 0 ? n & ~LANG_ATTACH_PARTIAL : 0;
		assert(n <= LANG_REGIONS_MAX);
		for (int k = 0; k < n; k++)
			regions[k].file =
				MAPPING_LANG_FILE(spare, MAPPING_LANG_DATA(regions[k].file));
		world.vms.codes[spare] = world.vms.codes[t->file.vm];
		r = publish(t, regions, n);
		assert(r == 0);
		unwind_walker_set_vms(t->im.walker, &world.vms.tables);
		tell(t, l, text);
		memory_restore(t->memory);
		langs_free(l);
	}
}

/* ---- a stop ------------------------------------------------------------------------- */

static int take(struct target *t)
{
	int r = process_image_init(&t->im);

	memset(world.vms.codes, 0, sizeof(world.vms.codes));
	memset(world.vms.jvm, 0, sizeof(world.vms.jvm));
	if (r == 0)
		r = langs_new(&t->langs, &world.vms.tables, true);
	if (r == 0)
		r = snapshot_take(&t->snap, t->tid);
	if (r == 0)
		r = snapshot_image(&t->snap, &t->im);
	if (r == 0)
		r = memory_new(&t->memory, t->pid);
	if (r == 0)
		r = find_machine(t);
	if (r < 0)
		return r;
	t->n_plain = t->im.mappings.len;
	t->plain = calloc(t->n_plain, sizeof(*t->plain));
	if (!t->plain)
		return -ENOMEM;
	memcpy(t->plain, t->im.mappings.data, t->n_plain * sizeof(*t->plain));
	t->in = (struct unwind_walk_input){
		.read = counted_read,
		.ctx = t->memory,
		.stack = t->snap.stack.data,
		.stack_len = t->snap.stack.len,
		.stack_at = t->snap.regs[UREG_SP],
	};
	memcpy(t->in.regs, t->snap.regs, sizeof(t->in.regs));
	return 0;
}

static void target_fini(struct target *t)
{
	langs_free(t->langs);
	memory_free(t->memory);
	snapshot_fini(&t->snap);
	process_image_fini(&t->im);
	free(t->plain);
}

/* 1: it holds @expected, and lies were borne; 0: it was elsewhere; -errno. */
static int check(pid_t pid, pid_t tid, const char *expected, long rounds)
{
	_cleanup_(target_fini) struct target t = { .pid = pid, .tid = tid };
	struct unwind_mapping regions[LANG_REGIONS_MAX];
	static char text[TEXT_MAX];
	struct lang_process p;
	size_t len;
	int r = take(&t), n;

	if (r < 0)
		return r;
	p = process_of(&t);
	memory_note(t.memory, true);
	n = langs_attach(t.langs, &t.file, t.bias, &p, regions);
	if (n <= 0 || n & LANG_ATTACH_PARTIAL)
		return -EINVAL;
	r = publish(&t, regions, n);
	if (r < 0)
		return r;
	unwind_walker_set_vms(t.im.walker, &world.vms.tables);
	tell(&t, t.langs, text);
	if (!strstr(text, expected)) {
		printf("elsewhere: %.400s\n", text);
		return 0;
	}
	len = t.snap.stack.len < STACK_LIES ? t.snap.stack.len : STACK_LIES;
	for (size_t i = 0; i + 64 <= len; i += 64)
		memory_note_words(t.memory, t.snap.stack.data + i, t.in.stack_at + i, 64);
	memory_note_words(t.memory, t.in.regs, t.in.stack_at, sizeof(t.in.regs));
	memory_note(t.memory, false);
	lie_while_walking(&t, rounds);
	lie_while_attaching(&t, rounds, MAPPING_LANG_VM(regions[0].file) + 1);
	return 1;
}

/* ---- the program ---------------------------------------------------------------------- */

static long ticks_of(pid_t pid, const char *tid)
{
	unsigned long user = 0;
	char path[64], line[1024];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fgets(line, sizeof(line), f) && strrchr(line, ')'))
		sscanf(strrchr(line, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu",
		       &user);
	fclose(f);
	return (long)user;
}

/* The thread with the most CPU time, and how much. */
static pid_t busiest(pid_t pid, long *out_ms)
{
	char path[32];
	struct dirent *d;
	pid_t best = 0;
	long most = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		/* ".." has the sum of the process */
		long ticks = d->d_name[0] == '.' ? 0 : ticks_of(pid, d->d_name);

		if (ticks <= most)
			continue;
		most = ticks;
		best = (pid_t)strtol(d->d_name, NULL, 10);
	}
	if (dir)
		closedir(dir);
	*out_ms = most * 1000 / sysconf(_SC_CLK_TCK);
	return best;
}

/* Waits until its busiest thread has run for @ms; 0: the process has ended. */
static pid_t wait_busy(pid_t pid, long ms)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	long had;
	pid_t tid;

	while (waitpid(pid, NULL, WNOHANG) == 0) {
		tid = busiest(pid, &had);
		if (tid && had >= ms)
			return tid;
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* Stops all threads and attaches to @tid. */
static int stop(pid_t pid, pid_t tid)
{
	int status;

	if (kill(pid, SIGSTOP) < 0 || waitpid(pid, &status, WUNTRACED) != pid ||
	    !WIFSTOPPED(status))
		return -ESRCH;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0 ||
	    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0)
		return -errno;
	return waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status) ? 0 : -ESRCH;
}

static void go_on(pid_t pid, pid_t tid)
{
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	kill(pid, SIGCONT);
}

static int look(pid_t pid, const char *expected, long rounds)
{
	int found = 0, r = 0;
	pid_t tid;

	for (long i = 0; i < TRIES_MAX && found < STOPS && r >= 0; i++) {
		tid = wait_busy(pid, BUSY_MS + i * BETWEEN_MS);
		r = tid ? stop(pid, tid) : -ESRCH;
		if (r == 0)
			r = check(pid, tid, expected, rounds);
		if (r > 0)
			found++;
		if (tid)
			go_on(pid, tid);
	}
	printf("%d stacks as they should be%s%s\n", found, r < 0 ? ", then: " : "",
	       r < 0 ? strerror(-r) : "");
	return r < 0 || found < STOPS;
}

int main(int argc, char **argv)
{
	int failed;
	pid_t pid;

	if (argc < 4) {
		fprintf(stderr, "usage: replay-jvm ROUNDS STACK JAVA [ARG...]\n");
		return 2;
	}
	vm_memory_init(&world.vms);
	srandom(9);
	pid = fork();
	if (pid == 0) {
		execv(argv[3], argv + 3);
		_exit(127);
	}
	failed = look(pid, argv[2], strtol(argv[1], NULL, 10));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return failed;
}
