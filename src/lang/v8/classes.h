/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The methods of the classes in a script, found in its source text. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct v8_method {
	uint32_t at;             /* index of the parenthesis that opens its parameters */
	uint32_t class, n_class; /* index and length of its class's name */
};

/*
 * Finds the methods in a text of @n characters of @width bytes (1: Latin-1, 2: UTF-16), sorted
 * by position. The text may be malformed. The caller frees *@out, which may be NULL if there
 * are none. Returns 0 or -ENOMEM.
 */
int v8_find_methods(const void *text, uint32_t n, uint32_t width, struct v8_method **out,
		    size_t *out_n);

/* Finds the method that starts at @place. Returns false if there is none. */
bool v8_class_at(const struct v8_method *methods, size_t n, uint32_t place, struct v8_method *out);
