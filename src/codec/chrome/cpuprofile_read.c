/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes are a call tree, given by the children or by the parent of each node. Its root is
 * not a frame. The stack of a node is built when a sample first refers to it.
 *
 * timeDeltas[i] is the time between samples i - 1 and i, the first one counting from startTime; so
 * the duration of a sample is the delta of the next, and the last one lasts until endTime. Files of
 * older versions lack timeDeltas: their samples have counts but no times. A file may link its nodes
 * in a circle. Walking to the root is therefore bounded by the depth limit, which reports such a
 * file as too deep.
 */
#include "codec/chrome/chrome.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "codec/common/id_map.h"
#include "codec/common/json_profile.h"

enum { NS_PER_US = 1000, N_TYPES = 2 };

struct node {
	int64_t id, parent_id; /* parent_id 0: not given */
	uint32_t location;
	uint32_t parent, stack; /* node number and stack id, or PROFILE_NONE */
};

/* An entry of a list of children. */
struct edge {
	uint32_t parent;
	int64_t child_id;
};

struct reader {
	struct json_profile jp;
	bool has_nodes;
	struct node node; /* being read */
	struct json_frame frame;
	double start_us, end_us;
	struct {
		VEC(struct node);
	} nodes;
	struct {
		VEC(struct edge);
	} edges;
	struct {
		VEC(int64_t);
	} samples;
	struct {
		VEC(double);
	} deltas;            /* microseconds since the previous sample */
	struct id_map by_id; /* node numbers */
	struct json_ids stack;
};

static void reader_fini(struct reader *rd)
{
	json_profile_fini(&rd->jp);
	vec_fini(&rd->nodes);
	vec_fini(&rd->edges);
	vec_fini(&rd->samples);
	vec_fini(&rd->deltas);
	vec_fini(&rd->by_id);
	vec_fini(&rd->stack);
}

/* ---- the file ----------------------------------------------------------------- */

static int read_call_frame(void *ctx, const char *key)
{
	struct reader *rd = ctx;
	struct json_frame *f = &rd->frame;
	int c = json_read_peek(&rd->jp.j), r;

	if (!strcmp(key, "functionName") && c == '"')
		return json_profile_string(&rd->jp, &f->name);
	if (!strcmp(key, "url") && c == '"')
		return json_profile_string(&rd->jp, &f->file);
	if (strcmp(key, "lineNumber") != 0 || c != 0)
		return json_profile_skip(&rd->jp);
	r = json_profile_int(&rd->jp, &f->start_line);
	f->start_line += f->start_line < INT32_MAX; /* counted from 0 in the file */
	return r;
}

/*
 * Children may have greater ids than nodes read so far, so only the pair is noted; link_nodes()
 * resolves it.
 */
static int read_child(void *ctx)
{
	struct reader *rd = ctx;
	struct edge edge = { .parent = (uint32_t)rd->nodes.len };
	int r = json_profile_int(&rd->jp, &edge.child_id);

	if (r < 0)
		return r;
	r = json_profile_check_limit(&rd->jp, rd->edges.len, rd->jp.limits.entries, "nodes");
	if (r < 0)
		return r;
	return json_profile_check(&rd->jp, vec_push(&rd->edges, edge));
}

static int read_node_member(void *ctx, const char *key)
{
	struct reader *rd = ctx;
	int c = json_read_peek(&rd->jp.j);

	if (!strcmp(key, "id"))
		return json_profile_int(&rd->jp, &rd->node.id);
	if (!strcmp(key, "parent"))
		return json_profile_int(&rd->jp, &rd->node.parent_id);
	if (!strcmp(key, "callFrame"))
		return json_profile_members(&rd->jp, read_call_frame, rd);
	if (!strcmp(key, "children") && c == '[')
		return json_profile_items(&rd->jp, read_child, rd);
	return json_profile_skip(&rd->jp);
}

/*
 * Functions without a name are shown as DevTools does. Every frame has the kind V8: no other
 * runtime writes this format, and native frames such as "(program)" are not marked.
 */
static int read_node(void *ctx)
{
	struct reader *rd = ctx;
	int r = json_profile_check_limit(&rd->jp, rd->nodes.len, rd->jp.limits.entries, "nodes");
	if (r < 0)
		return r;
	rd->node = (struct node){ .parent = PROFILE_NONE, .stack = PROFILE_NONE };
	rd->frame = (struct json_frame){ .mapping = PROFILE_NONE, .kind = PROFILE_FRAME_V8 };
	r = json_profile_members(&rd->jp, read_node_member, rd);
	if (r < 0)
		return r;
	if (rd->node.id <= 0)
		return err_set(rd->jp.err, -EBADMSG, "node %zu has no id", rd->nodes.len);
	if (!profile_string_len(rd->jp.p, rd->frame.name) &&
	    profile_add_string(rd->jp.p, "(anonymous)", strlen("(anonymous)"), &rd->frame.name) < 0)
		return json_profile_no_memory(&rd->jp);
	r = json_profile_add_frame(&rd->jp, &rd->frame, &rd->node.location);
	if (r < 0)
		return r;
	if (id_map_add(&rd->by_id, (uint64_t)rd->node.id, (uint32_t)rd->nodes.len) < 0 ||
	    vec_push(&rd->nodes, rd->node) < 0)
		return json_profile_no_memory(&rd->jp);
	return 0;
}

static int read_sample(void *ctx)
{
	struct reader *rd = ctx;
	int64_t id = 0;
	int r = json_profile_int(&rd->jp, &id);

	if (r < 0)
		return r;
	r = json_profile_check_limit(&rd->jp, rd->samples.len, rd->jp.limits.samples, "samples");
	if (r < 0)
		return r;
	return json_profile_check(&rd->jp, vec_push(&rd->samples, id));
}

static int read_delta(void *ctx)
{
	struct reader *rd = ctx;
	double us = 0;
	int r = json_profile_number(&rd->jp, &us);

	if (r < 0)
		return r;
	return json_profile_check(&rd->jp, vec_push(&rd->deltas, us));
}

static int read_member(void *ctx, const char *key)
{
	struct reader *rd = ctx;

	if (!strcmp(key, "nodes") && !rd->has_nodes) {
		rd->has_nodes = true;
		return json_profile_items(&rd->jp, read_node, rd);
	}
	if (!strcmp(key, "samples"))
		return json_profile_items(&rd->jp, read_sample, rd);
	if (!strcmp(key, "timeDeltas"))
		return json_profile_items(&rd->jp, read_delta, rd);
	if (!strcmp(key, "startTime"))
		return json_profile_number(&rd->jp, &rd->start_us);
	if (!strcmp(key, "endTime"))
		return json_profile_number(&rd->jp, &rd->end_us);
	return json_profile_skip(&rd->jp);
}

/* ---- the profile -------------------------------------------------------------- */

/*
 * Sets the parents by both notations. A child that does not exist is ignored, a sample's node must
 * exist.
 */
static int link_nodes(struct reader *rd)
{
	uint64_t duplicate;

	if (!id_map_build(&rd->by_id, &duplicate))
		return err_set(rd->jp.err, -EBADMSG, "two nodes have the id %llu",
			       (unsigned long long)duplicate);
	for (size_t i = 0; i < rd->edges.len; i++) {
		const struct edge *e = &rd->edges.data[i];
		uint32_t child;

		if (id_map_find(&rd->by_id, (uint64_t)e->child_id, &child))
			rd->nodes.data[child].parent = e->parent;
	}
	for (size_t i = 0; i < rd->nodes.len; i++) {
		struct node *n = &rd->nodes.data[i];

		if (n->parent_id)
			id_map_find(&rd->by_id, (uint64_t)n->parent_id, &n->parent);
	}
	return 0;
}

/*
 * The stack of node @i: the node and its ancestors except the root. Stacks are cached in the nodes,
 * since a file has far more samples than nodes.
 */
static int stack_of(struct reader *rd, uint32_t i, uint32_t *out)
{
	struct node *leaf = &rd->nodes.data[i];
	int r;

	if (leaf->stack != PROFILE_NONE) {
		*out = leaf->stack;
		return 0;
	}
	rd->stack.len = 0;
	for (const struct node *n = leaf; n->parent != PROFILE_NONE;
	     n = &rd->nodes.data[n->parent]) {
		if (rd->stack.len == rd->jp.limits.depth)
			return err_set(rd->jp.err, -EFBIG, "node %lld is more than %u frames deep",
				       (long long)leaf->id, rd->jp.limits.depth);
		if (vec_push(&rd->stack, n->location) < 0)
			return json_profile_no_memory(&rd->jp);
	}
	vec_reverse(&rd->stack);
	r = json_profile_add_stack(&rd->jp, &rd->stack, &leaf->stack);
	*out = leaf->stack;
	return r;
}

/* The duration of sample @i, which began at @at, in microseconds. */
static double duration(const struct reader *rd, size_t i, double at)
{
	if (i + 1 < rd->samples.len)
		return i + 1 < rd->deltas.len ? rd->deltas.data[i + 1] : 0;
	return rd->end_us > at && rd->deltas.len ? rd->end_us - at : 0;
}

static int add_samples(struct reader *rd)
{
	double at = rd->start_us;

	for (size_t i = 0; i < rd->samples.len; i++) {
		int64_t values[N_TYPES] = { 1, 0 };
		struct profile_sample s = { .values = values };
		uint32_t node;
		int r;

		if (!id_map_find(&rd->by_id, (uint64_t)rd->samples.data[i], &node))
			return err_set(rd->jp.err, -EBADMSG, "sample %zu: node %lld does not exist",
				       i, (long long)rd->samples.data[i]);
		at += i < rd->deltas.len ? rd->deltas.data[i] : 0;
		r = json_profile_round(&rd->jp, duration(rd, i, at) * NS_PER_US, &values[1]);
		if (values[1] < 0)
			values[1] = 0; /* samples of several threads may be out of order */
		if (r == 0)
			r = stack_of(rd, node, &s.stack);
		if (r == 0)
			r = json_profile_add_sample(&rd->jp, &s);
		if (r < 0)
			return r;
	}
	return 0;
}

int cpuprofile_read(struct profile **out, const void *data, size_t len,
		    const struct codec_limits *limits, struct err *err)
{
	_cleanup_(reader_fini) struct reader rd = { 0 };
	int r = json_profile_init(&rd.jp, len, limits, "V8 CPU profile", err);

	if (r == 0)
		r = json_profile_read_object(&rd.jp, data, len, read_member, &rd);
	if (r == 0 && !rd.has_nodes)
		r = err_set(err, -EBADMSG, "not a V8 CPU profile: no \"nodes\" array");
	if (r == 0 && (profile_add_sample_type(rd.jp.p, "samples", "count") < 0 ||
		       profile_add_sample_type(rd.jp.p, "wall", "nanoseconds") < 0))
		r = json_profile_no_memory(&rd.jp);
	if (r == 0)
		r = link_nodes(&rd);
	if (r == 0)
		r = add_samples(&rd);
	if (r < 0)
		return r;
	*out = steal_ptr(&rd.jp.p);
	return 0;
}
