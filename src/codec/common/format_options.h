/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#define FORMAT_OUTPUT_MAX ((size_t)1 << 30) /* bytes */

/*
 * Options of writers; each format uses those that apply to it. Zero-initialized options are valid.
 * Strings are borrowed for the call.
 */
struct format_options {
	const char *title;      /* NULL: none */
	size_t value_num;       /* index of the sample type, in formats that hold only one */
	const char *root_label; /* see struct tree_options */
	size_t max_bytes;       /* of the output; 0: FORMAT_OUTPUT_MAX */
};
