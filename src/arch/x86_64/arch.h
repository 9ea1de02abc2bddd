/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* x86-64: the macros and functions that arch/arch.h lists. */
#define ARCH_NAME      "x86-64"
#define ARCH_GO_NAME   "amd64"
#define ARCH_MULTIARCH "x86_64-linux-gnu"

enum {
	ARCH_ELF_MACHINE = EM_X86_64,
	ARCH_JUMP_SLOT = R_X86_64_JUMP_SLOT,
	ARCH_GLOB_DAT = R_X86_64_GLOB_DAT,
	ARCH_IRELATIVE = R_X86_64_IRELATIVE,
	ARCH_TLS_DESCRIPTOR = R_X86_64_TLSDESC,
	ARCH_TLS_MODULE = R_X86_64_DTPMOD64,
	ARCH_TLS_OFFSET = R_X86_64_TPOFF64,
	ARCH_READS_CONTEXTS = 1,
	ARCH_READS_CODE = 1,
	ARCH_HAS_LANGUAGES = 1,
	ARCH_CODE_ALIGN = 1,
	ARCH_JUMP_BYTES = 6,
	ARCH_CALL_BYTES = 5,
	ARCH_SLOT_BYTES = 6,
	ARCH_PLT_HEADER = 0,
	ARCH_CONTEXT_END_MIN = 24,
	ARCH_CONTEXT_END_MAX = 32,
};

static inline uint64_t arch_code_mask(void)
{
	return UINT64_MAX;
}

static inline void arch_registers(const struct user_regs_struct *u, uint64_t out[UREG_COUNT])
{
	out[0] = u->rax;
	out[1] = u->rdx;
	out[2] = u->rcx;
	out[3] = u->rbx;
	out[4] = u->rsi;
	out[5] = u->rdi;
	out[6] = u->rbp;
	out[7] = u->rsp;
	out[8] = u->r8;
	out[9] = u->r9;
	out[10] = u->r10;
	out[11] = u->r11;
	out[12] = u->r12;
	out[13] = u->r13;
	out[14] = u->r14;
	out[15] = u->r15;
	out[16] = u->rip;
}

static inline uint64_t arch_thread_pointer(const struct user_regs_struct *u)
{
	return u->fs_base;
}

static inline void arch_user_registers(const uint64_t r[UREG_COUNT], uint64_t thread_pointer,
				       struct user_regs_struct *out)
{
	*out = (struct user_regs_struct){
		.rax = r[0],
		.rdx = r[1],
		.rcx = r[2],
		.rbx = r[3],
		.rsi = r[4],
		.rdi = r[5],
		.rbp = r[6],
		.rsp = r[7],
		.r8 = r[8],
		.r9 = r[9],
		.r10 = r[10],
		.r11 = r[11],
		.r12 = r[12],
		.r13 = r[13],
		.r14 = r[14],
		.r15 = r[15],
		.rip = r[16],
		.fs_base = thread_pointer,
	};
}

/* mov $15,%rax or %eax; syscall */
static inline const uint8_t *arch_find_restorer(const uint8_t *code, size_t len, size_t *out_len)
{
	static const uint8_t tail[] = { 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 };
	static const uint8_t rax[] = { 0x48, 0xc7, 0xc0 };
	const uint8_t *p = code, *end = code + len;

	while ((p = memmem(p, (size_t)(end - p), tail, sizeof(tail)))) {
		size_t before = (size_t)(p - code), n = 0;

		if (before >= sizeof(rax) && !memcmp(p - sizeof(rax), rax, sizeof(rax)))
			n = sizeof(rax);
		else if (before && p[-1] == 0xb8)
			n = 1;
		*out_len = n + sizeof(tail);
		if (n)
			return p - n;
		p += sizeof(tail);
	}
	return NULL;
}

/* jmp rel32 (e9), jcc rel32 (0f 80-8f) */
static inline bool arch_is_jump(const uint8_t *code, int64_t *out_away)
{
	bool jcc = code[0] == 0x0f && (code[1] & 0xf0) == 0x80;
	int32_t rel;

	if (!jcc && code[0] != 0xe9)
		return false;
	memcpy(&rel, code + 1 + jcc, sizeof(rel));
	*out_away = 5 + jcc + (int64_t)rel;
	return true;
}

/* call rel32 (e8) */
static inline bool arch_is_call_to(const uint8_t *code, int64_t *out_away)
{
	int32_t rel;

	memcpy(&rel, code + 1, sizeof(rel));
	*out_away = 5 + (int64_t)rel;
	return code[0] == 0xe8;
}

/* jmp *disp32(%rip) */
static inline bool arch_is_jump_through(const uint8_t *code, uint64_t vaddr, uint64_t *out_slot)
{
	int32_t disp;

	memcpy(&disp, code + 2, sizeof(disp));
	*out_slot = vaddr + ARCH_SLOT_BYTES + (uint64_t)(int64_t)disp;
	return code[0] == 0xff && code[1] == 0x25;
}

/* Always false: on x86-64, the code of lazy binding has CFI and need not be recognized. */
static inline bool arch_is_lazy_plt(const uint8_t *code)
{
	return false;
}

/* mov %rbx,%rsp; mov (%rsp),%rdi; test %rdi,%rdi */
static inline bool arch_is_context_end(const uint8_t *code, size_t len)
{
	static const uint8_t begin[] = {
		0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff
	};

	return len >= sizeof(begin) && !memcmp(code, begin, sizeof(begin));
}
