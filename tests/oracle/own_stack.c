/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the program's own stack, with tables of its own files, and compares each return address
 * with those of the C library's backtrace(), which reads the same CFI by other code. The stack is
 * that of an interrupted function: a leaf without a frame of its own, a function that has called
 * the C library, and one that a signal handler called.
 *
 * Nothing here needs ptrace(2) or another process, so it also runs under an emulator of another
 * processor.
 */
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <ucontext.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "capture/process_image.h"
#include "elf/image.h"
#include "proc/maps.h"
#include "tests/test.h"
#include "unwind/walk.h"

enum { FRAMES_MAX = 64, STACK_BYTES = 24 * 1024 };

/* The findings of the signal's handler. */
static struct {
	volatile sig_atomic_t n; /* times that it ran */
	uint64_t regs[UREG_COUNT];
	int n_frames; /* from the interrupted function on */
	void *frames[FRAMES_MAX];
	uint8_t stack[STACK_BYTES];
	size_t stack_len;
} found;

static uint64_t stack_end;

static struct process_image image;

static void take_registers(const ucontext_t *uc, uint64_t out[UREG_COUNT])
{
#if defined(__x86_64__)
	static const int order[UREG_COUNT] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
					       REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
					       REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };

	for (size_t i = 0; i < UREG_COUNT; i++)
		out[i] = (uint64_t)uc->uc_mcontext.gregs[order[i]];
#else
	for (size_t i = 0; i < 31; i++)
		out[i] = uc->uc_mcontext.regs[i];
	out[UREG_SP] = uc->uc_mcontext.sp;
	out[UREG_PC] = uc->uc_mcontext.pc;
#endif
}

static void on_signal(int sig, siginfo_t *info, void *ctx)
{
	void *all[FRAMES_MAX];
	int n, at = 0;

	if (found.n)
		return;
	take_registers(ctx, found.regs);
	n = backtrace(all, FRAMES_MAX);
	while (at < n && (uint64_t)all[at] != found.regs[UREG_PC])
		at++;
	found.n_frames = n - at;
	memcpy(found.frames, all + at, (size_t)found.n_frames * sizeof(all[0]));
	found.stack_len = stack_end - found.regs[UREG_SP];
	if (found.stack_len > STACK_BYTES)
		found.stack_len = STACK_BYTES;
	memcpy(found.stack, (const void *)found.regs[UREG_SP], found.stack_len); /* NOLINT */
	found.n = 1;
}

static int read_self(void *ctx, uint64_t addr, void *dst, size_t len)
{
	memcpy(dst, (const void *)addr, len); /* NOLINT: an address of this process */
	return 0;
}

static int add_mapping(void *ctx, const struct proc_map *m)
{
	struct unwind_mapping map = { .start = m->start, .end = m->end, .file_off = m->file_off };
	bool is_vdso;

	if (m->start <= (uint64_t)&map && (uint64_t)&map < m->end)
		stack_end = m->end;
	if (!(m->prot & PROC_MAP_EXEC))
		return 0;
	is_vdso = !strcmp(m->path, "[vdso]");

	return process_image_add(&image, &map, m->path,
				 is_vdso ? (const void *)m->start : NULL, /* NOLINT */
				 is_vdso ? m->end - m->start : 0);
}

static int setup(void **state)
{
	/* the text: an emulator passes no query of mappings on to the kernel */
	_cleanup_(closep) int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	void *one[1];

	backtrace(one, 1); /* loads libgcc, which it must not do in a handler */
	return fd < 0 || process_image_init(&image) ||
	       proc_maps_read_text(fd, PROC_MAPS_ALL, add_mapping, NULL, NULL) ||
	       process_image_seal(&image);
}

static int teardown(void **state)
{
	process_image_fini(&image);
	return 0;
}

/* The address of a native frame; 0 if it is another. */
static uint64_t address_of(uint64_t word)
{
	uint32_t file = (uint32_t)((word & FRAME_PAYLOAD_MASK) >> FRAME_OFFSET_BITS);
	uint64_t off = word & FRAME_OFFSET_MASK;

	if (word >> FRAME_KIND_SHIFT == FRAME_ADDRESS)
		return word & FRAME_PAYLOAD_MASK;
	for (size_t i = 0; i < image.mappings.len; i++) {
		const struct unwind_mapping *m = &image.mappings.data[i];

		if (m->file == file && off - m->file_off < m->end - m->start)
			return m->start + (off - m->file_off);
	}
	return 0;
}

/* Walks from the registers of the handler on; each frame must be the other unwinder's. */
static void assert_same_frames(int n_min)
{
	struct unwind_walk_input in = { .process = image.process,
					.read = read_self,
					.is_stopped = true };
	const uint64_t *words;
	bool complete;
	size_t n;

	assert_true(found.n);
	memcpy(in.regs, found.regs, sizeof(in.regs));
	in.stack = found.stack;
	in.stack_len = found.stack_len;
	in.stack_at = found.regs[UREG_SP];
	n = unwind_walk(image.walker, &in, &words, &complete);
	for (size_t i = 0; i < n; i++)
		if (words[i] >> FRAME_KIND_SHIFT == FRAME_ERROR)
			print_message("frame %zu: %s\n", i,
				      unwind_error_text(words[i] & FRAME_PAYLOAD_MASK));
	assert_true(complete);
	assert_in_range(found.n_frames, n_min, FRAMES_MAX);
	assert_in_range(n, found.n_frames, found.n_frames + 1); /* backtrace() may omit _start() */
	for (int i = 0; i < found.n_frames; i++) {
		uint64_t theirs = (uint64_t)found.frames[i], ours = address_of(words[i]);

		/* a caller is the byte before its return address, except below a signal frame */
		if (ours != theirs && ours != theirs - 1)
			print_message("frame %d: %#lx instead of %#lx\n", i, ours, theirs);
		assert_true(ours == theirs || ours == theirs - 1);
	}
}

/* ---- stacks --------------------------------------------------------------------- */

static volatile unsigned long turns;
static void (*volatile innermost)(void);

/* A leaf: it calls nothing, and so it need not save its return address. */
static __attribute__((noinline)) void spin(void)
{
	while (!found.n)
		turns++;
}

static __attribute__((noinline)) void call_library(void)
{
	raise(SIGUSR1);
	turns++;
}

static __attribute__((noinline)) void middle(unsigned long n)
{
	volatile char buffer[512];

	buffer[n] = 1;
	innermost();
	turns += (unsigned long)buffer[n];
}

static __attribute__((noinline)) void outer(void)
{
	middle(turns % 512);
	turns++;
}

static void in_handler(int sig)
{
	innermost = call_library;
	outer();
	turns++;
}

static void handle(int sig, struct sigaction *action)
{
	sigemptyset(&action->sa_mask);
	assert_int_equal(sigaction(sig, action, NULL), 0);
}

static void begin(void (*leaf)(void))
{
	found.n = 0;
	innermost = leaf;
	handle(SIGUSR1, &(struct sigaction){ .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO });
	handle(SIGALRM, &(struct sigaction){ .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO });
	handle(SIGUSR2, &(struct sigaction){ .sa_handler = in_handler });
}

static void walks_from_a_leaf_function(void **state)
{
	const struct itimerval soon = { .it_value.tv_usec = 20000, .it_interval.tv_usec = 20000 };
	const struct itimerval never = { 0 };

	begin(spin);
	setitimer(ITIMER_REAL, &soon, NULL);
	outer();
	setitimer(ITIMER_REAL, &never, NULL);
	assert_same_frames(5);
}

static void walks_out_of_the_c_library(void **state)
{
	begin(call_library);
	outer();
	assert_same_frames(6);
}

static void raise_second(void)
{
	raise(SIGUSR2);
	turns++;
}

static void walks_through_a_signal_handler(void **state)
{
	/* an emulator's own restorer is in no file */
	if (!getauxval(AT_SYSINFO_EHDR))
		skip();
	begin(raise_second);
	outer();
	assert_same_frames(12);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(walks_from_a_leaf_function),
					    cmocka_unit_test(walks_out_of_the_c_library),
					    cmocka_unit_test(walks_through_a_signal_handler) };

	return cmocka_run_group_tests(tests, setup, teardown);
}
