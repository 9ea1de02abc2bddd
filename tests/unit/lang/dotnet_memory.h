/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A synthetic process that runs .NET, for tests of src/lang/dotnet: an assembly with four methods
 * and precompiled code, the map of code ranges, and the structures that lead to the metadata.
 */
#include "lang/dotnet/dotnet.h"

enum {
	DOTNET_MEMORY_AT = 0x10000, /* also where the assembly is mapped */
	DOTNET_MEMORY_BYTES = 1 << 15,
	DOTNET_RANGES_AT = 0x14000, /* the pointer to the map of ranges */
	DOTNET_MODULE_AT = 0x17000,
	DOTNET_TABLE_AT = 0x17400,
	DOTNET_CHUNK_AT = 0x17500, /* MethodDescs follow it, 8 bytes each */
	DOTNET_NAME_AT = 0x17600,
	DOTNET_HEADERS_AT = 0x17a00, /* RealCodeHeaders, 40 bytes each */
	DOTNET_CODES_AT = 0x17c00,   /* code of the methods, 16 bytes each */
	DOTNET_DEBUG_AT = 0x17d00,   /* their debug info */
	DOTNET_IMAGE_RVA = 0x1000,   /* of the section with everything */
	DOTNET_CODE_RVA = 0x2000,    /* functions of the image, 16 bytes each */
};

struct dotnet_memory {
	uint8_t bytes[DOTNET_MEMORY_BYTES];
	struct vm_code codes[VM_TABLE_MAX];
	struct dotnet_vm vms[VM_TABLE_MAX];
	struct vm_tables tables;
	struct lang_process process;
};

/* Makes the process; with @is_flat the assembly is mapped in one piece. */
void dotnet_memory_init(struct dotnet_memory *m, bool is_flat);

/* Writes @len bytes at an address. */
void dotnet_memory_put(struct dotnet_memory *m, uint64_t addr, const void *data, size_t len);

/* Returns the cookie of the MethodDesc with number @i, from 0. */
uint32_t dotnet_memory_cookie(const struct dotnet_memory *m, uint32_t i);

/* The address of that method's code. */
static inline uint64_t dotnet_memory_code(uint32_t i)
{
	return DOTNET_CODES_AT + 16ULL * i;
}

/* The address of that MethodDesc. */
static inline uint64_t dotnet_memory_method(uint32_t i)
{
	return DOTNET_CHUNK_AT + DOTNET_CHUNK_BYTES + 8ULL * i;
}
