/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* arm64: what arch/arch.h describes. */
#define ARCH_NAME      "arm64"
#define ARCH_MULTIARCH "aarch64-linux-gnu"

enum {
	ARCH_ELF_MACHINE = EM_AARCH64,
	ARCH_JUMP_SLOT = R_AARCH64_JUMP_SLOT,
	ARCH_GLOB_DAT = R_AARCH64_GLOB_DAT,
	ARCH_READS_CODE = 0,
	ARCH_HAS_LANGUAGES = 0,
};

/*
 * XPACLRI clears the bits of x30 that pointer authentication uses, which depend on the size of
 * addresses that the kernel chose. It is a hint: without pointer authentication it does nothing.
 */
static inline uint64_t arch_code_mask(void)
{
	/* bit 55 is clear in all addresses of user space */
	register uint64_t x30 __asm__("x30") = UINT64_MAX & ~(1ULL << 55);

	__asm__("hint #7" : "+r"(x30));
	return x30;
}

static inline void arch_registers(const struct user_regs_struct *u, uint64_t out[UREG_COUNT])
{
	for (int i = 0; i < 31; i++)
		out[i] = u->regs[i];
	out[31] = u->sp;
	out[32] = u->pc;
}

/* ptrace has it in another set of registers, NT_ARM_TLS. */
static inline uint64_t arch_thread_pointer(const struct user_regs_struct *u)
{
	return 0;
}

static inline void arch_user_registers(const uint64_t regs[UREG_COUNT], uint64_t thread_pointer,
				       struct user_regs_struct *out)
{
	*out = (struct user_regs_struct){ .sp = regs[31], .pc = regs[32] };
	for (int i = 0; i < 31; i++)
		out->regs[i] = regs[i];
}

/* mov x8, #139; svc #0 */
static inline const uint8_t *arch_find_restorer(const uint8_t *code, size_t len, size_t *out_len)
{
	static const uint8_t all[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };

	*out_len = sizeof(all);
	return memmem(code, len, all, sizeof(all));
}
