/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How libcapstone decodes the code of each processor, by the machine of the ELF file. */
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <capstone/capstone.h>

struct arch_capstone {
	uint16_t machine; /* e_machine */
	cs_arch arch;
	cs_mode mode;
	bool has_att; /* AT&T's syntax is the one that users of binutils know */
	/* The address that a direct jump or call names; 0 for an indirect one. */
	uint64_t (*target)(const cs_detail *detail);
};

static inline uint64_t arch_capstone_x86_64_target(const cs_detail *detail)
{
	const cs_x86 *d = &detail->x86;

	return d->op_count == 1 && d->operands[0].type == X86_OP_IMM ? (uint64_t)d->operands[0].imm
								     : 0;
}

/* The address is the last operand. */
static inline uint64_t arch_capstone_arm64_target(const cs_detail *detail)
{
	const cs_arm64 *d = &detail->arm64;

	for (uint8_t i = d->op_count; i; i--)
		if (d->operands[i - 1].type == ARM64_OP_IMM)
			return (uint64_t)d->operands[i - 1].imm;
	return 0;
}

/* Returns NULL for another processor. */
static inline const struct arch_capstone *arch_capstone_of(uint16_t machine)
{
	static const struct arch_capstone all[] = {
		{ EM_X86_64, CS_ARCH_X86, CS_MODE_64, true, arch_capstone_x86_64_target },
		{ EM_AARCH64, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, false,
		  arch_capstone_arm64_target },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].machine == machine)
			return &all[i];
	return NULL;
}
