/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * When the samples were taken, a part of the page's JSON: for each thread its samples in the
 * order of time, with the node of the tree that each ended in.
 *
 *	"times":{"start_ns":N,"threads":[
 *		{"name":"worker","process":"shop","pid":7,"tid":9,
 *		 "at":[0,10101,…],"node":[5,9,…]},…]}
 *
 * at: microseconds, the first after the start, each other after the one before.
 */
struct json;
struct profile;
struct tree;

/* A profile of more samples than this is a file too large to be opened: it has no times. */
enum { PAGE_TIMES_MAX = 2000000 };

/* The key and its value; nothing where no sample has a time. 0 or -ENOMEM. */
int page_times_write(const struct profile *p, const struct tree *t, struct json *j);
