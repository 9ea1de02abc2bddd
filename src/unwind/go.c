/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates Go's stack depths into unwind rows. A function's pcsp table gives rsp's distance d
 * from the start of the frame at each instruction: CFA = rsp + d + 8. The table does not
 * state whether rbp is saved at CFA - 16; the instruction that builds the frame shows it. Go
 * preserves no other register, so rbx is lost.
 *
 * A dozen functions of the runtime, written in assembly, switch to another stack, which the table
 * does not describe. They are known by name; the instructions that move rsp and the stores around
 * them are searched for, and change the rule from there on. They are few, short and have hardly
 * changed since Go 1.4. If a search fails, the function's frame pointer or plain depth is used. No
 * other code is decoded.
 */
#include "unwind/go.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "bpf/arch/code.h"
#include "elf/gopclntab.h"
#include "elf/image.h"

enum {
	PADDING_MAX = 32, /* alignment of functions at most */
	DEPTH_MAX = INT32_MAX - 8,
	MARKS_MAX = 10,
	REG_RDX = 1, /* DWARF number */
};

/* The effect of a special function. */
enum kind {
	KIND_NORMAL,
	KIND_END,         /* is the outermost function of a stack */
	KIND_LEAVES,      /* switches to an unrelated stack */
	KIND_CLONE,       /* the new thread's code follows the return in the old thread */
	KIND_FRAME,       /* switches to another stack and back, and keeps rbp */
	KIND_SYSTEMSTACK, /* the same, but up to Go 1.20 without a frame of its own */
	KIND_ASMCGOCALL,  /* see go.h */
	KIND_SAVES,       /* is called from C, so it preserves rbx */
	KIND_INJECTED,    /* a signal handler makes it the callee of the interrupted function */
	KIND_SIGRETURN,
};

static const struct {
	const char *name;
	enum kind kind;
} special[] = {
	{ "runtime.goexit", KIND_END },
	{ "runtime.mstart", KIND_END },
	{ "runtime.rt0_go", KIND_END },
	{ "runtime.mcall", KIND_LEAVES },
	{ "runtime.gogo", KIND_LEAVES },
	{ "gogo", KIND_LEAVES },
	{ "runtime.morestack", KIND_LEAVES },
	{ "runtime.switchToCrashStack0", KIND_LEAVES },
	{ "runtime.clone", KIND_CLONE },
	{ "runtime.systemstack", KIND_SYSTEMSTACK },
	{ "runtime.asmcgocall", KIND_ASMCGOCALL },
	{ "runtime.asmcgocall_no_g", KIND_FRAME },
	{ "runtime.cgocallback", KIND_FRAME },
	{ "runtime.cgocallback_gofunc", KIND_FRAME },
	{ "runtime.nanotime", KIND_FRAME },
	{ "runtime.nanotime1", KIND_FRAME },
	{ "runtime.walltime", KIND_FRAME },
	{ "runtime.walltime1", KIND_FRAME },
	{ "time.now", KIND_FRAME },
	{ "crosscall2", KIND_SAVES },
	{ "_rt0_" ARCH_GO_NAME "_lib", KIND_SAVES },
	{ "runtime.asyncPreempt", KIND_INJECTED },
	{ "runtime.debugCallV1", KIND_INJECTED },
	{ "runtime.debugCallV2", KIND_INJECTED },
	{ "runtime.sigpanic", KIND_INJECTED },
	{ "runtime.sigpanic0", KIND_INJECTED },
	{ "runtime.sigreturn", KIND_SIGRETURN },
	{ "runtime.sigreturn__sigaction", KIND_SIGRETURN },
};

/*
 * How the CFA is computed from an instruction of a special function on; d is the depth in the
 * table.
 */
enum mode {
	MODE_DEPTH,      /* rsp + d + 8 */
	MODE_FP,         /* rbp + 16, where d is at least arg */
	MODE_RBP,        /* rbp + d + 8: rbp holds the old rsp */
	MODE_RDX,        /* rdx + d + 8: rdx holds the old rsp */
	MODE_ASMCGOCALL, /* the goroutine is at rsp + arg */
	MODE_END,
};

struct mark {
	uint64_t at; /* offset in the function */
	enum mode mode;
	int32_t arg;
};

/* Where KIND_SAVES stores a register. */
struct stored {
	uint64_t from; /* offset of the instruction after the store; 0: never */
	int32_t disp;  /* offset from rsp at the store */
	int16_t off;   /* offset from the CFA */
};

struct build {
	struct unwind_rows *rows;
	size_t first;  /* index of the first row of Go's */
	uint64_t done; /* address up to which there are rows */

	/* the current function; its addresses are offsets in it */
	const uint8_t *code;
	uint64_t start, len;
	uint64_t bias; /* address - file offset */
	enum kind kind;
	struct mark marks[MARKS_MAX];
	size_t n_marks;
	bool has_frame;      /* the depth has been above 0 */
	uint64_t saved_from; /* offset from which on rbp is at CFA - 16 while there is a frame */
	struct stored rbp, rbx;
};

static const struct unwind_rule rule_none = { .cfa = UNWIND_CFA_NONE };
static const struct unwind_rule rule_end = { .cfa = UNWIND_CFA_END };

static int put_row(struct build *b, uint64_t vaddr, const struct unwind_rule *rule)
{
	return unwind_rows_put(b->rows, b->first, vaddr - b->bias, rule);
}

/* ---- instructions ---- */

#define PUSH_RBP          "\x55"
#define MOV_RSP_RBP       "\x48\x89\xe5"
#define MOV_RBP_RSP       "\x48\x89\xec"
#define MOV_RSP_RDX       "\x48\x89\xe2"
#define LEA_DISP8_RSP_RBP "\x48\x8d\x6c\x24" /* followed by the displacement */
#define RET               "\xc3"

/* True if @pattern is at offset @at of the function. */
static bool code_is(const struct build *b, uint64_t at, const char *pattern, size_t len)
{
	return at <= b->len && b->len - at >= len && !memcmp(b->code + at, pattern, len);
}

#define CODE_IS(b, at, pattern) code_is(b, at, pattern, sizeof(pattern) - 1)

/* The offset of @pattern at or after @from; the function's length if there is none. */
static uint64_t code_find(const struct build *b, uint64_t from, const char *pattern, size_t len)
{
	const uint8_t *p;

	if (from >= b->len)
		return b->len;
	p = memmem(b->code + from, b->len - from, pattern, len);
	return p ? (uint64_t)(p - b->code) : b->len;
}

#define CODE_FIND(b, from, pattern) code_find(b, from, pattern, sizeof(pattern) - 1)

/* The end of the next mov of a register or of disp8(register) to rsp; 0 if there is none. */
static uint64_t next_sp_write(const struct build *b, uint64_t from)
{
	for (uint64_t i = from; i + 3 <= b->len; i++) {
		const uint8_t *p = b->code + i;

		if ((p[0] & 0xfb) == 0x48 && p[1] == 0x89 && (p[2] & 0xc7) == 0xc4)
			return i + 3;
		if ((p[0] & 0xfe) == 0x48 && p[1] == 0x8b && (p[2] & 0xf8) == 0x60 &&
		    p[2] != 0x64 && i + 4 <= b->len)
			return i + 4;
	}
	return 0;
}

/* mov %rdi,disp8(%rsp): the end of the next one, and its displacement. */
static uint64_t next_rdi_store(const struct build *b, uint64_t from, uint8_t *out_disp)
{
	for (uint64_t i = from; i + 5 <= b->len; i++) {
		if (CODE_IS(b, i, "\x48\x89\x3c\x24")) {
			*out_disp = 0;
			return i + 4;
		}
		if (CODE_IS(b, i, "\x48\x89\x7c\x24")) {
			*out_disp = b->code[i + 4];
			return i + 5;
		}
	}
	return 0;
}

/*
 * The length of mov %rbp,@disp(%rsp) at offset @at, or 0. Up to Go 1.20 frames were built by sub
 * $depth,%rsp; mov; lea @disp(%rsp),%rbp.
 */
static unsigned int rbp_store_len(const struct build *b, uint64_t at, int32_t disp)
{
	int32_t disp32;

	if (!disp && CODE_IS(b, at, "\x48\x89\x2c\x24"))
		return 4;
	if (CODE_IS(b, at, "\x48\x89\x6c\x24") && at + 5 <= b->len &&
	    (int8_t)b->code[at + 4] == disp)
		return 5;
	if (!CODE_IS(b, at, "\x48\x89\xac\x24") || at + 8 > b->len)
		return 0;
	memcpy(&disp32, b->code + at + 4, sizeof(disp32));
	return disp32 == disp ? 8 : 0;
}

/* The offset from which on rbp is the function's frame pointer; 0 if it has none. */
static uint64_t frame_ready(const struct build *b)
{
	uint64_t push = CODE_FIND(b, 0, PUSH_RBP MOV_RSP_RBP);
	uint64_t lea = CODE_FIND(b, 0, LEA_DISP8_RSP_RBP);

	if (push < b->len && push <= lea)
		return push + sizeof(PUSH_RBP MOV_RSP_RBP) - 1;
	return lea < b->len ? lea + sizeof(LEA_DISP8_RSP_RBP) : 0;
}

/* ---- special functions ---- */

static void add_mark(struct build *b, uint64_t at, enum mode mode, int32_t arg)
{
	if (b->n_marks < MARKS_MAX)
		b->marks[b->n_marks++] = (struct mark){ at, mode, arg };
}

/*
 * Clock functions up to Go 1.16 keep the old rsp in rbp, which was their frame pointer before. They
 * restore it ("mov %rbp,%rsp") before they return, and have code for the other stack after each
 * return.
 */
static void mark_rsp_in_rbp(struct build *b, uint64_t from)
{
	while (from < b->len) {
		uint64_t restore = CODE_FIND(b, from, MOV_RBP_RSP);

		add_mark(b, from, MODE_RBP, 0);
		if (restore == b->len)
			break;
		add_mark(b, restore + 3, MODE_DEPTH, 0);
		from = CODE_FIND(b, restore + 3, RET) + 1;
	}
}

static void mark_frame(struct build *b)
{
	uint64_t ready = frame_ready(b), moved;

	if (!ready)
		return;
	add_mark(b, ready, MODE_FP, 8);
	moved = CODE_FIND(b, ready, MOV_RSP_RBP);
	if (moved < b->len)
		mark_rsp_in_rbp(b, moved + 3);
}

/* Without a frame of its own rbp is its caller's, whose frame is then missing. */
static void mark_systemstack(struct build *b)
{
	uint64_t switched, back;

	if (frame_ready(b)) {
		mark_frame(b);
		return;
	}
	switched = next_sp_write(b, 0);
	if (!switched)
		return;
	add_mark(b, switched, MODE_FP, 0);
	back = next_sp_write(b, switched);
	if (back)
		add_mark(b, back, MODE_DEPTH, 0);
}

/* The part of asmcgocall that stays on its stack and only aligns it. */
static void mark_nosave(struct build *b, uint64_t from, uint8_t depth_at)
{
	const char store[] = { 0x48, (char)0x89, 0x54, 0x24, (char)depth_at };
	uint64_t moved = CODE_FIND(b, from, MOV_RSP_RDX), stored, back;

	if (frame_ready(b)) {
		add_mark(b, from, MODE_FP, 8);
		return;
	}
	stored = code_find(b, moved, store, sizeof(store));
	back = next_sp_write(b, stored);
	if (!back)
		return;
	add_mark(b, moved + 3, MODE_RDX, 0);
	add_mark(b, stored + sizeof(store), MODE_ASMCGOCALL, depth_at + 8);
	add_mark(b, back, MODE_DEPTH, 0);
}

/*
 * asmcgocall copies rsp to rdx, switches to the thread's own stack, stores the goroutine and the
 * depth of rsp in its stack, calls, and computes rsp from them afterwards.
 */
static void mark_asmcgocall(struct build *b)
{
	uint64_t switched = next_sp_write(b, 0), stored = 0, back = 0;
	uint8_t g_at = 0, depth_at = 0;

	if (switched)
		stored = next_rdi_store(b, switched, &g_at);
	if (stored)
		stored = next_rdi_store(b, stored, &depth_at);
	if (stored && g_at == depth_at + 8)
		back = next_sp_write(b, stored);
	if (!back) {
		mark_frame(b);
		return;
	}
	add_mark(b, switched, MODE_RDX, 0);
	add_mark(b, stored, MODE_ASMCGOCALL, g_at);
	add_mark(b, back, MODE_DEPTH, 0);
	mark_nosave(b, CODE_FIND(b, back, RET) + 1, depth_at);
}

/* The first store of a register, "48 89 modrm 24 [disp8]", to the stack. */
static struct stored find_store(const struct build *b, uint8_t modrm)
{
	const char pattern[] = { 0x48, (char)0x89, (char)modrm, 0x24 };
	bool has_disp = modrm & 0x40;
	uint64_t at = code_find(b, 0, pattern, sizeof(pattern));

	if (b->len - at < sizeof(pattern) + has_disp)
		return (struct stored){ 0 };
	return (struct stored){
		.from = at + sizeof(pattern) + has_disp,
		.disp = has_disp ? (int8_t)b->code[at + sizeof(pattern)] : 0,
	};
}

static void find_stores(struct build *b)
{
	struct stored without = find_store(b, 0x1c), with = find_store(b, 0x5c);

	b->rbp = find_store(b, 0x6c);
	b->rbx = with.from && (!without.from || with.from < without.from) ? with : without;
}

static enum kind kind_of(const char *name)
{
	static const char entry[] = "_rt0_" ARCH_GO_NAME;

	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if (!strcmp(name, special[i].name))
			return special[i].kind;
	return strncmp(name, entry, sizeof(entry) - 1) ? KIND_NORMAL : KIND_END;
}

static void mark_function(struct build *b)
{
	uint64_t at;

	switch (b->kind) {
	case KIND_LEAVES:
		at = next_sp_write(b, 0);
		if (at)
			add_mark(b, at, MODE_END, 0);
		break;
	case KIND_CLONE:
		add_mark(b, CODE_FIND(b, 0, RET) + 1, MODE_END, 0);
		break;
	case KIND_FRAME:
		mark_frame(b);
		break;
	case KIND_SYSTEMSTACK:
		mark_systemstack(b);
		break;
	case KIND_ASMCGOCALL:
		mark_asmcgocall(b);
		break;
	case KIND_SAVES:
		find_stores(b);
		break;
	default:
		break;
	}
}

/* ---- rows ---- */

static const struct mark *mark_at(const struct build *b, uint64_t at)
{
	static const struct mark none = { 0, MODE_DEPTH, 0 };
	const struct mark *m = &none;

	for (size_t i = 0; i < b->n_marks && b->marks[i].at <= at; i++)
		m = &b->marks[i];
	return m;
}

static void use_stored(const struct stored *s, uint64_t at, int32_t depth, uint8_t *saved,
		       int16_t *off)
{
	if (!s->from || at < s->from || !depth)
		return;
	*saved = UNWIND_SAVED_CFA;
	*off = s->off;
}

/* The rule at offset @at, where the table has @depth. */
static struct unwind_rule rule_at(const struct build *b, uint64_t at, int32_t depth)
{
	const struct mark *m = mark_at(b, at);
	struct unwind_rule rule = {
		.cfa = UNWIND_CFA_SP_OFF,
		.cfa_reg = b->kind == KIND_INJECTED ? UNWIND_INJECTED : 0,
		.cfa_off = depth + 8,
		.ra_off = -8,
		.aux = b->kind == KIND_SAVES ? UNWIND_SAVED_SAME : UNWIND_SAVED_UNDEF,
	};

	use_stored(&b->rbp, at, depth, &rule.fp, &rule.fp_off);
	use_stored(&b->rbx, at, depth, &rule.aux, &rule.aux_off);
	if (depth && at >= b->saved_from) {
		rule.fp = UNWIND_SAVED_CFA;
		rule.fp_off = -16;
	}
	switch (m->mode) {
	case MODE_FP:
		if (depth < m->arg)
			break;
		rule.cfa = UNWIND_CFA_FP_OFF;
		rule.cfa_off = 16;
		rule.fp = UNWIND_SAVED_CFA;
		rule.fp_off = -16;
		break;
	case MODE_RBP:
		rule.cfa = UNWIND_CFA_FP_OFF;
		break;
	case MODE_RDX:
		rule.cfa = UNWIND_CFA_REG;
		rule.cfa_reg = REG_RDX;
		break;
	case MODE_ASMCGOCALL:
		rule.cfa = UNWIND_CFA_GO_ASMCGOCALL;
		rule.cfa_add = (int16_t)rule.cfa_off;
		rule.cfa_off = m->arg;
		break;
	case MODE_END:
		return rule_end;
	case MODE_DEPTH:
		break;
	}
	return rule;
}

/* The next offset after @at, up to @end, at which the rule may change. */
static uint64_t next_change(const struct build *b, uint64_t at, uint64_t end)
{
	const uint64_t changes[] = { b->saved_from, b->rbp.from, b->rbx.from };

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		if (changes[i] > at && changes[i] < end)
			end = changes[i];
	for (size_t i = 0; i < b->n_marks; i++)
		if (b->marks[i].at > at && b->marks[i].at < end)
			end = b->marks[i].at;
	return end;
}

/* Handles a change of the depth to @depth at offset @at: rbp has been saved, or is about to be. */
static void enter_frame(struct build *b, uint64_t at, int32_t depth)
{
	unsigned int len = rbp_store_len(b, at, depth - 8);

	b->has_frame = true;
	if (len)
		b->saved_from = at + len;
	else if (depth == 8 && at && CODE_IS(b, at - 1, PUSH_RBP MOV_RSP_RBP))
		b->saved_from = at;
}

static void place_store(struct stored *s, uint64_t at, uint64_t end, int32_t depth)
{
	if (s->from > at && s->from <= end)
		s->off = (int16_t)(s->disp - depth - 8);
}

/* rawVforkSyscall holds its return address in a register while its child uses the same stack. */
static bool put_popped_ra(struct build *b, uint64_t at, int *out_r)
{
	struct unwind_rule rule = { .cfa = UNWIND_CFA_SP_RA_REG, .aux = UNWIND_SAVED_UNDEF };
	uint8_t pop = b->code[at - 1];

	if (b->code[at - 2] != 0x41 || pop < 0x58 || pop > 0x5f) /* pop %r8 to %r15 */
		return false;
	rule.cfa_reg = (uint8_t)(pop - 0x58 + 8);
	*out_r = put_row(b, b->start + at, &rule);
	return true;
}

static int put_run(void *ctx, uint64_t start, uint64_t end, int32_t depth)
{
	struct build *b = ctx;
	uint64_t at = start - b->start, stop = end - b->start;
	int r = 0;

	b->done = end;
	if (depth == -8 && at >= 2 && put_popped_ra(b, at, &r))
		return r;
	if (depth < 0 || depth > DEPTH_MAX) {
		b->rows->n_unsupported++;
		return put_row(b, start, &rule_none);
	}
	if (depth && !b->has_frame)
		enter_frame(b, at, depth);
	place_store(&b->rbp, at, stop, depth);
	place_store(&b->rbx, at, stop, depth);
	while (!r && at < stop) {
		struct unwind_rule rule = rule_at(b, at, depth);

		r = put_row(b, b->start + at, &rule);
		at = next_change(b, at, stop);
	}
	return r;
}

/* ---- processors that keep the return address in a register ---- */

enum {
	LINK_DEPTH_MAX = 32000, /* offsets in rules have 16 bits */
	LINK_INJECTED = 16,     /* bytes that a handler pushes: sigctxt.pushCall, preparePanic */
};

/*
 * A frame of @depth bytes begins with the return address, at the sp that the function then has, and
 * the caller's fp is in the word below. @is_new: the instruction that stores fp may not have run.
 */
static struct unwind_rule link_rule(const struct build *b, int32_t depth, bool is_new)
{
	int32_t pushed = b->kind == KIND_INJECTED ? LINK_INJECTED : 0;
	struct unwind_rule rule = { .cfa = UNWIND_CFA_SP_RA_REG,
				    .cfa_reg = UREG_RA,
				    .cfa_off = pushed,
				    .aux = UNWIND_SAVED_UNDEF };

	if (!depth)
		return rule;
	rule.cfa = UNWIND_CFA_SP_OFF;
	rule.cfa_reg = b->kind == KIND_INJECTED ? UNWIND_INJECTED : 0;
	rule.cfa_off = depth + pushed;
	rule.ra_off = (int16_t)-rule.cfa_off;
	if (b->kind == KIND_SAVES) /* crosscall2() stores both at the other end of its frame */
		rule.ra_off = -8;
	if (is_new)
		return rule;
	rule.fp = UNWIND_SAVED_CFA;
	rule.fp_off = (int16_t)(rule.ra_off - 8);
	return rule;
}

/* Functions that switch stacks are passed by their frame pointer, which they set or keep. */
static int put_link_run(void *ctx, uint64_t start, uint64_t end, int32_t depth)
{
	static const struct unwind_rule by_fp = { .cfa = UNWIND_CFA_FP };
	struct build *b = ctx;
	struct unwind_rule rule;
	int r = 0;

	b->done = end;
	if (depth < 0 || depth > DEPTH_MAX) {
		b->rows->n_unsupported++;
		return put_row(b, start, &rule_none);
	}
	if (depth > LINK_DEPTH_MAX ||
	    (depth && b->kind >= KIND_FRAME && b->kind <= KIND_ASMCGOCALL))
		return put_row(b, start, &by_fp);
	if (depth && !b->has_frame) {
		rule = link_rule(b, depth, true);
		r = put_row(b, start, &rule);
		start += ARCH_CODE_ALIGN;
	}
	b->has_frame |= depth > 0;
	rule = link_rule(b, depth, false);
	return r || start >= end ? r : put_row(b, start, &rule);
}

static int put_special(struct build *b, const struct unwind_rule *rule, uint64_t start,
		       uint64_t end)
{
	b->done = end;
	return put_row(b, start, rule);
}

static int put_function(struct build *b, const struct gopclntab *t, const struct gopclntab_func *f)
{
	static const struct unwind_rule rule_signal = { .cfa = UNWIND_CFA_SIGNAL };

	b->kind = kind_of(f->name);
	if (f->flags & GOPCLNTAB_TOP_FRAME && strcmp(f->name, "runtime.sigtramp"))
		b->kind = KIND_END;
	/*
	 * a handler returns to its first instruction, and return addresses are looked up one byte
	 * before
	 */
	if (b->kind == KIND_SIGRETURN)
		return put_special(b, &rule_signal, f->start - 1, f->end);
	if (b->kind == KIND_END)
		return put_special(b, &rule_end, f->start, f->end);

	b->n_marks = 0;
	b->has_frame = false;
	b->saved_from = UINT64_MAX;
	b->rbp = b->rbx = (struct stored){ 0 };
	if (!ARCH_CALL_PUSHES)
		return b->kind == KIND_LEAVES ? put_special(b, &rule_end, f->start, f->end)
					      : gopclntab_spdeltas(t, f->index, put_link_run, b);
	mark_function(b);
	return gopclntab_spdeltas(t, f->index, put_run, b);
}

/* Rows extend over the padding between functions, so that equal neighbours become one. */
static int end_function(struct build *b, uint64_t next)
{
	if (next >= b->done && next - b->done < PADDING_MAX)
		return 0;
	return put_row(b, b->done, &rule_none);
}

static int put_functions(struct build *b, const struct elf_image *img, const struct gopclntab *t)
{
	size_t n = gopclntab_count(t);
	struct gopclntab_func f;
	struct elf_span code;
	int r = 0;

	for (size_t i = 0; !r && i < n; i++) {
		if (gopclntab_func_at(t, i, &f) < 0 || f.start == f.end || f.start < b->done ||
		    elf_image_at_vaddr(img, f.start, f.end - f.start, &code) < 0)
			continue;
		if (b->done)
			r = end_function(b, f.start);
		if (b->done && code.vaddr - code.file_off != b->bias)
			return -EBADMSG;
		b->bias = code.vaddr - code.file_off;
		b->code = code.data;
		b->start = f.start;
		b->len = code.len;
		b->done = f.start;
		if (!r)
			r = put_function(b, t, &f);
		if (r == -EBADMSG)
			r = 0;
	}
	return r ? r : put_row(b, b->done, &rule_none);
}

int unwind_go_rows(struct unwind_rows *rows, const struct elf_image *img, uint64_t *out_lo,
		   uint64_t *out_hi, struct err *err)
{
	_cleanup_(gopclntab_freep) struct gopclntab *t = NULL;
	struct build b = { .rows = rows, .first = rows->len };
	int r;

	if (elf_image_machine(img) != ARCH_ELF_MACHINE)
		return err_set(err, -ENOENT, "code for an unsupported processor");
	r = gopclntab_open(&t, img, err);
	if (r < 0)
		return r;
	r = put_functions(&b, img, t);
	if (r < 0)
		return err_set(err, r, "cannot build unwind rows of Go functions: %s",
			       strerror(-r));
	if (rows->len == b.first)
		return err_set(err, -EBADMSG, "Go's functions lie outside the file");
	*out_lo = rows->data[b.first].file_off;
	*out_hi = b.done - b.bias;
	return 0;
}
