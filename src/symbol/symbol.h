/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The result of symbolizing one address, in the form that every source of
 * symbols reports it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The reason why @name is made of the file's name instead of being a function's. */
enum symbol_missing {
	SYMBOL_FOUND,
	SYMBOL_NONE,          /* no source has a name for the address */
	SYMBOL_GIVEN_UP,      /* the symbolizer failed for this file, repeatedly */
	SYMBOL_NO_SYMBOLIZER, /* the symbolizer could not be started */
};

/* One function at an address. Element 0 of an array is the innermost inlined call. */
struct symbol_frame {
	const char *name;        /* demangled */
	const char *system_name; /* as in the symbol table */
	const char *file;        /* "" if unknown */
	uint32_t line;           /* 0 if unknown */
	uint32_t start_line;     /* line of the function's declaration; 0 if unknown */
	uint32_t column;         /* in @line, from 1; 0 if unknown */
	uint64_t address;        /* of script frames: a position in code without lines; else 0 */
	uint16_t discriminator;  /* LLVM's number of the block in @line; 0: the first or unknown */
	const uint8_t *md5;      /* of the compiled @file, 16 bytes; NULL: unknown */
	uint8_t missing;         /* enum symbol_missing */
	bool is_preliminary;     /* a later lookup may find more */
};

/*
 * Called once for each address that has a symbol. @cookie is the index of the
 * address in the batch. Frames and strings are valid during the call only. A
 * non-zero result stops the batch, which returns it.
 */
typedef int (*symbol_frames_fn)(void *ctx, size_t cookie, const struct symbol_frame *frames,
				size_t n_frames);
