/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The names and types that Pyroscope gives to profiles of /ingest, which arrive without them:
 * clients and dashboards of Pyroscope query by these.
 */
#include <stdbool.h>

struct profile;

/* The profile type of stacks with counts. */
struct ingest_kind {
	const char *suffix; /* the last part of the application's name */
	const char *name, *type, *unit, *period_type, *period_unit;
	bool sampled; /* counts are numbers of samples, each of which stands for one sampling
			 interval */
};

/*
 * Splits the suffix off "app.cpu" and returns its kind. A name without a dot is CPU time. NULL if
 * the suffix is unknown; @app is unchanged then.
 */
const struct ingest_kind *ingest_kind_split(char *app);

/*
 * Names a pprof by the first sample type that has a known word in its display name; by the last
 * type's display name if none has. @display has a name or NULL for each of the first
 * BLOCK_MAX_TYPES types; it is NULL if the client sent no configuration, so that Pyroscope's
 * default display names apply. The result borrows from @p or @display.
 */
const char *ingest_kind_of_pprof(const struct profile *p, const char *const *display);
