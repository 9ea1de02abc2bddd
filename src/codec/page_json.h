/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The JSON that the flame graph page holds: one profile as a tree.
 *
 *	{"version":1,"unit":"nanoseconds","type":"cpu","period_ns":N,"time_ns":N,
 *	 "duration_ns":N,"title":"…","total":N,
 *	 "strings":["",…],
 *	 "frames":[[name,file,line,kind,binary],…],
 *	 "nodes":{"parent":[-1,…],"frame":[-1,…],"self":[…]},
 *	 "times":…}	(where samples have times: codec/page_times.h)
 *
 * name, file, kind and binary are indices into strings; kind is one of the
 * labels of profile_frame_kind_label(), or PAGE_KIND_GROUP. An inlined frame has a sixth
 *element, 1. Node 0 is the root; a parent comes before its children. It is safe inside a <script>
 *element.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "codec/page_times.h"

struct buf;
struct err;
struct json;
struct profile;

#define PAGE_NONE UINT32_MAX

/* The kind of what is no frame, but names all that is below it: a program, a service. */
#define PAGE_KIND_GROUP "group"

/* Texts are borrowed. */
struct page_frame {
	const char *name, *file, *binary, *kind;
	uint32_t line;
	bool inlined;
};

struct page_node {
	uint32_t parent, frame; /* PAGE_NONE: the root's */
	int64_t self;
};

/* What is written, from wherever it came. */
struct page_tree {
	const char *type, *unit, *title;
	int64_t period_ns, time_ns, duration_ns, total;
	struct {
		VEC(struct page_frame);
	} frames;
	struct {
		VEC(struct page_node);
	} nodes;
	struct page_times times; /* of samples, where they are known */
};

void page_tree_fini(struct page_tree *t);

/* As a JSON value; frames that no node has are left out, times get sorted. 0 or -ENOMEM. */
int page_tree_write(struct page_tree *t, struct json *j);

struct page_options {
	const char *title;      /* or NULL */
	size_t value_num;       /* which sample type */
	const char *root_label; /* see struct tree_options */
};

/* Append it. 0; -EINVAL when there is no such sample type; -ENOMEM. @opt may be NULL. */
int page_json_write(const struct profile *p, const struct page_options *opt, struct buf *out,
		    struct err *err);
