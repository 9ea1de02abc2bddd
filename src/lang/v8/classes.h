/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The methods that a script's classes have, by its text. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct v8_method {
	uint32_t at;             /* the character that its parameters begin with */
	uint32_t class, n_class; /* where its class's name is, and how long */
};

/*
 * Those of a text of @n characters of @width bytes, in rising order. *@out is the caller's, to be
 * freed. Any text is borne. 0 or -ENOMEM.
 */
int v8_find_methods(const void *text, uint32_t n, uint32_t width, struct v8_method **out,
		    size_t *out_n);

/* The method that begins at @place. */
bool v8_class_at(const struct v8_method *methods, size_t n, uint32_t place, struct v8_method *out);
