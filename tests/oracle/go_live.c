/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stops a running Go program again and again and walks its stacks by the
 * rows of unwind/file_rows.h, with a plain reading of bpf/shared/unwind_rule.h and
 * unwind/go.h: every stack must end at a known outermost function.
 *
 *	go_live STOPS STEPS FUNCTION,FUNCTION... PROGRAM [ARG]...
 *
 * STOPS times some thread is stopped wherever it is and, if the last FUNCTION
 * is on its stack, followed for STEPS instructions. Stacks with the first
 * FUNCTION at their end must have all of them, in this order, from the leaf.
 * One in a hundred may fail: threads that have just begun, or are moved to a
 * handler by the signal's own handler.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "elf/gopclntab.h"
#include "elf/image.h"
#include "elf/symtab.h"
#include "unwind/file_rows.h"

enum {
	VDSO_LEN = 8192,
	FILES_MAX = 16,
	MAPS_MAX = 64,
	DEPTH_MAX = 200,
	FUNCTIONS_MAX = 16,
	THREADS_MAX = 64
};
enum { SETTLE_STOPS = 100, AWAIT_SPINS = 1000, AWAIT_TRIES = 2000, PATIENCE = 50 };
enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R15 = 15, RIP, N_REGS };

struct file {
	char path[256];
	struct elf_image *img;
	struct unwind_rows rows;
	struct gopclntab *go;
	struct elf_symtab *symbols;
};

struct map {
	uint64_t start, end, off;
	struct file *file;
};

struct target {
	pid_t pid;
	struct file files[FILES_MAX];
	size_t n_files;
	struct map maps[MAPS_MAX];
	size_t n_maps;
};

struct walk {
	uint64_t regs[N_REGS];
	bool leaf; /* all registers are those of the current frame */
	bool is_return;
	char names[DEPTH_MAX][128];
	size_t n;
	bool complete;
	char why[320];
};

/* ---- what is mapped where ---- */

static int image_open(struct elf_image **out, const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : elf_image_open(out, fd, NULL);
}

static struct file *file_open(struct target *t, const char *path)
{
	const void *vdso;
	struct file *f;

	for (size_t i = 0; i < t->n_files; i++)
		if (!strcmp(t->files[i].path, path))
			return &t->files[i];
	if (t->n_files == FILES_MAX)
		return NULL;
	f = &t->files[t->n_files];
	/* the vDSO of the target is the same as ours */
	vdso = (void *)getauxval(AT_SYSINFO_EHDR);
	if (path[0] == '[' ? elf_image_from_memory(&f->img, vdso, VDSO_LEN, NULL) < 0
			   : image_open(&f->img, path) < 0)
		return NULL;
	if (unwind_rows_from_file(&f->rows, f->img, NULL) < 0)
		return NULL;
	if (gopclntab_open(&f->go, f->img, NULL) < 0)
		f->go = NULL;
	elf_symtab_load(&f->symbols, f->img, ELF_SYMTAB | ELF_DYNSYM, NULL);
	snprintf(f->path, sizeof(f->path), "%s", path);
	t->n_files++;
	return f;
}

static void maps_read(struct target *t)
{
	_cleanup_(fclosep) FILE *maps = NULL;
	char line[512], path[256], perms[8];

	snprintf(line, sizeof(line), "/proc/%d/maps", t->pid);
	maps = fopen(line, "re");
	t->n_maps = 0;
	while (maps && t->n_maps < MAPS_MAX && fgets(line, sizeof(line), maps)) {
		struct map *m = &t->maps[t->n_maps];

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %255s", &m->start,
			   &m->end, perms, &m->off, path) != 5 ||
		    perms[2] != 'x' || (path[0] != '/' && strcmp(path, "[vdso]")))
			continue;
		m->file = file_open(t, path);
		if (m->file)
			t->n_maps++;
	}
}

static const struct map *map_at(struct target *t, uint64_t pc)
{
	for (int again = 0; again < 2; again++) {
		for (size_t i = 0; i < t->n_maps; i++)
			if (pc >= t->maps[i].start && pc < t->maps[i].end)
				return &t->maps[i];
		maps_read(t);
	}
	return NULL;
}

static const struct unwind_rule *rule_of(const struct unwind_rows *rows, uint64_t off)
{
	size_t n = unwind_rows_until(rows, off);

	return n ? unwind_rows_rule(rows, n - 1) : NULL;
}

static void name_frame(const struct file *f, uint64_t off, char *out, size_t out_cap)
{
	struct gopclntab_func func;
	struct elf_symbol symbol;
	uint64_t vaddr;

	snprintf(out, out_cap, "?");
	if (elf_image_vaddr_of(f->img, off, &vaddr) < 0)
		return;
	if (f->go && !gopclntab_find(f->go, vaddr, &func))
		snprintf(out, out_cap, "%s", func.name);
	else if (f->symbols && !elf_symtab_find(f->symbols, vaddr, &symbol))
		snprintf(out, out_cap, "%s", symbol.name);
}

/* ---- the walk ---- */

static bool read64(const struct target *t, uint64_t addr, uint64_t *out)
{
	struct iovec to = { out, sizeof(*out) }, from = { (void *)addr, sizeof(*out) };

	return process_vm_readv(t->pid, &to, 1, &from, 1, 0) == sizeof(*out);
}

static bool asmcgocall_cfa(const struct target *t, uint64_t rsp, const struct unwind_rule *rule,
			   uint64_t *out)
{
	uint64_t g, depth, hi;

	if (!read64(t, rsp + rule->cfa_off, &g) || !read64(t, rsp + rule->cfa_off - 8, &depth))
		return false;
	*out = depth + rule->cfa_add;
	if (!g)
		return true;
	if (!read64(t, g + 8, &hi))
		return false;
	*out = hi - depth + rule->cfa_add;
	return true;
}

static bool cfa_of(const struct target *t, const struct walk *w, const struct unwind_rule *rule,
		   uint64_t *out)
{
	switch (rule->cfa) {
	case UNWIND_CFA_SP_OFF:
	case UNWIND_CFA_SP_RA_REG:
		*out = w->regs[RSP] + rule->cfa_off;
		return rule->cfa == UNWIND_CFA_SP_OFF || w->leaf;
	case UNWIND_CFA_FP_OFF:
		*out = w->regs[RBP] + rule->cfa_off;
		return true;
	case UNWIND_CFA_AUX_OFF:
		*out = w->regs[RBX] + rule->cfa_off;
		return true;
	case UNWIND_CFA_REG:
		*out = w->regs[rule->cfa_reg] + rule->cfa_off;
		return w->leaf;
	case UNWIND_CFA_SP_DEREF:
	case UNWIND_CFA_FP_DEREF:
		if (!read64(t,
			    w->regs[rule->cfa == UNWIND_CFA_SP_DEREF ? RSP : RBP] + rule->cfa_off,
			    out))
			return false;
		*out += rule->cfa_add;
		return true;
	case UNWIND_CFA_PLT:
		*out = w->regs[RSP] + 8 + ((w->regs[RIP] & 15) >= (uint64_t)rule->cfa_off) * 8;
		return true;
	case UNWIND_CFA_FP:
		*out = w->regs[RBP] + 16;
		return true;
	case UNWIND_CFA_GO_ASMCGOCALL:
		return asmcgocall_cfa(t, w->regs[RSP], rule, out);
	default:
		return false;
	}
}

static bool restore(const struct target *t, struct walk *w, unsigned int reg, uint8_t how, int off,
		    uint64_t cfa)
{
	switch (how) {
	case UNWIND_SAVED_CFA:
		return read64(t, cfa + off, &w->regs[reg]);
	case UNWIND_SAVED_FP:
		return read64(t, w->regs[RBP] + off, &w->regs[reg]);
	case UNWIND_SAVED_UNDEF:
		w->regs[reg] = 0;
		return true;
	default:
		return how == UNWIND_SAVED_SAME;
	}
}

static bool step_signal(const struct target *t, struct walk *w, uint64_t ucontext)
{
	static const int from[N_REGS] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
					  REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
					  REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };
	uint64_t gregs = ucontext + offsetof(ucontext_t, uc_mcontext.gregs);

	for (size_t i = 0; i < N_REGS; i++)
		if (!read64(t, gregs + 8 * (uint64_t)from[i], &w->regs[i]))
			return false;
	w->leaf = true;
	w->is_return = false;
	return true;
}

static bool step(const struct target *t, struct walk *w, const struct unwind_rule *rule)
{
	const struct unwind_rule r = rule->cfa == UNWIND_CFA_FP
					     ? (struct unwind_rule){ .cfa = UNWIND_CFA_FP,
								     .fp = UNWIND_SAVED_CFA,
								     .fp_off = -16,
								     .ra_off = -8 }
					     : *rule;

	uint64_t cfa, ra;

	if (r.cfa == UNWIND_CFA_SIGNAL)
		return step_signal(t, w, w->regs[RSP] + r.cfa_off);
	if (!cfa_of(t, w, &r, &cfa))
		return false;
	if (r.cfa == UNWIND_CFA_SP_RA_REG)
		ra = w->regs[r.cfa_reg];
	else if (!read64(t, cfa + r.ra_off, &ra))
		return false;
	if (!restore(t, w, RBX, r.aux, r.aux_off, cfa) || !restore(t, w, RBP, r.fp, r.fp_off, cfa))
		return false;
	w->regs[RSP] = cfa;
	w->regs[RIP] = ra;
	w->leaf = false;
	w->is_return = r.cfa != UNWIND_CFA_SP_OFF || r.cfa_reg != UNWIND_INJECTED;
	return true;
}

static void walk(struct target *t, struct walk *w)
{
	for (w->n = 0; w->n < DEPTH_MAX;) {
		uint64_t pc = w->regs[RIP] - w->is_return;
		const struct map *m = map_at(t, pc);
		const struct unwind_rule *rule;

		if (!m) {
			snprintf(w->why, sizeof(w->why), "no mapping at %" PRIx64, pc);
			return;
		}
		name_frame(m->file, pc - m->start + m->off, w->names[w->n], sizeof(w->names[0]));
		w->n++;
		rule = rule_of(&m->file->rows, pc - m->start + m->off);
		if (rule && rule->cfa == UNWIND_CFA_END) {
			w->complete = true;
			return;
		}
		if (!rule || rule->cfa == UNWIND_CFA_NONE || !step(t, w, rule)) {
			snprintf(w->why, sizeof(w->why), "kind %d at %" PRIx64 " of %s",
				 rule ? rule->cfa : -1, pc - m->start + m->off, m->file->path);
			return;
		}
	}
	snprintf(w->why, sizeof(w->why), "too deep");
}

static bool walk_thread(struct target *t, pid_t tid, struct walk *w)
{
	struct user_regs_struct u;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &u) < 0)
		return false;
	*w = (struct walk){
		.regs = { u.rax, u.rdx, u.rcx, u.rbx, u.rsi, u.rdi, u.rbp, u.rsp, u.r8, u.r9, u.r10,
			  u.r11, u.r12, u.r13, u.r14, u.r15, u.rip },
		.leaf = true,
	};
	walk(t, w);
	return true;
}

/* ---- what is expected ---- */

struct expected {
	char *functions[FUNCTIONS_MAX];
	size_t n;
	size_t stacks, complete, relevant, whole;
};

static bool in_order(const struct walk *w, const struct expected *e)
{
	size_t at = 0;

	for (size_t i = 0; i < w->n && at < e->n; i++)
		if (!strcmp(w->names[i], e->functions[at]))
			at++;
	return at == e->n;
}

static bool on_stack(const struct walk *w, const char *function)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->names[i], function))
			return true;
	return false;
}

static void print_walk(const struct walk *w)
{
	fprintf(stderr, "%s:", w->why);
	for (size_t i = 0; i < w->n && i < 24; i++)
		fprintf(stderr, " %s", w->names[i]);
	fprintf(stderr, "\n");
}

static void judge(struct expected *e, const struct walk *w)
{
	bool whole = in_order(w, e);

	e->stacks++;
	e->complete += w->complete;
	if (w->n && !strcmp(w->names[0], e->functions[0])) {
		e->relevant++;
		e->whole += whole;
		if (!whole && e->relevant - e->whole < 10)
			print_walk(w);
	}
	if (!w->complete && e->stacks - e->complete < 20)
		print_walk(w);
}

/* ---- the program ---- */

static pid_t start(char **argv)
{
	int go[2];
	pid_t pid;
	char c;

	if (pipe2(go, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &c, 1) >= 0)
			execv(argv[0], argv);
		_exit(127);
	}
	if (pid > 0 && ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL) < 0)
		return -1;
	close(go[0]);
	close(go[1]);
	return pid;
}

static void resume(pid_t tid, int status, bool one_step)
{
	int sig = status >> 16 ? 0 : WSTOPSIG(status);

	ptrace(one_step ? PTRACE_SINGLESTEP : PTRACE_CONT, tid, NULL, sig == SIGTRAP ? 0 : sig);
}

/*
 * Continues after stops that are not examined: new threads, signals. Returns false when the program
 * has ended.
 */
static bool let_run(pid_t pid)
{
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
		if (WIFSTOPPED(status))
			resume(tid, status, false);
		else if (tid == pid)
			return false;
	}
	return true;
}

static pid_t any_thread(pid_t pid)
{
	pid_t tids[THREADS_MAX];
	_cleanup_(closedirp) DIR *dir = NULL;
	struct dirent *d;
	char path[64];
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && n < THREADS_MAX && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			tids[n++] = atoi(d->d_name);
	return n ? tids[rand() % n] : -1;
}

/*
 * Waits until @tid stops; other threads that stop meanwhile continue. Returns false if @tid does
 * not stop, because it is blocked or has ended.
 */
static bool await_stop(pid_t tid, int *out_status)
{
	const struct timespec pause = { .tv_nsec = 20000 };

	for (int i = 0; i < AWAIT_TRIES; i++) {
		pid_t other = waitpid(-1, out_status, __WALL | WNOHANG);

		if (other < 0)
			return false;
		if (other == tid)
			return WIFSTOPPED(*out_status);
		if (other && WIFSTOPPED(*out_status))
			resume(other, *out_status, false);
		if (!other && i > AWAIT_SPINS)
			nanosleep(&pause, NULL);
	}
	return false;
}

/* The goroutine may be on no stopped thread for a while: a few more stops are allowed then. */
static bool more_stops(long i, long stops, const struct expected *e)
{
	return i < stops || (!e->relevant && i < stops * PATIENCE);
}

/* Stops @tid and checks its stack, and again after each of @steps instructions. */
static void look(struct target *t, pid_t tid, int steps, struct expected *e)
{
	static struct walk w;
	int status, followed = 0;

	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0)
		return;
	for (; await_stop(tid, &status); steps--) {
		if (walk_thread(t, tid, &w)) {
			judge(e, &w);
			if (!followed++ && !on_stack(&w, e->functions[e->n - 1]))
				steps = 0;
		}
		resume(tid, status, steps > 0);
		if (steps <= 0)
			return;
	}
}

static bool most(size_t n, size_t all)
{
	return all && n * 100 >= all * 99;
}

int main(int argc, char **argv)
{
	static struct target t;
	struct expected e = { .n = 0 };
	long stops, steps;

	if (argc < 5)
		return 2;
	stops = atol(argv[1]);
	steps = atol(argv[2]);
	for (char *f; e.n < FUNCTIONS_MAX && (f = strsep(&argv[3], ","));)
		e.functions[e.n++] = f;

	t.pid = start(argv + 4);
	if (t.pid < 0)
		return errno == EPERM ? 77 : 2;
	/* the first stops are not checked, because the program creates its threads then */
	for (long i = -SETTLE_STOPS; more_stops(i, stops, &e) && let_run(t.pid); i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 + rand() % 2000000 }, NULL);
		if (i >= 0)
			look(&t, i % 2 ? any_thread(t.pid) : t.pid, (int)steps, &e);
	}
	kill(t.pid, SIGKILL);
	printf("%zu stacks, %zu complete; %zu with %s, %zu of them whole\n", e.stacks, e.complete,
	       e.relevant, e.functions[0], e.whole);
	return most(e.complete, e.stacks) && most(e.whole, e.relevant) ? 0 : 1;
}
