/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* x86-64: what arch/arch.h describes. */
#define ARCH_NAME      "x86-64"
#define ARCH_MULTIARCH "x86_64-linux-gnu"

enum {
	ARCH_ELF_MACHINE = EM_X86_64,
	ARCH_JUMP_SLOT = R_X86_64_JUMP_SLOT,
	ARCH_GLOB_DAT = R_X86_64_GLOB_DAT,
	ARCH_READS_CODE = 1,
	ARCH_HAS_LANGUAGES = 1,
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
