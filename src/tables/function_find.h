/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds functions of a profile by a name that a person wrote. */
#include <stddef.h>
#include <stdint.h>

struct profile;

/**
 * function_find() - mark the functions that a name refers to
 *
 * These are the functions with exactly this name, demangled or as in the symbol table; if there is
 * none, those whose names contain the text.
 *
 * Return: 0 and an array by function id, 1 for each of these functions, to be freed by the caller;
 * -ENOENT if there is none; -ENOMEM.
 */
int function_find(const struct profile *p, const char *name, uint8_t **out_matched);

enum { FUNCTION_SUGGESTIONS = 3 };

/*
 * Writes the names that are most similar to @name, the best first; there is none if all differ in
 * more than a third of their letters (short names: in more than two). Returns their number. They
 * are borrowed from the profile.
 */
size_t function_suggest(const struct profile *p, const char *name,
			const char *out[FUNCTION_SUGGESTIONS]);
