/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The profile in memory: what a window of sampling, a file or an upload is
 * made of. Shaped like pprof (which everything reads and writes): strings,
 * mappings, functions, locations, stacks, samples; each interned, so that
 * equal things have one id, and referred to by dense 32-bit ids.
 *
 * No I/O, no kernel types, not thread-safe. Function, location, mapping and
 * stack ids start at 0; PROFILE_NONE stands for "none".
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct profile;

#define PROFILE_NONE UINT32_MAX

/* What runs in a frame: decides colour, `_[k]` marks and OTLP's profile.frame.type. */
enum profile_frame_kind {
	PROFILE_FRAME_UNKNOWN,
#define X(sym, label, otel) PROFILE_FRAME_##sym,
#include "profile/frame_kinds.def"
#undef X
	PROFILE_FRAME_MAX,
};

/* "native", "kernel", "python", ...; "unknown" for what is not in the list. */
const char *profile_frame_kind_label(enum profile_frame_kind kind);

struct profile_value_type {
	uint32_t type; /* string ids: "cpu" */
	uint32_t unit; /* "nanoseconds" */
};

struct profile_mapping {
	uint64_t start, limit, file_off;
	uint32_t file;     /* string id */
	uint32_t build_id; /* string id, hex */
	uint32_t htl_hash; /* string id, hex: OpenTelemetry's process.executable.build_id.htlhash */
	bool has_functions, has_filenames, has_lines, has_inlines;
};

struct profile_function {
	uint32_t name;        /* string id: for people */
	uint32_t system_name; /* string id: as in the symbol table */
	uint32_t file;        /* string id, 0 if not known */
	uint32_t start_line;
};

struct profile_line {
	uint32_t function; /* function id */
	uint32_t line;     /* 0: not known */
	uint32_t column;
};

/* One place in the program: an address, and the lines (inlined calls) it stands for. */
struct profile_location {
	uint32_t mapping; /* id or PROFILE_NONE */
	uint64_t address;
	uint8_t kind;                     /* enum profile_frame_kind */
	uint32_t n_lines;                 /* 0: not symbolized */
	const struct profile_line *lines; /* [0] is the innermost inlined call */
};

struct profile_label {
	uint32_t key; /* string ids; when @str is 0 the value is @num */
	uint32_t str;
	int64_t num;
	uint32_t num_unit;
};

struct profile_sample {
	uint32_t stack;
	uint32_t n_labels;
	const struct profile_label *labels; /* sorted by key */
	const int64_t *values;              /* as many as there are sample types */
	uint32_t n_times;                   /* 0: no times are kept */
	const uint64_t *times;              /* ns since 1970 */
};

struct profile_meta {
	int64_t time_ns; /* start, since 1970 */
	int64_t duration_ns;
	struct profile_value_type period_type;
	int64_t period;
	uint32_t default_sample_type; /* string id, 0: the last */
	uint32_t doc_url, drop_frames, keep_frames;
};

int profile_new(struct profile **out);
void profile_free(struct profile *p);

DEFINE_FREEP(struct profile, profile_free)

/*
 * Set-up: 0 or -ENOMEM. Sample types are added before the first sample: after
 * it, -EINVAL.
 */
struct profile_meta *profile_meta(struct profile *p);
const struct profile_meta *profile_meta_const(const struct profile *p);
int profile_add_sample_type(struct profile *p, const char *type, const char *unit);

/* How much of each is about to come; more may. */
struct profile_room {
	size_t strings, functions, locations, samples;
};
int profile_reserve(struct profile *p, const struct profile_room *room);
int profile_add_comment(struct profile *p, const char *text);

/* Interning: an equal one's id, or a new one. 0, -ENOMEM, -EINVAL for an id that is not there. */
int profile_add_string(struct profile *p, const char *s, size_t len, uint32_t *out_id);
int profile_add_mapping(struct profile *p, const struct profile_mapping *m, uint32_t *out_id);
int profile_add_function(struct profile *p, const struct profile_function *f, uint32_t *out_id);
int profile_add_location(struct profile *p, const struct profile_location *l, uint32_t *out_id);
/*
 * Say what a place without lines stands for. It is no longer found as the equal of one
 * that is added later. 0; -EINVAL; -ENOMEM.
 */
int profile_name_location(struct profile *p, uint32_t id, const struct profile_line *lines,
			  size_t n);
int profile_add_stack(struct profile *p, const uint32_t *locations, size_t n, /* leaf first */
		      uint32_t *out_id);

/**
 * profile_add_sample() - count a sample
 *
 * Samples with the same stack and labels are one: their values are added and
 * their times appended. @labels are copied and sorted.
 */
int profile_add_sample(struct profile *p, const struct profile_sample *s);

/*
 * Say what the values of a type are instead, and multiply them: samples as time. 0;
 * -EFBIG when one gets too large, -ENOMEM; the profile is of no use after these.
 */
int profile_retype(struct profile *p, size_t i, const char *type, const char *unit, int64_t factor);

/*
 * Add everything of @from, whose sample types must be the same, or @p have none
 * yet: 0, -EINVAL, -ENOMEM.
 */
int profile_merge(struct profile *p, const struct profile *from);

/* The same without the samples @i for which @wanted[i] is 0. */
int profile_merge_chosen(struct profile *p, const struct profile *from, const uint8_t *wanted);

struct profile_text_label {
	const char *key, *str;
};

/* The same; its samples get these labels too, unless they have one of that key. */
int profile_merge_labelled(struct profile *p, const struct profile *from,
			   const struct profile_text_label *labels, size_t n_labels);

/* Reading. Ids run from 0 to the count; what is given out is borrowed until the next add. */
size_t profile_n_sample_types(const struct profile *p);
struct profile_value_type profile_sample_type(const struct profile *p, size_t i);
size_t profile_n_comments(const struct profile *p);
uint32_t profile_comment(const struct profile *p, size_t i); /* string id */
const char *profile_string(const struct profile *p, uint32_t id);
size_t profile_string_len(const struct profile *p, uint32_t id);
uint32_t profile_n_strings(const struct profile *p);
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
size_t profile_bytes(const struct profile *p); /* memory held, for budgets */
