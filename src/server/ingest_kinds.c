/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pyroscope derives a type from the suffix of an application's name, and a name from words in the
 * display names of sample types. It tries the words in the order that they have here, because
 * several may match.
 */
#include "server/ingest_kinds.h"

#include <stddef.h>
#include <string.h>

#include "profile/profile.h"
#include "store/block.h"

#define CPU        "process_cpu", "cpu", "nanoseconds", "cpu", "nanoseconds", true
#define MEMORY(x)  "memory", x, "bytes", "", "", false
#define OBJECTS(x) "memory", x, "count", "", "", false

static const struct ingest_kind kinds[] = {
	{ "cpu", CPU },
	{ "itimer", CPU },
	{ "wall", "wall", "wall", "nanoseconds", "cpu", "nanoseconds", true },
	{ "inuse_space", MEMORY("inuse_space") },
	{ "inuse_objects", OBJECTS("inuse_objects") },
	{ "alloc_space", MEMORY("alloc_space") },
	{ "alloc_objects", OBJECTS("alloc_objects") },
	{ "alloc_in_new_tlab_bytes", MEMORY("alloc_in_new_tlab_bytes") },
	{ "alloc_in_new_tlab_objects", OBJECTS("alloc_in_new_tlab_objects") },
	{ "alloc_outside_tlab_bytes", MEMORY("alloc_outside_tlab_bytes") },
	{ "alloc_outside_tlab_objects", OBJECTS("alloc_outside_tlab_objects") },
	{ "live", OBJECTS("live") },
	{ "bytes", MEMORY("samples") },
	{ "goroutine", "goroutine", "goroutines", "count", "", "", false },
	{ "goroutines", "goroutine", "goroutines", "count", "", "", false },
	{ "mutex_count", "mutex", "contentions", "count", "", "", false },
	{ "mutex_duration", "mutex", "delay", "nanoseconds", "", "", false },
	{ "block_count", "block", "contentions", "count", "", "", false },
	{ "block_duration", "block", "delay", "nanoseconds", "", "", false },
	{ "lock_count", "block", "contentions", "count", "", "", false },
	{ "lock_duration", "block", "delay", "nanoseconds", "", "", false },
	{ "exceptions", "exceptions", "samples", "count", "", "", false },
};

const struct ingest_kind *ingest_kind_split(char *app)
{
	char *dot = strrchr(app, '.');

	if (!dot)
		return &kinds[0];
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(dot + 1, kinds[i].suffix)) {
			*dot = 0;
			return &kinds[i];
		}
	}
	return NULL;
}

/* Display names where the client configures none, in which lock waits are those of a mutex. */
static const char *default_display(const char *type)
{
	static const struct {
		const char *type, *display;
	} names[] = {
		{ "samples", "cpu" },
		{ "goroutine", "goroutines" },
		{ "contentions", "mutex_count" },
		{ "delay", "mutex_duration" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(type, names[i].type))
			return names[i].display;
	return type;
}

/* Pyroscope's name for a pprof with a display name @shown; NULL if that decides nothing. */
static const char *name_of_display(const char *shown)
{
	static const struct {
		const char *part, *name;
	} names[] = {
		{ "cpu", "process_cpu" }, { "alloc_", "memory" }, { "inuse_", "memory" },
		{ "mutex_", "mutex" },    { "block_", "block" },  { "goroutines", "goroutines" },
	};

	if (!strcmp(shown, "space") || !strcmp(shown, "objects"))
		return "memory";
	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
		if (strstr(shown, names[k].part))
			return names[k].name;
	return NULL;
}

static const char *type_of(const struct profile *p, size_t i)
{
	return profile_string(p, profile_sample_type(p, i).type);
}

const char *ingest_kind_of_pprof(const struct profile *p, const char *const *display)
{
	const char *shown = "process_cpu", *known;

	for (size_t i = 0; i < profile_n_sample_types(p); i++)
		if (!strcmp(type_of(p, i), "wall"))
			return "wall";
	for (size_t i = 0; i < profile_n_sample_types(p); i++) {
		shown = type_of(p, i);
		if (!display)
			shown = default_display(shown);
		else if (i < BLOCK_MAX_TYPES && display[i])
			shown = display[i];
		known = name_of_display(shown);
		if (known)
			return known;
	}
	return shown;
}
