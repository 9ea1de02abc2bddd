/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay-python ROUNDS PYTHON [ARG...]: runs a Python program that writes down its own stack and
 * stops, again and again; each time its registers and memory are copied. The copy is
 * walked (bpf/lib, built for the host) and named, and must give what the program wrote.
 *
 * Then words of the copy that were read are replaced by others, ROUNDS times: walk and names
 * of a process that lies come to an end, stay in their memory, and give a frame for each.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lang/lang.h"
#include "proc/maps.h"
#include "snapshot.h"
#include "unwind/moment.h"
#include "unwind/walk.h"

enum { REGIONS_MAX = 1024, REGION_BYTES_MAX = 64 << 20, SPOTS_MAX = 8192, TEXT_MAX = 1 << 16 };

struct region {
	uint64_t start, len;
	uint8_t *data;
};

struct spot {
	uint8_t *at;
	uint64_t addr;
};

/* A process as it was, and which words of it were read. */
struct memory {
	struct region regions[REGIONS_MAX];
	size_t n_regions;
	struct spot spots[SPOTS_MAX];
	size_t n_spots;
	bool noting;
};

static struct world {
	struct vm_code codes[VM_TABLE_MAX];
#define X(sym, name) struct name##_vm name[VM_TABLE_MAX];
#include "bpf/shared/langs.def"
#undef X
	struct vm_tables vms;
	struct memory memory;
	uint64_t woven[LANG_STACK_MAX];
} world;

/* ---- the copy --------------------------------------------------------------- */

struct taking {
	struct memory *m;
	pid_t pid;
};

static int on_map(void *ctx, const struct proc_map *map)
{
	struct taking *t = ctx;
	struct region *r = &t->m->regions[t->m->n_regions];
	struct iovec local, remote;

	*r = (struct region){ .start = map->start, .len = map->end - map->start };
	if (!(map->prot & PROC_MAP_READ) || r->len > REGION_BYTES_MAX ||
	    t->m->n_regions == REGIONS_MAX - 1)
		return 0;
	r->data = malloc(r->len);
	local = (struct iovec){ r->data, r->len };
	remote = (struct iovec){ (void *)r->start, r->len }; /* NOLINT */
	if (r->data && process_vm_readv(t->pid, &local, 1, &remote, 1, 0) == (ssize_t)r->len)
		t->m->n_regions++;
	else
		free(r->data);
	return 0;
}

static void memory_fini(struct memory *m)
{
	for (size_t i = 0; i < m->n_regions; i++)
		free(m->regions[i].data);
	m->n_regions = 0;
	m->n_spots = 0;
}

static void note(struct memory *m, uint8_t *at, uint64_t addr, size_t len)
{
	for (size_t i = 0; i + 8 <= len && m->n_spots < SPOTS_MAX; i += 8)
		m->spots[m->n_spots++] = (struct spot){ at + i, addr + i };
}

static int read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct memory *m = ctx;

	for (size_t i = 0; i < m->n_regions; i++) {
		struct region *r = &m->regions[i];

		if (addr < r->start || addr - r->start >= r->len ||
		    len > r->len - (addr - r->start))
			continue;
		memcpy(dst, r->data + (addr - r->start), len);
		if (m->noting)
			note(m, r->data + (addr - r->start), addr, len);
		return 0;
	}
	return -EFAULT;
}

/* ---- the walk ----------------------------------------------------------------- */

/* Which file is the machine, and where it is. */
static int find_machine(struct langs *l, struct image *im)
{
	for (size_t i = 0; i < im->mappings.len; i++) {
		const struct unwind_mapping *m = &im->mappings.data[i];
		struct lang_file file = { 0 };

		if (m->kind != MAPPING_FILE || !im->files.data[m->file].elf)
			continue;
		langs_detect(l, im->files.data[m->file].elf, &file);
		if (!file.vm)
			continue;
		im->process.vms[0] = (struct vm_slot){
			.vm = file.vm,
			.file = m->file,
			.bias = m->start + file.loop_off - m->file_off - file.loop_vaddr,
		};
		return 0;
	}
	return -ENOENT;
}

static size_t walk(struct langs *l, struct image *im, struct unwind_walk_input *in, uint32_t pid)
{
	struct lang_stack stack = { .process = {
					    .pid = pid, .read = read_memory, .ctx = in->ctx } };
	bool complete;

	in->process = im->process;
	stack.n_words = unwind_walk(im->walker, in, &stack.words, &complete);
	stack.n_vm_words = unwind_walk_vm_words(im->walker, &stack.vm_words, &stack.cut);
	assert(stack.n_vm_words <= MOMENT_WORDS_MAX && stack.n_vm_words % 2 == 0);
	return langs_weave(l, &stack, world.woven);
}

/* The stack as the program writes it: NAME:LINE, innermost first. */
static void describe(const struct langs *l, size_t n, char *out)
{
	size_t at = 0;

	out[0] = 0;
	for (size_t i = 0; i < n; i++) {
		struct symbol_frame f;

		if (world.woven[i] >> FRAME_KIND_SHIFT != FRAME_SCRIPT)
			continue;
		langs_name(l, world.woven[i], &f);
		assert(f.name && f.file && strlen(f.name) <= 4 * LANG_NAME_MAX);
		if (at < TEXT_MAX - 6 * LANG_NAME_MAX)
			at += (size_t)snprintf(out + at, TEXT_MAX - at, "%s:%u\n", f.name, f.line);
	}
}

static uint64_t odd_word(const struct memory *m)
{
	static const uint64_t odd[] = {
		0, 1, 8, UINT64_MAX, INT64_MAX, 1ULL << 47, 4096, 1000000000
	};
	uint64_t rnd = (uint64_t)random();

	switch (rnd % 4) {
	case 0:
		return odd[rnd / 4 % (sizeof(odd) / sizeof(odd[0]))];
	case 1:
		return rnd * 0x9e3779b97f4a7c15ULL;
	default: /* somewhere that is read too: circles, one thing for another */
		return m->spots[rnd / 4 % m->n_spots].addr - 8 * (rnd / 64 % 16);
	}
}

static void lie(struct image *im, struct unwind_walk_input *in, long rounds)
{
	static char text[TEXT_MAX];
	struct memory *m = in->ctx;

	for (long i = 0; i < rounds && m->n_spots; i++) {
		struct {
			uint8_t *at;
			uint64_t was;
		} changed[3];
		size_t n = 1 + (size_t)random() % 3;
		struct langs *l;
		int r = langs_new(&l, &world.vms, true);

		assert(r == 0);
		for (size_t j = 0; j < n; j++) {
			uint64_t word = odd_word(m);

			changed[j].at = m->spots[(size_t)random() % m->n_spots].at;
			memcpy(&changed[j].was, changed[j].at, 8);
			memcpy(changed[j].at, &word, 1u << random() % 4);
		}
		describe(l, walk(l, im, in, 1), text);
		while (n--)
			memcpy(changed[n].at, &changed[n].was, 8);
		langs_free(l);
	}
}

static int check(pid_t pid, const char *expected, long rounds)
{
	_cleanup_(image_fini) struct image im;
	_cleanup_(snapshot_fini) struct snapshot snap = { 0 };
	_cleanup_(langs_freep) struct langs *l = NULL;
	struct unwind_walk_input in = { .read = read_memory, .ctx = &world.memory };
	struct taking t = { &world.memory, pid };
	struct user_regs_struct u;
	static char text[TEXT_MAX];
	int r = image_init(&im);

	if (r == 0)
		r = langs_new(&l, &world.vms, true);
	if (r == 0)
		r = snapshot_take(&snap, pid);
	if (r == 0)
		r = snapshot_image(&snap, &im);
	if (r == 0)
		r = proc_maps_read(pid, PROC_MAPS_ALL, on_map, &t, NULL);
	if (r == 0)
		r = find_machine(l, &im);
	if (r < 0 || ptrace(PTRACE_GETREGS, pid, NULL, &u) < 0)
		return r < 0 ? r : -errno;
	unwind_walker_set_vms(im.walker, &world.vms);
	memcpy(in.regs, snap.regs, sizeof(in.regs));
	in.stack = snap.stack.data;
	in.stack_len = snap.stack.len;
	in.stack_at = in.regs[UREG_RSP];
	in.fs_base = u.fs_base;
	world.memory.noting = true;
	describe(l, walk(l, &im, &in, 1), text);
	world.memory.noting = false;
	if (strcmp(text, expected)) {
		printf("not what it wrote:\n%s---\n%s", text, expected);
		r = -EINVAL;
	} else {
		lie(&im, &in, rounds);
	}
	memory_fini(&world.memory);
	return r;
}

/* ---- the program ---------------------------------------------------------------- */

/* What it wrote, up to an empty line. */
static int read_stack(int fd, char *out)
{
	size_t n = 0;

	while (n < 2 || memcmp(out + n - 2, "\n\n", 2)) {
		if (n == TEXT_MAX - 1 || read(fd, out + n, 1) != 1)
			return -EBADMSG;
		n++;
	}
	out[n - 1] = 0;
	return 0;
}

static pid_t start(char **argv, int out)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	dup2(out, STDOUT_FILENO);
	execv(argv[0], argv);
	_exit(127);
}

int main(int argc, char **argv)
{
	static char expected[TEXT_MAX];
	int fds[2], status, n = 0, r = 0;
	pid_t pid;

	if (argc < 3 || pipe(fds) < 0) {
		fprintf(stderr, "usage: replay-python ROUNDS PYTHON [ARG...]\n");
		return 2;
	}
	world.vms.codes = world.codes;
#define X(sym, name) world.vms.name = world.name;
#include "bpf/shared/langs.def"
#undef X
	srandom(9);
	pid = start(argv + 2, fds[1]);
	close(fds[1]);
	while (r == 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		bool asked = WSTOPSIG(status) == SIGSTOP;

		if (asked && n == 0)
			ptrace(PTRACE_SETOPTIONS, pid, NULL, (long)PTRACE_O_EXITKILL);
		if (asked)
			r = read_stack(fds[0], expected);
		if (asked && r == 0)
			r = check(pid, expected, strtol(argv[1], NULL, 10));
		n += asked && r == 0;
		ptrace(PTRACE_CONT, pid, NULL,
		       asked || WSTOPSIG(status) == SIGTRAP ? 0L : (long)WSTOPSIG(status));
	}
	if (r < 0)
		kill(pid, SIGKILL);
	printf("%d stacks as the program wrote them%s%s\n", n, r < 0 ? ", then: " : "",
	       r < 0 ? strerror(-r) : "");
	return r < 0 || !n || !WIFEXITED(status) || WEXITSTATUS(status);
}
