/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Demangles the names on standard input, one per line, as profiles show them: for the script
 * demangle. A name that cannot be demangled is printed unmodified.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbol/demangle.h"

int main(void)
{
	_cleanup_(freep) char *line = NULL;
	size_t cap = 0;

	while (getline(&line, &cap, stdin) >= 0) {
		_cleanup_(freep) char *name = NULL;

		line[strcspn(line, "\n")] = '\0';
		name = demangle_name(line, DEMANGLE_FULL, DEMANGLE_BY_PREFIX);
		puts(name ? name : line);
	}
	return 0;
}
