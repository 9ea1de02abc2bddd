/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A profile in memory: the result of a window of sampling, a file or an upload. Its structure is
 * that of pprof: strings, mappings, functions, locations, stacks and samples. All of them are
 * interned, so equal entries have one id, and ids are dense from 0. PROFILE_NONE stands for a
 * missing mapping, string 0 is "".
 *
 * Add sample types first, then strings, mappings, functions, locations, stacks and samples,
 * each after the entries that it refers to. Not thread-safe.
 *
 * Size: ids have 32 bits, and a table that is full makes its function return -ENOMEM. Nothing here
 * limits the memory of a profile: readers of untrusted data limit their input. After -ENOMEM a
 * profile is still consistent, but the entry that was being added may be incomplete.
 *
 * Strings come from symbol tables, uploads and names of processes, which anybody may have written.
 * Each is stored as one line that is safe on a terminal (utf8_put_line()), so that writers and
 * commands need not sanitize strings.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct profile;

#define PROFILE_NONE UINT32_MAX

/* The kind of code in a frame: its language, native code or the kernel. */
enum profile_frame_kind {
	PROFILE_FRAME_UNKNOWN,
#define X(sym, label, otel) PROFILE_FRAME_##sym,
#include "profile/frame_kinds.def"
#undef X
	PROFILE_FRAME_MAX,
};

/* "native", "kernel", "python" and so on, a constant; "unknown" for any other value. */
const char *profile_frame_kind_label(enum profile_frame_kind kind);

struct profile_value_type {
	uint32_t type; /* string ids: "cpu" */
	uint32_t unit; /* "nanoseconds" */
};

/*
 * The flags are those of pprof's Mapping: they promise that functions, file names, lines or inlined
 * calls need not be looked up again. The two hashes identify the file's content where its name does
 * not.
 */
struct profile_mapping {
	uint64_t start, limit, file_off; /* addresses [start, limit) and the offset of start */
	uint32_t file;                   /* string id */
	uint32_t build_id;               /* string id, hex */
	uint32_t
		htl_hash; /* string id, hex: process.executable.build_id.htlhash of OpenTelemetry */
	bool has_functions, has_filenames, has_lines, has_inlines;
};

/*
 * Two functions with one name but different files are different entries; viewers decide whether to
 * merge them.
 */
struct profile_function {
	uint32_t name;        /* string id: demangled */
	uint32_t system_name; /* string id: as in the symbol table */
	uint32_t file;        /* string id; 0: unknown */
	uint32_t start_line;  /* 0: unknown */
};

struct profile_line {
	uint32_t function; /* function id */
	uint32_t line;     /* 0: unknown */
	uint32_t column;   /* 0: unknown */
};

/* An address in the program and the source lines of the calls that are inlined there. */
struct profile_location {
	uint32_t mapping; /* id or PROFILE_NONE */
	uint64_t address;
	uint8_t kind;                     /* enum profile_frame_kind */
	uint32_t n_lines;                 /* 0: not symbolized */
	const struct profile_line *lines; /* [0] is the innermost inlined call */
};

/*
 * Either @str or @num is the value: a label with a text loses its number when it is added. The text
 * "" cannot be a value, because string id 0 means that there is no text.
 */
struct profile_label {
	uint32_t key; /* string id */
	uint32_t str; /* string id of the value; 0: the value is @num */
	int64_t num;
	uint32_t num_unit; /* string id; 0: none */
};

/*
 * @values of one sample are totals over everything that was merged into it. Timestamps are kept in
 * the order in which they were added and need not be as many as the sample counts.
 */
struct profile_sample {
	uint32_t stack;
	uint32_t n_labels;
	const struct profile_label *labels; /* sorted by key */
	const int64_t *values;              /* one per sample type */
	uint32_t n_times;                   /* 0: timestamps are unknown */
	const uint64_t *times;              /* ns since 1970 */
};

/*
 * Times and durations are those of the recording, and 0 where they are unknown. @period is the
 * distance of two samples in units of @period_type, such as 10,000,000 ns at 100 Hz.
 */
struct profile_meta {
	int64_t time_ns; /* start, since 1970 */
	int64_t duration_ns;
	struct profile_value_type period_type;
	int64_t period;
	uint32_t default_sample_type;               /* string id; 0: the last one */
	uint32_t doc_url, drop_frames, keep_frames; /* string ids, see profile.proto */
};

/* Returns 0 or -ENOMEM. */
int profile_new(struct profile **out);
void profile_free(struct profile *p);

DEFINE_FREEP(struct profile, profile_free)

/* Metadata, to be set and read in place. */
struct profile_meta *profile_meta(struct profile *p);
const struct profile_meta *profile_meta_const(const struct profile *p);

/*
 * Adds a sample type. Returns 0; -EINVAL after the first sample; -ENOMEM. The order of types is the
 * order of each sample's values, and it is the order in which viewers list them.
 */
int profile_add_sample_type(struct profile *p, const char *type, const char *unit);

/*
 * Adds the sample types of @from after those of @p. Returns the same values as
 * profile_add_sample_type().
 */
int profile_add_types_of(struct profile *p, const struct profile *from);

/*
 * Allocates space for the expected numbers of entries; more may follow. Returns 0 or -ENOMEM. It
 * only saves time: too small and too large numbers are equally correct.
 */
struct profile_counts {
	size_t strings, functions, locations, samples;
};
int profile_reserve(struct profile *p, const struct profile_counts *counts);

/*
 * Adds a comment; its line breaks become spaces. Returns 0 or -ENOMEM. Comments are not interned,
 * so adding one twice keeps both.
 */
int profile_add_comment(struct profile *p, const char *text);

/*
 * Find or add an entry and return its id. Everything is copied; control characters of a string
 * become spaces and invalid UTF-8 becomes U+FFFD, so strings that differ only in these have one id.
 * Return 0; -EINVAL if the entry refers to an id that does not exist; -ENOMEM.
 */
int profile_add_string(struct profile *p, const char *s, size_t len, uint32_t *out_id);
int profile_add_mapping(struct profile *p, const struct profile_mapping *m, uint32_t *out_id);
int profile_add_function(struct profile *p, const struct profile_function *f, uint32_t *out_id);
int profile_add_location(struct profile *p, const struct profile_location *l, uint32_t *out_id);
/*
 * Sets the lines of a location after its symbolization. Adding an equal location later gives a new
 * id. Returns 0, -EINVAL for an id that does not exist, -ENOMEM. The location keeps its id, so
 * stacks that contain it change with it.
 */
int profile_set_location_lines(struct profile *p, uint32_t id, const struct profile_line *lines,
			       size_t n);
int profile_add_stack(struct profile *p, const uint32_t *locations, size_t n, /* leaf first */
		      uint32_t *out_id);

/**
 * profile_add_sample() - add a sample
 *
 * A sample with the stack and labels of an existing one is merged into it: its values are added,
 * without overflow, and its timestamps are appended. Labels may be in any order.
 *
 * Return: 0; -EINVAL for an id that does not exist; -ENOMEM.
 */
int profile_add_sample(struct profile *p, const struct profile_sample *s);

/*
 * Replaces sample type @i and multiplies its values, which turns counts into time. Returns 0;
 * -EFBIG if a value overflows; -ENOMEM. After an error the profile can only be freed. @i is not
 * checked.
 */
int profile_convert_sample_type(struct profile *p, size_t i, const char *type, const char *unit,
				int64_t factor);

/*
 * Adds all samples of @from, and its comments and metadata. Returns 0; -EINVAL if the sample types
 * differ, unless @p has none yet; -ENOMEM. Merging a profile into itself is refused with -EINVAL.
 * After an error @p may hold a part of @from.
 */
int profile_merge(struct profile *p, const struct profile *from);

/*
 * Like profile_merge(), but the values of @from become those of the types @first and following of
 * @p, which has all of its types already and whose other values are 0. The names of the types need
 * not be equal. Returns -EINVAL if @p has too few types.
 */
int profile_merge_columns(struct profile *p, const struct profile *from, size_t first);

/*
 * Like profile_merge(), without the samples @i for which @selected[i] is 0. Strings, functions and
 * stacks of the other samples are still added, so it filters samples and does not make @p smaller.
 */
int profile_merge_selected(struct profile *p, const struct profile *from, const uint8_t *selected);

/*
 * Like profile_merge_selected(), with @values[i] instead of the values of sample @i of @from;
 * samples for which it is 0 are omitted. @p has one sample type, whatever those of @from are.
 */
int profile_merge_column(struct profile *p, const struct profile *from, const int64_t *values);

struct profile_text_label {
	const char *key, *str;
};

/*
 * Like profile_merge(); adds these labels to samples that have no label with the same key. Files in
 * an agent's directory get the labels of their series this way.
 */
int profile_merge_with_labels(struct profile *p, const struct profile *from,
			      const struct profile_text_label *labels, size_t n_labels);

/*
 * Read access. Ids are below the count and are not checked; pointers are valid until the next add.
 */
size_t profile_n_sample_types(const struct profile *p);
struct profile_value_type profile_sample_type(const struct profile *p, size_t i);
size_t profile_n_comments(const struct profile *p);
uint32_t profile_comment(const struct profile *p, size_t i); /* string id */
const char *profile_string(const struct profile *p, uint32_t id);
size_t profile_string_len(const struct profile *p, uint32_t id);
uint32_t profile_n_strings(const struct profile *p);
/* Finds the string as which profile_add_string() stores @s. Returns 0; -ENOENT; -ENOMEM. */
int profile_find_string(const struct profile *p, const char *s, size_t len, uint32_t *out_id);
uint32_t profile_n_mappings(const struct profile *p);
const struct profile_mapping *profile_mapping(const struct profile *p, uint32_t id);
uint32_t profile_n_functions(const struct profile *p);
const struct profile_function *profile_function(const struct profile *p, uint32_t id);
uint32_t profile_n_locations(const struct profile *p);
struct profile_location profile_location(const struct profile *p, uint32_t id);
uint32_t profile_n_stacks(const struct profile *p);
const uint32_t *profile_stack(const struct profile *p, uint32_t id, size_t *out_n);
uint32_t profile_n_samples(const struct profile *p);
struct profile_sample profile_sample(const struct profile *p, uint32_t i);
size_t profile_bytes(const struct profile *p); /* memory in bytes, for budgets */

/*
 * Returns true if both profiles have the same sample types, by names and units, in the same order.
 */
bool profile_has_types_of(const struct profile *a, const struct profile *b);

/* The sum of a sample type's values, or the limit of int64_t that it exceeds. */
int64_t profile_sum(const struct profile *p, size_t type);
