/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Symbolizes profiles that arrive without symbols: locations in files with a build id that this
 * machine or a debuginfod server has. Other locations stay unchanged. Any thread; one profile is
 * symbolized at a time. Files are opened with the server's rights; their parsing happens in the
 * symbolizer's sandbox (symbol/symbolizer.h). A thread of its own downloads from debuginfod. A
 * profile waits for it up to a limit and is then stored without these symbols; later profiles with
 * the file have them.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct fetcher;
struct ingest_symbolizer;
struct profile;

/*
 * by_path is only for profiles of this machine (`cameo up`, files of one's own): another machine's
 * path may hold another file here.
 */
struct ingest_symbolizer_options {
	struct fetcher *fetcher;      /* for downloads; borrowed; NULL: none */
	const char *debuginfod;       /* URLs separated by spaces; NULL disables debuginfod */
	const char *debuginfod_cache; /* directory; NULL disables the cache */
	bool by_path;                 /* trust the file at the path of a mapping without build id */
};

/* Returns 0 or -errno. */
int ingest_symbolizer_new(struct ingest_symbolizer **out,
			  const struct ingest_symbolizer_options *opt);
void ingest_symbolizer_free(struct ingest_symbolizer *s);

DEFINE_FREEP(struct ingest_symbolizer, ingest_symbolizer_free)

/*
 * Returns true if @p has locations without symbols, in files that are not known to be missing. It
 * does not block on files or servers.
 */
bool ingest_symbolizer_can_help(struct ingest_symbolizer *s, const struct profile *p);

/*
 * Adds functions and lines to the locations of @p. Returns 0 or -ENOMEM. @p belongs to the caller.
 * Failures other than lack of memory leave locations without symbols and are not reported. It waits
 * for downloads until the monotonic time @until_ns (0: not at all), and for its turn.
 */
int ingest_symbolizer_apply(struct ingest_symbolizer *s, struct profile *p, uint64_t until_ns);

/*
 * Ends present and later waits for downloads at once, and present and later look-ups of symbols
 * after 3 s, because the server stops.
 */
void ingest_symbolizer_stop(struct ingest_symbolizer *s);
