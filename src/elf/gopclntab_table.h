/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Inside of gopclntab: an open table, and bounded reads of it. gopclntab_table.c finds and checks
 * the table, gopclntab.c answers queries from it.
 *
 * Four formats share one model: a sorted array {entry, offset of a function's record}, and records
 * with offsets of a name and of tables that map instruction ranges to a value (stack depth, file,
 * line, index in the inline tree). They differ in the width of addresses and in the position of
 * fields, which struct gotab_format describes; elf/gomodule.h finds the table and what it refers
 * to.
 *
 * Nothing is decoded in advance: opening checks the header and the order of the function array;
 * everything else is read, and checked, on demand. The file may change meanwhile, so no earlier
 * check is relied on.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct elf_image;
struct err;

/* The layout of one version of the format; offsets in a record are relative to its second field. */
struct gotab_format {
	uint32_t magic;
	uint8_t addr_len;   /* bytes of an entry address or offset, and of an offset in the array */
	uint8_t cu;         /* offset of the compilation unit's first file; 0: files are global */
	uint8_t start_line; /* offset of the start line; 0: none */
	uint8_t tail;       /* offset of {function id, flags, -, number of funcdata} */
	bool wide_count;    /* the tail is a 32-bit number of funcdata instead */
	uint8_t inl_pcdata, inl_funcdata; /* indices */
	uint8_t inl_len;                  /* bytes of an entry of the inline tree */
	bool relative;                    /* addresses are relative to what the module data says */
};

struct gotab_range {
	const uint8_t *data;
	size_t len;
};

struct gopclntab {
	const struct elf_image *img;
	const struct gotab_format *fmt;
	uint8_t *copy; /* copy of the table with relocations applied; or NULL */
	uint64_t vaddr;
	uint8_t quantum;    /* instruction unit */
	uint8_t wrapper_id; /* function id of wrappers that the compiler generates; 0: unknown */
	size_t n;
	uint64_t text;   /* address to which entries are relative */
	uint64_t gofunc; /* address to which funcdata is relative */
	struct gotab_range all;
	struct gotab_range names, cus, files, pcs; /* each up to the end of the whole */
	struct gotab_range funcs;                  /* the array {entry, offset in records} */
	struct gotab_range records;
};

/* Finds and checks the table; see gopclntab_open(). */
int gotab_open(struct gopclntab **out, const struct elf_image *img, struct err *err);
void gotab_free(struct gopclntab *t);

DEFINE_FREEP(struct gopclntab, gotab_free)

/* Read at @off; false if that is outside of the range. */
bool gotab_get32(const struct gotab_range *r, uint64_t off, uint32_t *out);
bool gotab_get64(const struct gotab_range *r, uint64_t off, uint64_t *out);

/* The string at @off, borrowed from the range; NULL if it is outside or has no end. */
const char *gotab_string(const struct gotab_range *r, uint64_t off);

/* The address of function @i as linked; for @i == @t->n, the end of the last function. */
bool gotab_entry(const struct gopclntab *t, uint64_t i, uint64_t *out);

/* Finds function @i's record, from its second field on. */
bool gotab_record(const struct gopclntab *t, uint64_t i, struct gotab_range *out);
