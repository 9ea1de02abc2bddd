/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Internal interfaces of the support of .NET (CoreCLR 8 to 10). detect.c and contract.c read the
 * runtime's file; the others read a process: image.c the PE image of an assembly, metadata.c the
 * names in it, ready.c which of its methods precompiled code belongs to, ranges.c the runtime's map
 * of code, symbolize.c the structures that lead to all of these. bpf/shared/dotnet.h defines the
 * words of a frame and struct dotnet_vm.
 *
 * Everything that is read is untrusted. Functions return 0; -ENOENT if there is no such thing;
 * -EFAULT if memory could not be read; -EBADMSG if it is malformed; -ENOMEM.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/dotnet.h"
#include "lang/lang.h"

struct buf;
struct elf_image;

/* Reads @len bytes of the process at @addr. */
int dotnet_read_bytes(const struct lang_process *p, uint64_t addr, void *out, size_t len);

/*
 * ---- contract.c: offsets that the runtime exports for debuggers -------------------------------
 */

/*
 * Takes from @img's data contract descriptor the offsets that it has, and if it has the address of
 * the pointer to the map of code ranges, that too; the rest of @vm is not changed. *@out_is_whole:
 * nothing is missing. Return: -ENOENT if the file has no descriptor; -ENOTSUP if a structure
 * differs from what bpf/shared/dotnet.h assumes; -EBADMSG; -ENOMEM.
 */
int dotnet_contract_read(const struct elf_image *img, struct dotnet_vm *vm, bool *out_is_whole);

/* Does that for the JSON text alone; *@out_root receives the number of the pointer, or 0. */
int dotnet_contract_parse(const char *text, size_t len, struct dotnet_vm *vm, uint32_t *out_root,
			  bool *out_is_whole);

/* ---- image.c: a PE file in memory ----------------------------------------- */

enum { DOTNET_SECTIONS_MAX = 32 };

struct dotnet_section {
	uint32_t rva, size, file_off;
};

struct dotnet_image {
	const struct lang_process *p;
	uint64_t base;
	bool is_flat; /* mapped in one piece, so that its sections translate addresses */
	uint32_t n_sections;
	struct dotnet_section sections[DOTNET_SECTIONS_MAX];
	uint64_t metadata; /* address */
	uint32_t metadata_bytes;
	uint32_t ready; /* RVA of the header of its precompiled code; 0: it has none */
};

int dotnet_image_open(const struct lang_process *p, uint64_t base, struct dotnet_image *out);

/* Finds where the @len bytes at @rva are in the process. */
int dotnet_image_address(const struct dotnet_image *img, uint32_t rva, uint32_t len, uint64_t *out);

/* ---- metadata.c: ECMA-335, partition II.22 and II.24 ------------------------------ */

enum { DOTNET_TABLES = 0x2d };

struct dotnet_metadata {
	uint64_t strings;
	uint32_t strings_bytes;
	uint8_t string_width; /* bytes of a reference to a string */
	uint32_t n_rows[DOTNET_TABLES];
	uint16_t row_bytes[DOTNET_TABLES];
	uint64_t at[DOTNET_TABLES];
};

int dotnet_metadata_open(const struct dotnet_image *img, struct dotnet_metadata *out);

/*
 * Appends the name of the method with number @rid (from 1), as its source has it:
 * "Namespace.Type.Method".
 */
int dotnet_metadata_name(const struct lang_process *p, const struct dotnet_metadata *m,
			 uint32_t rid, struct buf *out);

/* ---- names.c ---------------------------------------------------------------------- */

/*
 * Append a type, or a method of the innermost type @type, separated by a dot. Code without a name
 * in the source gets that of the method in which it is: "<Run>b__0" is "Run.<lambda>".
 */
void dotnet_put_type(struct buf *out, const char *name);
void dotnet_put_method(struct buf *out, const char *name, const char *type);

/* ---- ready.c ---------------------------------------------------------------------- */

/* Finds the number of the method whose code has a function that begins at @rva. */
int dotnet_ready_method(const struct dotnet_image *img, uint32_t rva, uint32_t *out_rid);

/* ---- ranges.c --------------------------------------------------------------------- */

/* Finds where the range of code that contains @pc starts. */
int dotnet_range_of(const struct lang_process *p, uint64_t ranges, uint64_t pc, uint64_t *out);

/* ---- symbolize.c: as in struct lang ------------------------------------------------ */

int dotnet_expand(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		  const uint64_t words[2], struct lang_call out[LANG_CALLS_MAX]);
int dotnet_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		uint64_t addr, uint32_t cookie, struct lang_function *out);
