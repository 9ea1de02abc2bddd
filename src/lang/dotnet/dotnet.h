/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Internal interfaces of the support of .NET (CoreCLR 8 to 10). detect.c and contract.c read the
 * runtime's file; the others read a process: image.c the PE image of an assembly, metadata.c the
 * names in it, ready.c which of its methods precompiled code belongs to, ranges.c the runtime's map
 * of code, debug_info.c the map from code to IL, debug_directory.c and pdb.c the lines of IL,
 * symbolize.c the structures that lead to all of these. bpf/shared/dotnet.h defines the
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
	uint32_t ready;              /* RVA of the header of its precompiled code; 0: it has none */
	uint32_t debug, debug_bytes; /* RVA of its debug directory; 0: it has none */
};

int dotnet_image_open(const struct lang_process *p, uint64_t base, struct dotnet_image *out);

/* Finds where the @len bytes at @rva are in the process. */
int dotnet_image_address(const struct dotnet_image *img, uint32_t rva, uint32_t len, uint64_t *out);

/* ---- stream.c: bytes of the process, one after another ---------------------------- */

/* Reads past the end, or of memory that is not there, yield zeros and set the flag. */
struct dotnet_stream {
	const struct lang_process *p;
	uint64_t at, end;
	uint32_t used, n; /* of bytes */
	bool is_bad;
	uint8_t bytes[256];
};

void dotnet_stream_init(struct dotnet_stream *s, const struct lang_process *p, uint64_t at,
			uint64_t len);
/* The address of the next byte. */
uint64_t dotnet_stream_at(const struct dotnet_stream *s);
/* Lets the stream end after @len more bytes, unless it ends before. */
void dotnet_stream_limit(struct dotnet_stream *s, uint64_t len);
void dotnet_stream_skip(struct dotnet_stream *s, uint64_t len);
uint8_t dotnet_stream_byte(struct dotnet_stream *s);
/* A number of @width bytes, 4 at most. */
uint32_t dotnet_stream_number(struct dotnet_stream *s, uint32_t width);
/* Compressed numbers (ECMA-335 II.23.2). */
uint32_t dotnet_stream_compressed(struct dotnet_stream *s);
int32_t dotnet_stream_signed(struct dotnet_stream *s);

/* ---- debug_info.c: from native code to IL ----------------------------------------- */

struct dotnet_il {
	bool is_known;
	uint32_t offset;
};

enum {
	DOTNET_PATCHPOINT_WORDS_8 = 8, /* words of 4 bytes before those of locals */
	DOTNET_PATCHPOINT_WORDS_10 = 10,
};

/* The form of a debug info. */
struct dotnet_debug_form {
	bool is_packed;            /* as .NET 10 writes it */
	uint32_t patchpoint_words; /* 0: of precompiled code, which has neither flags nor these */
};

/*
 * Finds the IL from which the instruction at offset @native of a method was made, in the debug info
 * at @addr. *@out is not known if there is no map.
 */
int dotnet_debug_info_find(const struct lang_process *p, uint64_t addr,
			   const struct dotnet_debug_form *form, uint32_t native,
			   struct dotnet_il *out);

/* ---- metadata.c: ECMA-335, partition II.22 and II.24 ------------------------------ */

enum { DOTNET_METADATA_SIGNATURE = 0x424a5342 };

/* Metadata, of an assembly or of a portable PDB. */
struct dotnet_root {
	const struct lang_process *p;
	uint64_t at;
	uint32_t bytes;
};

/* One of its streams. */
struct dotnet_heap {
	const char *name;
	uint64_t at;
	uint32_t bytes;
};

/* Finds the @n streams with the names in @out; those that are missing remain unchanged. */
int dotnet_root_read(const struct dotnet_root *root, struct dotnet_heap *out, size_t n);

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

/* ---- pdb.c: a portable PDB in memory ---------------------------------------------- */

enum { DOTNET_PDB_ID_BYTES = 20 };

struct dotnet_pdb {
	struct lang_process p; /* whose memory from address 0 on is the PDB */
	uint8_t id[DOTNET_PDB_ID_BYTES];
	uint64_t blobs, documents, methods; /* addresses */
	uint32_t blob_bytes, n_documents, n_methods;
	uint8_t blob_width, guid_width, document_width;
};

/* A line and a column from an IL offset on; 0: it is unknown. */
struct dotnet_line {
	uint32_t il, line, column;
};

/* Opens the @len bytes that p->read() reads at address 0. */
int dotnet_pdb_open(const struct lang_process *p, uint32_t len, struct dotnet_pdb *out);

/*
 * Reads the lines of method @rid into out->lines, and out->file and out->first_line; all of them
 * are of the document of the first one. -ENOENT: the method has none.
 */
int dotnet_pdb_lines(const struct dotnet_pdb *pdb, uint32_t rid, struct lang_function *out);

/* Returns the line at an IL offset, or NULL. */
const struct dotnet_line *dotnet_line_at(const struct lang_function *f, uint32_t il);

/* ---- debug_directory.c: which PDB an assembly has --------------------------------- */

/*
 * Reads the lines of method @rid of an assembly, from the PDB that is embedded in it or lies next
 * to it. -ENOENT: it has none.
 */
int dotnet_lines(const struct dotnet_image *img, uint32_t rid, struct lang_function *out);

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

/* Finds the IL of the instruction @offset bytes into the function that begins at @rva. */
int dotnet_ready_il(const struct dotnet_image *img, uint32_t rva, uint32_t offset,
		    struct dotnet_il *out);

/* ---- ranges.c --------------------------------------------------------------------- */

/* Finds where the range of code that contains @pc starts. */
int dotnet_range_of(const struct lang_process *p, uint64_t ranges, uint64_t pc, uint64_t *out);

/* ---- symbolize.c: as in struct lang. A place is an IL offset plus 1; 0: unknown. ---- */

uint32_t dotnet_line(const struct lang_function *f, uint32_t place);
uint32_t dotnet_column(const struct lang_function *f, uint32_t place);
uint64_t dotnet_address(const struct lang_function *f, uint32_t place);

int dotnet_expand(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		  const uint64_t words[2], struct lang_call out[LANG_CALLS_MAX]);
int dotnet_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		uint64_t addr, uint32_t cookie, struct lang_function *out);
