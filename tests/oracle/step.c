/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the walk's step with libdw at every instruction: each program on the command line is
 * single-stepped from its breakpoint (see tests/programs/native/prologues.c) to its end, through
 * libc, the loader's lazy binding, the vDSO and a signal handler. Wherever libdw finds the caller's
 * registers by CFI, the step must find the same. libdw's results are evaluated here by code that
 * shares nothing with ours.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "capture/process_image.h"
#include "elf/image.h"
#include "proc/maps.h"
#include "unwind/walk.h"

enum {
	STEPS_MAX = 3000000,
	STEPS_ENOUGH = 2000, /* with fewer steps the program has not done its work */
	SHOWN_MAX = 10,
	EVAL_DEPTH = 16,
};

struct caller {
	uint64_t regs[UREG_COUNT];
	bool known[UREG_COUNT];
	bool end;    /* the outermost frame */
	bool beyond; /* the caller is in registers only (the last instructions of longjmp): no rule
			can express that */
};

struct stepper {
	pid_t pid;
	struct process_image image;
	struct {
		VEC(Dwarf_CFI *);
	} cfi; /* by file id */
	uint64_t regs[UREG_COUNT];
	unsigned long n_steps, n_compared, n_without, n_signal, n_beyond, n_wrong;
};

static int read_process(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct stepper *s = ctx;
	struct iovec local = { dst, len }, remote = { (void *)addr, len }; /* NOLINT */

	return process_vm_readv(s->pid, &local, 1, &remote, 1, 0) == (ssize_t)len ? 0 : -1;
}

/* ---- libdw's result ------------------------------------------------------- */

struct eval {
	struct stepper *s;
	uint64_t stack[EVAL_DEPTH];
	size_t n;
	uint64_t cfa;
	bool is_value;    /* DW_OP_stack_value: the result is the value itself, not its address */
	bool is_register; /* the value is in the register with that number */
};

static bool push(struct eval *e, uint64_t v)
{
	if (e->n == EVAL_DEPTH)
		return false;
	e->stack[e->n++] = v;
	return true;
}

static bool binary(struct eval *e, unsigned int atom)
{
	uint64_t a, b;

	if (e->n < 2)
		return false;
	b = e->stack[--e->n];
	a = e->stack[--e->n];
	switch (atom) {
	case DW_OP_plus:
		return push(e, a + b);
	case DW_OP_minus:
		return push(e, a - b);
	case DW_OP_mul:
		return push(e, a * b);
	case DW_OP_and:
		return push(e, a & b);
	case DW_OP_ge:
		return push(e, (int64_t)a >= (int64_t)b);
	default:
		return push(e, a << b);
	}
}

static bool eval_op(struct eval *e, const Dwarf_Op *op)
{
	uint64_t v;

	if (op->atom >= DW_OP_breg0 && op->atom < DW_OP_breg0 + UREG_COUNT)
		return push(e, e->s->regs[op->atom - DW_OP_breg0] + op->number);
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(e, op->atom - DW_OP_lit0);
	switch (op->atom) {
	case DW_OP_bregx:
		return op->number < UREG_COUNT && push(e, e->s->regs[op->number] + op->number2);
	case DW_OP_regx:
		e->is_register = true;
		return push(e, op->number);
	case DW_OP_call_frame_cfa:
		return push(e, e->cfa);
	case DW_OP_stack_value:
		e->is_value = true;
		return true;
	case DW_OP_deref:
		return e->n && !read_process(e->s, e->stack[e->n - 1], &v, sizeof(v)) &&
		       (e->n--, push(e, v));
	case DW_OP_plus_uconst:
		return e->n && (v = e->stack[--e->n], push(e, v + op->number));
	case DW_OP_plus:
	case DW_OP_minus:
	case DW_OP_mul:
	case DW_OP_and:
	case DW_OP_ge:
	case DW_OP_shl:
		return binary(e, op->atom);
	default:
		return false;
	}
}

static bool eval_ops(struct eval *e, const Dwarf_Op *ops, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!eval_op(e, &ops[i]))
			return false;
	return e->n > 0;
}

/* Computes a register of the caller from the location that the operations give. */
static bool caller_register(struct stepper *s, Dwarf_Frame *frame, uint64_t cfa, int reg,
			    uint64_t *out)
{
	struct eval e = { .s = s, .cfa = cfa };
	Dwarf_Op mem[3], *ops;
	uint64_t v;
	size_t n;

	if (dwarf_frame_register(frame, reg, mem, &ops, &n) < 0)
		return false;
	if (!n) {
		*out = s->regs[reg];
		return !ops;
	}
	if (!eval_ops(&e, ops, n))
		return false;
	v = e.stack[e.n - 1];
	if (e.is_register)
		v = v < UREG_COUNT ? s->regs[v] : 0;
	else if (!e.is_value && read_process(s, v, &v, sizeof(v)) < 0)
		return false;
	*out = v;
	return true;
}

static bool their_cfa(struct stepper *s, Dwarf_Frame *frame, uint64_t *out)
{
	struct eval e = { .s = s };
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) < 0 || !n || !eval_ops(&e, ops, n))
		return false;
	*out = e.stack[e.n - 1];
	return true;
}

/* True if no part of the caller is at or above rsp. */
static bool is_in_registers(Dwarf_Frame *frame, int ra)
{
	Dwarf_Op mem[3], *ops, *cfa_ops;
	size_t n, n_cfa;

	return dwarf_frame_register(frame, ra, mem, &ops, &n) == 0 && n == 1 &&
	       ops[0].atom == DW_OP_regx && dwarf_frame_cfa(frame, &cfa_ops, &n_cfa) == 0 &&
	       n_cfa && (cfa_ops[0].atom != DW_OP_bregx || cfa_ops[0].number != UREG_SP);
}

static bool is_undefined(Dwarf_Frame *frame, int reg)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	return dwarf_frame_register(frame, reg, mem, &ops, &n) == 0 && !n && ops;
}

/* Finds the caller by libdw; false if it has no CFI for this instruction. */
static bool their_caller(struct stepper *s, struct caller *out)
{
	static const int compared[] = { UREG_AUX, UREG_FP, UREG_SP };
	const struct unwind_mapping *m = process_image_find(&s->image, s->regs[UREG_PC]);
	_cleanup_(freep) Dwarf_Frame *frame = NULL;
	uint64_t vaddr, cfa = 0;
	bool signal;
	int ra;

	if (!m || m->file >= s->cfi.len || !s->cfi.data[m->file])
		return false;
	if (elf_image_vaddr_of(s->image.files.data[m->file].elf,
			       s->regs[UREG_PC] - m->start + m->file_off, &vaddr) < 0 ||
	    dwarf_cfi_addrframe(s->cfi.data[m->file], vaddr, &frame) != 0)
		return false;
	ra = dwarf_frame_info(frame, NULL, NULL, &signal);
	s->n_signal += signal;
	out->end = is_undefined(frame, ra);
	out->beyond = is_in_registers(frame, ra);
	if (out->end || out->beyond)
		return true;
	if (!their_cfa(s, frame, &cfa))
		return false;
	for (size_t i = 0; i < sizeof(compared) / sizeof(compared[0]); i++)
		out->known[compared[i]] =
			caller_register(s, frame, cfa, compared[i], &out->regs[compared[i]]);
	out->known[UREG_PC] = caller_register(s, frame, cfa, ra, &out->regs[UREG_PC]);
	return out->known[UREG_PC];
}

/* ---- ours ----------------------------------------------------------------- */

static bool same_caller(const struct caller *theirs, int r, const uint64_t ours[UREG_COUNT])
{
	/* walk_step_result: zero is "go on"; the next step judges a zero return address */
	if (theirs->end)
		return r != 0;
	if (r != 0)
		return false;
	for (int i = 0; i < UREG_COUNT; i++)
		if (theirs->known[i] && theirs->regs[i] != ours[i])
			return false;
	return true;
}

static void show(const struct stepper *s, const struct caller *theirs, int r,
		 const uint64_t ours[UREG_COUNT])
{
	static const int shown[] = { UREG_PC, UREG_SP, UREG_FP, UREG_AUX };
	const struct unwind_mapping *m = process_image_find(&s->image, s->regs[UREG_PC]);
	uint64_t off = s->regs[UREG_PC] - m->start + m->file_off;

	printf("  %s file offset %#lx%s%s\n", s->image.files.data[m->file].path, off,
	       r ? ", we stop" : "", theirs->end ? ", libdw ends" : "");
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		printf("    register %2d: ours %#lx, libdw's %#lx%s\n", shown[i], ours[shown[i]],
		       theirs->regs[shown[i]], theirs->known[shown[i]] ? "" : " (not known)");
}

static void compare(struct stepper *s)
{
	struct unwind_walk_input in = { .process = s->image.process,
					.read = read_process,
					.ctx = s };
	struct caller theirs = { 0 };
	uint64_t ours[UREG_COUNT];
	int r;

	if (!their_caller(s, &theirs)) {
		s->n_without++;
		return;
	}
	s->n_beyond += theirs.beyond;
	if (theirs.beyond)
		return;
	memcpy(in.regs, s->regs, sizeof(in.regs));
	r = unwind_walk_step(s->image.walker, &in, ours);
	s->n_compared++;
	if (!same_caller(&theirs, r, ours) && s->n_wrong++ < SHOWN_MAX)
		show(s, &theirs, r, ours);
}

/* ---- the program ---------------------------------------------------------- */

static int on_map(void *ctx, const struct proc_map *m)
{
	struct stepper *s = ctx;
	struct unwind_mapping map = { .start = m->start, .end = m->end, .file_off = m->file_off };
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); /* NOLINT */

	if (!strcmp(m->path, "[vdso]"))
		return process_image_add(&s->image, &map, m->path, vdso, m->end - m->start);
	return process_image_add(&s->image, &map, m->path, NULL, 0);
}

/* Opens libdw's CFI of each file that has tables. */
static int open_cfi(struct stepper *s)
{
	for (size_t i = 0; i < s->image.files.len; i++) {
		const char *path = s->image.files.data[i].path;
		char *vdso = (char *)getauxval(AT_SYSINFO_EHDR); /* NOLINT */
		int fd = open(path, O_RDONLY | O_CLOEXEC), r;
		Elf *elf = NULL;

		if (fd >= 0)
			elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
		else if (!strcmp(path, "[vdso]"))
			elf = elf_memory(vdso, 8192);
		r = vec_push(&s->cfi, elf ? dwarf_getcfi_elf(elf) : NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

static int get_registers(struct stepper *s)
{
	struct user_regs_struct u;
	struct iovec all = { &u, sizeof(u) };

	if (ptrace(PTRACE_GETREGSET, s->pid, NT_PRSTATUS, &all) < 0)
		return -errno;
	arch_registers(&u, s->regs);
	return 0;
}

/* Makes a step, with the signal that stopped the program. Returns true while the program exists. */
static bool step(struct stepper *s, int sig)
{
	return ptrace(PTRACE_SINGLESTEP, s->pid, NULL, (long)sig) == 0;
}

/* Starts @path and lets it run up to its breakpoint. */
static int start(struct stepper *s, const char *path)
{
	int status;

	s->pid = fork();
	if (s->pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	if (s->pid < 0 || waitpid(s->pid, &status, 0) < 0 || !WIFSTOPPED(status))
		return -ECHILD;
	ptrace(PTRACE_SETOPTIONS, s->pid, NULL, (long)PTRACE_O_EXITKILL);
	if (ptrace(PTRACE_CONT, s->pid, NULL, 0L) < 0 || waitpid(s->pid, &status, 0) < 0 ||
	    !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		return -ECHILD;
	return 0;
}

static int run(struct stepper *s)
{
	int status, sig = 0;

	while (s->n_steps < STEPS_MAX) {
		if (get_registers(s) < 0)
			return -ECHILD;
		compare(s);
		s->n_steps++;
		if (!step(s, sig) || waitpid(s->pid, &status, 0) < 0)
			return -ECHILD;
		if (WIFEXITED(status))
			return WEXITSTATUS(status) ? -ECHILD : 0;
		if (!WIFSTOPPED(status))
			return -ECHILD;
		sig = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	}
	return -ELOOP;
}

static void stepper_fini(struct stepper *s)
{
	if (s->pid > 0 && kill(s->pid, SIGKILL) == 0)
		waitpid(s->pid, NULL, 0);
	for (size_t i = 0; i < s->cfi.len; i++)
		if (s->cfi.data[i])
			dwarf_cfi_end(s->cfi.data[i]);
	vec_fini(&s->cfi);
	process_image_fini(&s->image);
}

static int check_program(const char *path)
{
	_cleanup_(stepper_fini) struct stepper s = { 0 };
	int r = process_image_init(&s.image);

	if (r == 0)
		r = start(&s, path);
	if (r == 0)
		r = proc_maps_read(s.pid, PROC_MAPS_EXEC, on_map, &s, NULL);
	if (r == 0)
		r = process_image_seal(&s.image);
	if (r == 0)
		r = open_cfi(&s);
	if (r == 0)
		r = run(&s);
	if (r == 0)
		s.pid = 0; /* the program has ended */
	printf("%s: %lu steps, %lu compared, %lu of them in signal frames, %lu without CFI in "
	       "libdw, "
	       "%lu with the caller in registers only, %lu differ%s%s\n",
	       path, s.n_steps, s.n_compared, s.n_signal, s.n_without, s.n_beyond, s.n_wrong,
	       r ? ": " : "", r ? strerror(-r) : "");
	return r < 0 || s.n_wrong || s.n_compared < STEPS_ENOUGH || !s.n_signal ||
	       s.n_without + s.n_beyond > s.n_steps / 50;
}

int main(int argc, char **argv)
{
	int r = argc < 2;

	elf_version(EV_CURRENT);
	for (int i = 1; i < argc; i++)
		r |= check_program(argv[i]);
	return r;
}
