/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The JSON that the flame graph page draws: one profile as a tree.
 *
 * {"version":1,"unit":"nanoseconds","type":"cpu","period_ns":N,"time_ns":N,
 * "duration_ns":N,"title":"…","total":N,
 * "strings":["",…],
 * "frames":[[name,file,line,kind,binary],…],
 * "nodes":{"parent":[-1,…],"frame":[-1,…],"self":[…]},
 * "times":…}	(if samples have timestamps: codec/page/page_times.h)
 *
 * name, file, kind and binary are indices into strings; kind is a label of
 * profile_frame_kind_label() or PAGE_KIND_GROUP. An inlined frame has a sixth element, 1. Node 0
 * is the root; parents precede their children.
 *
 * Values of nodes are self values; the page computes totals. Numbers beyond 2^53 lose precision in
 * the browser, which is far above the values of a profile. A change of the format needs a new
 * version and the page's reader in the same change: pages that were saved contain their own reader,
 * the server's page is always of the server's version.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "codec/common/format_options.h"
#include "codec/page/page_times.h"

struct buf;
struct err;

#define PAGE_NONE UINT32_MAX

/*
 * The kind of a node that is not a frame but groups the nodes below it, such as a program or a
 * service.
 */
#define PAGE_KIND_GROUP "group"

/* Strings are borrowed. */
struct page_frame {
	const char *name, *file, *binary, *kind;
	uint32_t line;
	bool inlined;
};

struct page_node {
	uint32_t parent, frame; /* PAGE_NONE for the root */
	int64_t self;
};

/* The content of the JSON. The times are in nanoseconds; strings are borrowed. */
struct page_tree {
	const char *type, *unit, *title;
	int64_t period_ns, time_ns, duration_ns, total;
	struct {
		VEC(struct page_frame);
	} frames;
	struct {
		VEC(struct page_node);
	} nodes;
	struct page_times times; /* may be empty */
};

void page_tree_fini(struct page_tree *t);

/*
 * Writes the tree as a JSON value, without frames that no node refers to. Sorts the times. Returns
 * 0 or -ENOMEM. After an error the output is incomplete and useless. Parents must precede
 * their children, and frames of nodes must exist.
 */
int page_tree_write(struct page_tree *t, struct json *j);

/*
 * Appends the JSON of a profile. @opt may be NULL. Returns 0, -EINVAL if there is no such sample
 * type, -ENOMEM.
 */
int page_json_write(const struct profile *p, const struct format_options *opt, struct buf *out,
		    struct err *err);
