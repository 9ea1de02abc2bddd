/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/go_code.h"

#include <stdbool.h>
#include <string.h>

#include "arch/arch.h"

static const struct {
	const char *name;
	enum go_kind kind;
} special[] = {
	{ "runtime.goexit", GO_KIND_END },
	{ "runtime.mstart", GO_KIND_END },
	{ "runtime.rt0_go", GO_KIND_END },
	{ "runtime.mcall", GO_KIND_LEAVES },
	{ "runtime.gogo", GO_KIND_LEAVES },
	{ "gogo", GO_KIND_LEAVES },
	{ "runtime.morestack", GO_KIND_LEAVES },
	{ "runtime.switchToCrashStack0", GO_KIND_LEAVES },
	{ "runtime.clone", GO_KIND_CLONE },
	{ "runtime.systemstack", GO_KIND_SYSTEMSTACK },
	{ "runtime.asmcgocall", GO_KIND_ASMCGOCALL },
	{ "runtime.asmcgocall_no_g", GO_KIND_FRAME },
	{ "runtime.cgocallback", GO_KIND_FRAME },
	{ "runtime.cgocallback_gofunc", GO_KIND_FRAME },
	{ "runtime.nanotime", GO_KIND_FRAME },
	{ "runtime.nanotime1", GO_KIND_FRAME },
	{ "runtime.walltime", GO_KIND_FRAME },
	{ "runtime.walltime1", GO_KIND_FRAME },
	{ "time.now", GO_KIND_FRAME },
	{ "crosscall2", GO_KIND_SAVES },
	{ "_rt0_" ARCH_GO_NAME "_lib", GO_KIND_SAVES },
	{ "runtime.asyncPreempt", GO_KIND_INJECTED },
	{ "runtime.debugCallV1", GO_KIND_INJECTED },
	{ "runtime.debugCallV2", GO_KIND_INJECTED },
	{ "runtime.sigpanic", GO_KIND_INJECTED },
	{ "runtime.sigpanic0", GO_KIND_INJECTED },
	{ "runtime.sigreturn", GO_KIND_SIGRETURN },
	{ "runtime.sigreturn__sigaction", GO_KIND_SIGRETURN },
};

#define PUSH_RBP          "\x55"
#define MOV_RSP_RBP       "\x48\x89\xe5"
#define MOV_RBP_RSP       "\x48\x89\xec"
#define MOV_RSP_RDX       "\x48\x89\xe2"
#define LEA_DISP8_RSP_RBP "\x48\x8d\x6c\x24" /* followed by the displacement */
#define RET               "\xc3"

/* True if @pattern is at offset @at of the function. */
static bool code_is(const struct go_code *f, uint64_t at, const char *pattern, size_t len)
{
	return at <= f->len && f->len - at >= len && !memcmp(f->code + at, pattern, len);
}

#define CODE_IS(f, at, pattern) code_is(f, at, pattern, sizeof(pattern) - 1)

/* The offset of @pattern at or after @from; the function's length if there is none. */
static uint64_t code_find(const struct go_code *f, uint64_t from, const char *pattern, size_t len)
{
	const uint8_t *p;

	if (from >= f->len)
		return f->len;
	p = memmem(f->code + from, f->len - from, pattern, len);
	return p ? (uint64_t)(p - f->code) : f->len;
}

#define CODE_FIND(f, from, pattern) code_find(f, from, pattern, sizeof(pattern) - 1)

/* The end of the next mov of a register or of disp8(register) to rsp; 0 if there is none. */
static uint64_t next_sp_write(const struct go_code *f, uint64_t from)
{
	for (uint64_t i = from; i + 3 <= f->len; i++) {
		const uint8_t *p = f->code + i;

		if ((p[0] & 0xfb) == 0x48 && p[1] == 0x89 && (p[2] & 0xc7) == 0xc4)
			return i + 3;
		if ((p[0] & 0xfe) == 0x48 && p[1] == 0x8b && (p[2] & 0xf8) == 0x60 &&
		    p[2] != 0x64 && i + 4 <= f->len)
			return i + 4;
	}
	return 0;
}

/* mov %rdi,disp8(%rsp): the end of the next one, and its displacement. */
static uint64_t next_rdi_store(const struct go_code *f, uint64_t from, uint8_t *out_disp)
{
	for (uint64_t i = from; i + 5 <= f->len; i++) {
		if (CODE_IS(f, i, "\x48\x89\x3c\x24")) {
			*out_disp = 0;
			return i + 4;
		}
		if (CODE_IS(f, i, "\x48\x89\x7c\x24")) {
			*out_disp = f->code[i + 4];
			return i + 5;
		}
	}
	return 0;
}

/*
 * The length of mov %rbp,@disp(%rsp) at offset @at, or 0. Up to Go 1.20 frames were built by sub
 * $depth,%rsp; mov; lea @disp(%rsp),%rbp.
 */
static unsigned int rbp_store_len(const struct go_code *f, uint64_t at, int32_t disp)
{
	int32_t disp32;

	if (!disp && CODE_IS(f, at, "\x48\x89\x2c\x24"))
		return 4;
	if (CODE_IS(f, at, "\x48\x89\x6c\x24") && at + 5 <= f->len &&
	    (int8_t)f->code[at + 4] == disp)
		return 5;
	if (!CODE_IS(f, at, "\x48\x89\xac\x24") || at + 8 > f->len)
		return 0;
	memcpy(&disp32, f->code + at + 4, sizeof(disp32));
	return disp32 == disp ? 8 : 0;
}

/* The offset from which on rbp is the function's frame pointer; 0 if it has none. */
static uint64_t frame_ready(const struct go_code *f)
{
	uint64_t push = CODE_FIND(f, 0, PUSH_RBP MOV_RSP_RBP);
	uint64_t lea = CODE_FIND(f, 0, LEA_DISP8_RSP_RBP);

	if (push < f->len && push <= lea)
		return push + sizeof(PUSH_RBP MOV_RSP_RBP) - 1;
	return lea < f->len ? lea + sizeof(LEA_DISP8_RSP_RBP) : 0;
}

static void add_mark(struct go_code *f, uint64_t at, enum go_mode mode, int32_t arg)
{
	if (f->n_marks < GO_MARKS_MAX)
		f->marks[f->n_marks++] = (struct go_mark){ at, mode, arg };
}

/*
 * Clock functions up to Go 1.16 keep the old rsp in rbp, which was their frame pointer before. They
 * restore it ("mov %rbp,%rsp") before they return, and have code for the other stack after each
 * return.
 */
static void mark_rsp_in_rbp(struct go_code *f, uint64_t from)
{
	while (from < f->len) {
		uint64_t restore = CODE_FIND(f, from, MOV_RBP_RSP);

		add_mark(f, from, GO_MODE_RBP, 0);
		if (restore == f->len)
			break;
		add_mark(f, restore + 3, GO_MODE_DEPTH, 0);
		from = CODE_FIND(f, restore + 3, RET) + 1;
	}
}

static void mark_frame(struct go_code *f)
{
	uint64_t ready = frame_ready(f), moved;

	if (!ready)
		return;
	add_mark(f, ready, GO_MODE_FP, 8);
	moved = CODE_FIND(f, ready, MOV_RSP_RBP);
	if (moved < f->len)
		mark_rsp_in_rbp(f, moved + 3);
}

/* Without a frame of its own rbp is its caller's, whose frame is then missing. */
static void mark_systemstack(struct go_code *f)
{
	uint64_t switched, back;

	if (frame_ready(f)) {
		mark_frame(f);
		return;
	}
	switched = next_sp_write(f, 0);
	if (!switched)
		return;
	add_mark(f, switched, GO_MODE_FP, 0);
	back = next_sp_write(f, switched);
	if (back)
		add_mark(f, back, GO_MODE_DEPTH, 0);
}

/* The part of asmcgocall that stays on its stack and only aligns it. */
static void mark_nosave(struct go_code *f, uint64_t from, uint8_t depth_at)
{
	const char store[] = { 0x48, (char)0x89, 0x54, 0x24, (char)depth_at };
	uint64_t moved = CODE_FIND(f, from, MOV_RSP_RDX), stored, back;

	if (frame_ready(f)) {
		add_mark(f, from, GO_MODE_FP, 8);
		return;
	}
	stored = code_find(f, moved, store, sizeof(store));
	back = next_sp_write(f, stored);
	if (!back)
		return;
	add_mark(f, moved + 3, GO_MODE_RDX, 0);
	add_mark(f, stored + sizeof(store), GO_MODE_ASMCGOCALL, depth_at + 8);
	add_mark(f, back, GO_MODE_DEPTH, 0);
}

/*
 * asmcgocall copies rsp to rdx, switches to the thread's own stack, stores the goroutine and the
 * depth of rsp in its stack, calls, and computes rsp from them afterwards.
 */
static void mark_asmcgocall(struct go_code *f)
{
	uint64_t switched = next_sp_write(f, 0), stored = 0, back = 0;
	uint8_t g_at = 0, depth_at = 0;

	if (switched)
		stored = next_rdi_store(f, switched, &g_at);
	if (stored)
		stored = next_rdi_store(f, stored, &depth_at);
	if (stored && g_at == depth_at + 8)
		back = next_sp_write(f, stored);
	if (!back) {
		mark_frame(f);
		return;
	}
	add_mark(f, switched, GO_MODE_RDX, 0);
	add_mark(f, stored, GO_MODE_ASMCGOCALL, g_at);
	add_mark(f, back, GO_MODE_DEPTH, 0);
	mark_nosave(f, CODE_FIND(f, back, RET) + 1, depth_at);
}

/* The first store of a register, "48 89 modrm 24 [disp8]", to the stack. */
static struct go_stored find_store(const struct go_code *f, uint8_t modrm)
{
	const char pattern[] = { 0x48, (char)0x89, (char)modrm, 0x24 };
	bool has_disp = modrm & 0x40;
	uint64_t at = code_find(f, 0, pattern, sizeof(pattern));

	if (f->len - at < sizeof(pattern) + has_disp)
		return (struct go_stored){ 0 };
	return (struct go_stored){
		.from = at + sizeof(pattern) + has_disp,
		.disp = has_disp ? (int8_t)f->code[at + sizeof(pattern)] : 0,
	};
}

static void find_stores(struct go_code *f)
{
	struct go_stored without = find_store(f, 0x1c), with = find_store(f, 0x5c);

	f->fp = find_store(f, 0x6c);
	f->aux = with.from && (!without.from || with.from < without.from) ? with : without;
}

enum go_kind go_kind_of(const char *name)
{
	static const char entry[] = "_rt0_" ARCH_GO_NAME;

	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if (!strcmp(name, special[i].name))
			return special[i].kind;
	return strncmp(name, entry, sizeof(entry) - 1) ? GO_KIND_NORMAL : GO_KIND_END;
}

void go_code_find(struct go_code *f)
{
	uint64_t at;

	switch (f->kind) {
	case GO_KIND_LEAVES:
		at = next_sp_write(f, 0);
		if (at)
			add_mark(f, at, GO_MODE_END, 0);
		break;
	case GO_KIND_CLONE:
		add_mark(f, CODE_FIND(f, 0, RET) + 1, GO_MODE_END, 0);
		break;
	case GO_KIND_FRAME:
		mark_frame(f);
		break;
	case GO_KIND_SYSTEMSTACK:
		mark_systemstack(f);
		break;
	case GO_KIND_ASMCGOCALL:
		mark_asmcgocall(f);
		break;
	case GO_KIND_SAVES:
		find_stores(f);
		break;
	default:
		break;
	}
}

uint64_t go_code_saves_fp(const struct go_code *f, uint64_t at, int32_t depth)
{
	unsigned int len = rbp_store_len(f, at, depth - 8);

	if (len)
		return at + len;
	return depth == 8 && at && CODE_IS(f, at - 1, PUSH_RBP MOV_RSP_RBP) ? at : UINT64_MAX;
}
