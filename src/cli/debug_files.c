/* SPDX-License-Identifier: Apache-2.0 */
/* The XDG base directory specification requires that a relative path is ignored. */
#include "cli/debug_files.h"

#include <stdio.h>
#include <stdlib.h>

#include "symbol/symbolizer.h"

void debug_files_configure(struct symbolizer_opts *o, const char *urls, char *path, size_t cap)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	path[0] = '\0';
	if (cache && cache[0] == '/')
		snprintf(path, cap, "%s/cameo/debuginfod", cache);
	else if (home && home[0] == '/')
		snprintf(path, cap, "%s/.cache/cameo/debuginfod", home);
	o->debuginfod_cache = path[0] ? path : NULL;
	o->debuginfod = urls ? urls : getenv("DEBUGINFOD_URLS");
}
