/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay CHAIN PROGRAM [ARG...]: stops the program a few times, captures its thread as `cameo
 * debug capture` does, and walks the stack in the capture. CHAIN lists functions, leaf first,
 * separated by commas: each walk that begins in the first of them must hold all of them in order.
 *
 * Each capture is walked again with less and less of its stack, whose rest cannot be read or
 * reads as zeros: those walks must give the same frames up to one that reports why there are no
 * more.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "capture/capture.h"
#include "elf/image.h"
#include "elf/symtab.h"
#include "snapshot.h"
#include "unwind/walk.h"

/* On a busy machine a program is mostly stopped in a system call instead of its leaf function. */
enum { STOPS_ENOUGH = 8, STOPS_MAX = 400, CUTS = 64 };

struct symbols {
	struct {
		VEC(struct elf_symtab *);
	} tables; /* by file id */
};

/* ---- names ---------------------------------------------------------------- */

static int load_symbols(struct symbols *s, const struct process_image *im)
{
	for (size_t i = 0; i < im->files.len; i++) {
		struct elf_symtab *t = NULL;
		int r;

		if (im->files.data[i].elf)
			(void)elf_symtab_load(&t, im->files.data[i].elf, ELF_SYMTAB | ELF_DYNSYM,
					      NULL);
		r = vec_push(&s->tables, t);
		if (r < 0)
			return r;
	}
	return 0;
}

static void symbols_fini(struct symbols *s)
{
	for (size_t i = 0; i < s->tables.len; i++)
		elf_symtab_free(s->tables.data[i]);
	vec_fini(&s->tables);
}

static const char *frame_name(const struct symbols *s, const struct process_image *im,
			      uint64_t word)
{
	uint64_t payload = word & FRAME_PAYLOAD_MASK, vaddr;
	uint32_t file = (uint32_t)(payload >> FRAME_OFFSET_BITS);
	struct elf_symbol sym;

	if (word >> FRAME_KIND_SHIFT == FRAME_ERROR)
		return unwind_error_text(payload);
	if (word >> FRAME_KIND_SHIFT != FRAME_NATIVE || file >= s->tables.len ||
	    !s->tables.data[file] ||
	    elf_image_vaddr_of(im->files.data[file].elf, payload & FRAME_OFFSET_MASK, &vaddr) < 0 ||
	    elf_symtab_find(s->tables.data[file], vaddr, &sym) < 0)
		return "?";
	return sym.name;
}

static bool name_is(const char *name, const char *chain, size_t len)
{
	return !strncmp(name, chain, len) && (!name[len] || name[len] == '.');
}

/* The names hold the chain's, in its order; others may stand between. */
static bool holds(const struct symbols *s, const struct process_image *im, const uint64_t *words,
		  size_t n, const char *chain)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strcspn(chain, ",");

		if (!name_is(frame_name(s, im, words[i]), chain, len))
			continue;
		chain += len;
		if (!*chain)
			return true;
		chain++;
	}
	return false;
}

static void show(const struct symbols *s, const struct process_image *im, const uint64_t *words,
		 size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%s%s", i ? " <- " : "  ", frame_name(s, im, words[i]));
	printf("\n");
}

/* ---- one snapshot ----------------------------------------------------------- */

/*
 * Walks with less of the stack: it must give a prefix of the same frames, and the reason why it
 * ends.
 */
static int check_cut(const struct process_image *im, struct unwind_walk_input *in,
		     const uint64_t *whole, size_t n_whole)
{
	const uint64_t *words;
	bool complete;
	size_t n = unwind_walk(im->walker, in, &words, &complete);

	if (complete)
		return n == n_whole && !memcmp(words, whole, n * sizeof(*words)) ? 0 : -EINVAL;
	if (!n || words[n - 1] >> FRAME_KIND_SHIFT != FRAME_ERROR || n - 1 > n_whole)
		return -EINVAL;
	return memcmp(words, whole, (n - 1) * sizeof(*words)) ? -EINVAL : 0;
}

static int read_zeros(void *ctx, uint64_t addr, void *dst, size_t len)
{
	(void)ctx;
	(void)addr;
	memset(dst, 0, len);
	return 0;
}

static int check_cuts(const struct symbols *symbols, const struct process_image *im,
		      struct unwind_walk_input *in, const uint64_t *words, size_t n)
{
	uint64_t whole[WALK_FRAMES_MAX + 1];
	size_t n_whole = n;
	bool complete;
	size_t len = in->stack_len;

	memcpy(whole, words, n * sizeof(*words));
	for (size_t i = 0; i < 2 * CUTS; i++) {
		size_t cut = i / 2;

		in->read = i % 2 ? read_zeros : NULL;
		/* first close to the start, where the frames are, then farther apart */
		in->stack_len = cut < CUTS / 2 ? cut * 8 : len * cut / CUTS;
		if (in->stack_len < len && check_cut(im, in, whole, n_whole) < 0) {
			printf("  with %zu bytes of stack the frames are others:\n", in->stack_len);
			n = unwind_walk(im->walker, in, &words, &complete);
			show(symbols, im, words, n);
			show(symbols, im, whole, n_whole);
			return -EINVAL;
		}
	}
	return 0;
}

/*
 * Returns 1 if the snapshot was in the chain's leaf and correct, 0 if it was elsewhere, or -errno.
 */
static int check_snapshot(const struct snapshot *snap, const char *chain)
{
	_cleanup_(process_image_fini) struct process_image im;
	_cleanup_(symbols_fini) struct symbols symbols = { 0 };
	struct unwind_walk_input in = { .stack = snap->stack.data, .stack_len = snap->stack.len };
	const uint64_t *words;
	bool complete;
	size_t n;
	int r = process_image_init(&im);

	if (r == 0)
		r = snapshot_image(snap, &im);
	if (r == 0)
		r = load_symbols(&symbols, &im);
	if (r < 0)
		return r;
	in.process = im.process;
	memcpy(in.regs, snap->regs, sizeof(in.regs));
	in.stack_at = in.regs[UREG_SP];
	n = unwind_walk(im.walker, &in, &words, &complete);
	if (!n || !name_is(frame_name(&symbols, &im, words[0]), chain, strcspn(chain, ",")))
		return 0;
	if (!complete || !holds(&symbols, &im, words, n, chain)) {
		show(&symbols, &im, words, n);
		return -EINVAL;
	}
	r = check_cuts(&symbols, &im, &in, words, n);
	return r < 0 ? r : 1;
}

/* Captures the stopped process and walks the capture. */
static int check_stop(pid_t pid, const char *chain)
{
	const struct capture_options opt = { .pid = pid };
	_cleanup_(snapshot_fini) struct snapshot snap = { 0 };
	struct buf file = { 0 }, trace = { 0 };
	int r = capture_stopped(&opt, &file, &trace, NULL);

	if (r == 0)
		r = snapshot_from_core(&snap, file.data, file.len);
	buf_fini(&file);
	buf_fini(&trace);
	return r < 0 ? r : check_snapshot(&snap, chain);
}

/* ---- the program ------------------------------------------------------------ */

static long cpu_ticks(pid_t pid)
{
	char path[64], line[1024] = "", *words;
	_cleanup_(closep) int fd = -1;
	long user = -1;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, line, sizeof(line) - 1) <= 0)
		return -1;
	words = strrchr(line, ')');
	if (!words ||
	    sscanf(words + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld", &user) != 1)
		return -1;
	return user;
}

/* Lets the program run for some CPU time; its own signals are passed on. */
static int run_a_while(pid_t pid)
{
	long until = cpu_ticks(pid) + 2;
	bool asked = false;
	int status, sig = 0;

	if (ptrace(PTRACE_CONT, pid, NULL, 0L) < 0)
		return -errno;
	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got < 0 || (got && !WIFSTOPPED(status)))
			return -ECHILD;
		if (got) {
			sig = WSTOPSIG(status);
			if (sig == SIGSTOP && asked)
				return 0;
			if (ptrace(PTRACE_CONT, pid, NULL, (long)sig) < 0)
				return -errno;
		} else if (!asked && cpu_ticks(pid) >= until) {
			asked = kill(pid, SIGSTOP) == 0;
		} else {
			usleep(1000);
		}
	}
}

static pid_t start(char **argv)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		return -1;
	ptrace(PTRACE_SETOPTIONS, pid, NULL, (long)PTRACE_O_EXITKILL);
	return pid;
}

int main(int argc, char **argv)
{
	int n_good = 0, n = 0, r = 0;
	pid_t pid = argc > 2 ? start(argv + 2) : -1;

	if (pid < 0) {
		fprintf(stderr, "usage: replay CHAIN PROGRAM [ARG...]\n");
		return 2;
	}
	for (; n < STOPS_MAX && n_good < STOPS_ENOUGH && r >= 0; n++) {
		r = run_a_while(pid);
		if (r == 0)
			r = check_stop(pid, argv[1]);
		n_good += r > 0;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("%d of %d stops hold %s%s%s\n", n_good, n, argv[1], r < 0 ? ": " : "",
	       r < 0 ? strerror(-r) : "");
	return r < 0 || n_good < STOPS_ENOUGH;
}
