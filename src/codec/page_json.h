/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The JSON that the flame graph page holds: one profile as a tree.
 *
 *	{"version":1,"unit":"nanoseconds","type":"cpu","period_ns":N,"time_ns":N,
 *	 "duration_ns":N,"title":"…","total":N,
 *	 "strings":["",…],
 *	 "frames":[[name,file,line,kind,binary],…],
 *	 "nodes":{"parent":[-1,…],"frame":[-1,…],"self":[…]}}
 *
 * name, file, kind and binary are indices into strings; kind is one of the
 * labels of profile_frame_kind_label(). An inlined frame has a sixth element, 1.
 * Node 0 is the root; a parent comes before its children. It is safe inside a
 * <script> element.
 */
#include <stddef.h>

struct buf;
struct err;
struct profile;

struct page_options {
	const char *title;      /* or NULL */
	size_t value_num;       /* which sample type */
	const char *root_label; /* see struct tree_options */
};

/* Append it. 0; -EINVAL when there is no such sample type; -ENOMEM. @opt may be NULL. */
int page_json_write(const struct profile *p, const struct page_options *opt, struct buf *out,
		    struct err *err);
