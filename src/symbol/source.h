/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The sources of names, in both processes. */
enum symbolizer_source {
	SYMBOLIZER_UNNAMED,
	SYMBOLIZER_GO,
	SYMBOLIZER_SYMTAB,
	SYMBOLIZER_DWARF,
	SYMBOLIZER_DEBUG_SYMTAB, /* .symtab of a debug file or of .gnu_debugdata */
	SYMBOLIZER_DYNSYM,
	SYMBOLIZER_GIVEN_UP, /* The symbolizer died of the file, or cannot be started. */
	SYMBOLIZER_SOURCE_MAX,
};
