/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay-python ROUNDS PYTHON [ARG...]: runs a Python program that writes down its own stack and
 * stops, again and again; each time its registers and memory are copied. The copy is
 * walked (bpf/lib, built for the host) and symbolized, and must equal what the program wrote.
 *
 * Then the same stack is walked as one of a program that the agent had not published: the sampler
 * reads the interpreter's list of frames (bpf/lib/newcomer.h), and the stack is walked later.
 *
 * Then words of the copy that were read are replaced by others, ROUNDS times: walking and
 * symbolizing a process with wrong data terminates, stays within its memory, and returns a frame
 * for each word.
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

#include "arch/arch.h"
#include "base/cleanup.h"
#include "lang/lang.h"
#include "lang/vm_memory.h"
#include "memory.h"
#include "snapshot.h"
#include "unwind/walk.h"

enum { TEXT_MAX = 1 << 16, PID = 1 };

static struct world {
	struct vm_memory vms;
	uint64_t woven[LANG_STACK_MAX];
	size_t n_loops, n_activations; /* in the stack walked last */
} world;

/* ---- the walk ----------------------------------------------------------------- */

/* The file of the interpreter, and its address. */
static int find_machine(struct langs *l, struct process_image *im)
{
	for (size_t i = 0; i < im->mappings.len; i++) {
		const struct unwind_mapping *m = &im->mappings.data[i];
		struct lang_file file = { 0 };

		if (m->kind != MAPPING_FILE || !im->files.data[m->file].elf)
			continue;
		langs_detect(l, im->files.data[m->file].elf, -1, &file);
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

static void count_activations(const struct lang_stack *s)
{
	world.n_loops = world.n_activations = 0;
	for (size_t i = 0; i < s->n_words; i++)
		if (s->words[i] >> FRAME_KIND_SHIFT == FRAME_NATIVE && VM_LOOP_SLOT(s->words[i]))
			world.n_loops++;
	for (size_t i = 0; i < s->n_vm_words; i += 2)
		if (s->vm_words[i] & VM_FRAME_LAST)
			world.n_activations++;
}

static size_t walk(struct langs *l, struct process_image *im, struct unwind_walk_input *in)
{
	struct lang_stack stack = { .process = {
					    .pid = PID, .read = memory_read, .ctx = in->ctx } };
	bool complete;

	in->process = im->process;
	stack.n_words = unwind_walk(im->walker, in, &stack.words, &complete);
	stack.n_vm_words = unwind_walk_vm_words(im->walker, &stack.vm_words, &stack.truncated);
	assert(stack.n_vm_words <= VM_WORDS_MAX && stack.n_vm_words % 2 == 0);
	count_activations(&stack);
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
		langs_symbolize(l, world.woven[i], &f);
		assert(f.name && f.file && strlen(f.name) <= 4 * LANG_NAME_MAX);
		if (at < TEXT_MAX - 6 * LANG_NAME_MAX)
			at += (size_t)snprintf(out + at, TEXT_MAX - at, "%s:%u\n", f.name, f.line);
	}
}

static void lie(struct process_image *im, struct unwind_walk_input *in, long rounds)
{
	static char text[TEXT_MAX];

	for (long i = 0; i < rounds && memory_lie(in->ctx); i++) {
		struct langs *l;
		int r = langs_new(&l, &world.vms.tables, true);

		assert(r == 0);
		describe(l, walk(l, im, in), text);
		memory_restore(in->ctx);
		langs_free(l);
	}
}

/* Compares the stack that was walked last with the one that the program wrote. */
static int judge(const char *text, const char *expected)
{
	if (strcmp(text, expected)) {
		printf("not what it wrote:\n%s---\n%s", text, expected);
		return -EINVAL;
	}
	if (world.n_loops != world.n_activations) {
		printf("%zu loops, but %zu activations:\n%s", world.n_loops, world.n_activations,
		       expected);
		return -EINVAL;
	}
	return 0;
}

/*
 * The list of frames is read without the mappings, of which the sampler knows none, and the native
 * stack from the copy alone: a second reading of the list would find nothing.
 */
static int check_raw(struct langs *l, struct process_image *im, const struct unwind_walk_input *in,
		     const char *expected)
{
	static uint64_t lists[RAW_VM_WORDS_MAX];
	static char text[TEXT_MAX];
	struct unwind_walk_input at = *in;
	const uint64_t *words;
	bool complete, is_cut;

	at.process = (struct unwind_process){ .vms = { im->process.vms[0] } };
	unwind_walk(im->walker, &at, &words, &complete);
	at.n_lists = unwind_walk_vm_words(im->walker, &words, &is_cut);
	if (complete || is_cut || !at.n_lists || at.n_lists > RAW_VM_WORDS_MAX) {
		printf("%zu words of a list read without mappings\n", at.n_lists);
		return -EINVAL;
	}
	memcpy(lists, words, at.n_lists * sizeof(*lists));
	at.lists = lists;
	at.lists_are_late = true;
	at.read = NULL;
	describe(l, walk(l, im, &at), text);
	return judge(text, expected);
}

static int check(pid_t pid, const char *expected, long rounds)
{
	_cleanup_(process_image_fini) struct process_image im;
	_cleanup_(snapshot_fini) struct snapshot snap = { 0 };
	_cleanup_(langs_freep) struct langs *l = NULL;
	_cleanup_(memory_freep) struct memory *memory = NULL;
	struct unwind_walk_input in = { .read = memory_read };
	struct user_regs_struct u;
	struct iovec all = { &u, sizeof(u) };
	static char text[TEXT_MAX];
	int r = process_image_init(&im);

	if (r == 0)
		r = langs_new(&l, &world.vms.tables, true);
	if (r == 0)
		r = snapshot_take(&snap, pid);
	if (r == 0)
		r = snapshot_image(&snap, &im);
	if (r == 0)
		r = memory_new(&memory, pid);
	if (r == 0)
		r = find_machine(l, &im);
	if (r < 0 || ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &all) < 0)
		return r < 0 ? r : -errno;
	unwind_walker_set_vms(im.walker, &world.vms.tables);
	memcpy(in.regs, snap.regs, sizeof(in.regs));
	in.stack = snap.stack.data;
	in.stack_len = snap.stack.len;
	in.stack_at = in.regs[UREG_SP];
	in.thread_pointer = arch_thread_pointer(&u);
	in.ctx = memory;
	memory_note(memory, true);
	describe(l, walk(l, &im, &in), text);
	memory_note(memory, false);
	r = judge(text, expected);
	if (r == 0)
		r = check_raw(l, &im, &in, expected);
	if (r == 0)
		lie(&im, &in, rounds);
	return r;
}

/* ---- the program ---------------------------------------------------------------- */

/* The stack that the program wrote, up to an empty line. */
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
	vm_memory_init(&world.vms);
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
