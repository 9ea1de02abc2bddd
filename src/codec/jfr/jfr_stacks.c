/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many events refer to the same stacks, and stacks to the same methods, so each is built once per
 * chunk and profile. struct jfr_stack_ids maps the index of a constant to its id in the profile
 * plus 1; 0 means that it was not built yet.
 */
#include "codec/jfr/jfr_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "codec/common/limits.h"
#include "codec/jfr/jfr_chunk.h"
#include "profile/jvm_class.h"
#include "profile/profile.h"

#define NO_STACK       "[no stack trace]"
#define TRUNCATED      "[truncated stack trace]"
#define UNKNOWN_METHOD "[unknown method]"

/* The values of each shape, in the order of the names that jfr_stacks_init() looks up. */
enum { STACK_TRUNCATED, STACK_FRAMES };
enum { FRAME_METHOD, FRAME_LINE, FRAME_TYPE };
enum { METHOD_TYPE, METHOD_NAME };
enum { FIRST };
enum { THREAD_OS_NAME, THREAD_JAVA_NAME };

void jfr_stacks_init(struct jfr_stacks *s, struct jfr_chunk *chunk,
		     const struct codec_limits *limits)
{
	static const char *const stack[] = { "truncated", "frames", NULL };
	static const char *const frame[] = { "method", "lineNumber", "type", NULL };
	static const char *const method[] = { "type", "name", NULL };
	static const char *const class[] = { "name", NULL };
	static const char *const symbol[] = { "string", NULL };
	static const char *const frame_type[] = { "description", NULL };
	static const char *const thread[] = { "osName", "javaName", NULL };
	static const char *const state[] = { "name", NULL };
	const struct jfr_types *t = &chunk->types;

	s->chunk = chunk;
	s->limits = limits;
	jfr_shape_init(&s->stack, t, "jdk.types.StackTrace", stack);
	jfr_shape_init(&s->frame, t, "jdk.types.StackFrame", frame);
	jfr_shape_init(&s->method, t, "jdk.types.Method", method);
	jfr_shape_init(&s->class, t, "java.lang.Class", class);
	jfr_shape_init(&s->symbol, t, "jdk.types.Symbol", symbol);
	jfr_shape_init(&s->frame_type, t, "jdk.types.FrameType", frame_type);
	jfr_shape_init(&s->thread, t, "java.lang.Thread", thread);
	jfr_shape_init(&s->state, t, "jdk.types.ThreadState", state);
}

void jfr_stacks_fini(struct jfr_stacks *s)
{
	buf_fini(&s->text);
	buf_fini(&s->other);
	vec_fini(&s->locations);
}

void jfr_stack_ids_fini(struct jfr_stack_ids *ids)
{
	free(ids->stacks);
	free(ids->methods);
	*ids = (struct jfr_stack_ids){ 0 };
}

/* Reads a constant. Returns its index; JFR_NO_CONSTANT, and 0 as values, if there is none. */
static uint32_t read_constant(struct jfr_stacks *s, enum jfr_pool_class pool,
			      const struct jfr_shape *shape, uint64_t id, struct jfr_cursor *c,
			      struct jfr_value v[JFR_SHAPE_VALUES])
{
	uint32_t i = jfr_constant_seek(&s->chunk->pools, pool, id, c);

	memset(v, 0, JFR_SHAPE_VALUES * sizeof(*v));
	if (i != JFR_NO_CONSTANT)
		jfr_shape_read(shape, &s->chunk->types, c, v);
	return i;
}

int jfr_resolve_text(struct jfr_stacks *s, struct jfr_text t, struct buf *out)
{
	struct jfr_cursor c = s->chunk->cursor;

	if (t.kind == JFR_TEXT_CONSTANT) {
		if (jfr_constant_seek(&s->chunk->pools, JFR_POOL_STRING, t.ref, &c) ==
		    JFR_NO_CONSTANT)
			return 0;
		/* The text of a constant is never a constant. */
		t = jfr_text(&c);
	}
	if (!c.bad)
		jfr_text_put(t, out);
	return c.bad ? -EBADMSG : 0;
}

/* Appends the text in the first value of a constant. */
static int put_name(struct jfr_stacks *s, enum jfr_pool_class pool, const struct jfr_shape *shape,
		    uint64_t id, struct buf *out)
{
	struct jfr_cursor c = s->chunk->cursor;
	struct jfr_value v[JFR_SHAPE_VALUES];

	read_constant(s, pool, shape, id, &c, v);
	return c.bad ? -EBADMSG : jfr_resolve_text(s, v[FIRST].text, out);
}

int jfr_state_name(struct jfr_stacks *s, uint64_t ref, struct buf *out)
{
	return put_name(s, JFR_POOL_STATE, &s->state, ref, out);
}

int jfr_thread_name(struct jfr_stacks *s, uint64_t ref, struct buf *out)
{
	struct jfr_cursor c = s->chunk->cursor;
	struct jfr_value v[JFR_SHAPE_VALUES];
	int r;

	read_constant(s, JFR_POOL_THREAD, &s->thread, ref, &c, v);
	r = c.bad ? -EBADMSG : jfr_resolve_text(s, v[THREAD_JAVA_NAME].text, out);
	if (r == 0 && !out->len)
		r = jfr_resolve_text(s, v[THREAD_OS_NAME].text, out);
	return r;
}

/* async-profiler writes the library of a native function, if it is known, in place of its class. */
static bool is_native(const char *class, size_t len)
{
	return !len || memmem(class, len, ".so", strlen(".so"));
}

/* Makes Class.method of a method in s->text, or the name of a native function. */
static int put_method(struct jfr_stacks *s, const struct jfr_value v[JFR_SHAPE_VALUES],
		      bool *out_native)
{
	struct jfr_cursor c = s->chunk->cursor;
	struct jfr_value class[JFR_SHAPE_VALUES];
	int r;

	s->text.len = s->other.len = 0;
	read_constant(s, JFR_POOL_CLASS, &s->class, v[METHOD_TYPE].number, &c, class);
	r = c.bad ? -EBADMSG
		  : put_name(s, JFR_POOL_SYMBOL, &s->symbol, class[FIRST].number, &s->other);
	*out_native = is_native((const char *)s->other.data, s->other.len);
	if (!*out_native) {
		jvm_class_put(&s->text, (const char *)s->other.data, s->other.len);
		buf_put_byte(&s->text, '.');
	}
	if (r == 0)
		r = put_name(s, JFR_POOL_SYMBOL, &s->symbol, v[METHOD_NAME].number, &s->text);
	if (buf_error(&s->text) || buf_error(&s->other))
		return -ENOMEM;
	return r;
}

static int add_text_function(struct profile *p, const char *name, size_t len, uint32_t *out)
{
	struct profile_function f = { 0 };
	int r = profile_add_string(p, name, len, &f.name);

	f.system_name = f.name;
	return r < 0 ? r : profile_add_function(p, &f, out);
}

static int add_function(struct jfr_stacks *s, struct jfr_stack_ids *ids, struct profile *p,
			uint64_t method, uint32_t *out, bool *out_native)
{
	struct jfr_cursor c = s->chunk->cursor;
	struct jfr_value v[JFR_SHAPE_VALUES];
	uint32_t i = read_constant(s, JFR_POOL_METHOD, &s->method, method, &c, v);
	int r;

	if (c.bad)
		return -EBADMSG;
	if (i == JFR_NO_CONSTANT)
		return add_text_function(p, UNKNOWN_METHOD, strlen(UNKNOWN_METHOD), out);
	if (ids->methods[i].function) {
		*out = ids->methods[i].function - 1;
		*out_native = ids->methods[i].native;
		return 0;
	}
	r = put_method(s, v, out_native);
	if (r == 0)
		r = add_text_function(p, (const char *)s->text.data, s->text.len, out);
	if (r == 0)
		ids->methods[i] = (struct jfr_method_id){ *out + 1, *out_native };
	return r;
}

static int add_location(struct jfr_stacks *s, struct profile *p, enum profile_frame_kind kind,
			const struct profile_line *line)
{
	struct profile_location l = {
		.mapping = PROFILE_NONE, .kind = (uint8_t)kind, .n_lines = 1, .lines = line
	};
	uint32_t id;
	int r = profile_add_location(p, &l, &id);

	return r < 0 ? r : vec_push(&s->locations, id);
}

static int add_text_frame(struct jfr_stacks *s, struct profile *p, const char *name)
{
	struct profile_line line = { 0 };
	int r = add_text_function(p, name, strlen(name), &line.function);

	return r < 0 ? r : add_location(s, p, PROFILE_FRAME_ERROR, &line);
}

static int is_kernel(struct jfr_stacks *s, uint64_t type, bool *out)
{
	static const char kernel[] = "Kernel";
	int r;

	s->text.len = 0;
	r = put_name(s, JFR_POOL_FRAME_TYPE, &s->frame_type, type, &s->text);
	*out = s->text.len == strlen(kernel) && !memcmp(s->text.data, kernel, strlen(kernel));
	return r;
}

/* Only Java methods have line numbers. */
static int add_frame(struct jfr_stacks *s, struct jfr_stack_ids *ids, struct profile *p,
		     const struct jfr_value v[JFR_SHAPE_VALUES])
{
	struct profile_line line = { 0 };
	bool kernel, native = false;
	int r = is_kernel(s, v[FRAME_TYPE].number, &kernel);

	if (r == 0)
		r = add_function(s, ids, p, v[FRAME_METHOD].number, &line.function, &native);
	if (!kernel && !native && v[FRAME_LINE].number <= INT32_MAX)
		line.line = (uint32_t)v[FRAME_LINE].number;
	return r < 0 ? r
		     : add_location(s, p,
				    kernel   ? PROFILE_FRAME_KERNEL
				    : native ? PROFILE_FRAME_NATIVE
					     : PROFILE_FRAME_JVM,
				    &line);
}

/* Reads the frames, leaf first, which are an array at the cursor. */
static int add_frames(struct jfr_stacks *s, struct jfr_stack_ids *ids, struct profile *p,
		      struct jfr_cursor *c, struct err *err)
{
	uint64_t n = jfr_varint(c);
	struct jfr_value v[JFR_SHAPE_VALUES];
	int r = 0;

	if (n > s->limits->depth)
		return err_set(err, -EFBIG, "a stack trace has more than %u frames",
			       s->limits->depth);
	for (uint64_t i = 0; r == 0 && i < n; i++) {
		jfr_shape_read(&s->frame, &s->chunk->types, c, v);
		r = c->bad ? -EBADMSG : add_frame(s, ids, p, v);
	}
	return r;
}

static bool has_frames(const struct jfr_stacks *s)
{
	return s->frame.class != JFR_NO_CLASS && s->stack.element[STACK_FRAMES] == s->frame.class;
}

/* Allocates what is remembered by constant, when the profile gets its first stack of the chunk. */
static int prepare_ids(const struct jfr_stacks *s, struct jfr_stack_ids *ids)
{
	const struct jfr_pools *pools = &s->chunk->pools;

	if (ids->stacks)
		return 0;
	ids->stacks = calloc(jfr_pool_len(pools, JFR_POOL_STACK) + 1, sizeof(*ids->stacks));
	ids->methods = calloc(jfr_pool_len(pools, JFR_POOL_METHOD) + 1, sizeof(*ids->methods));
	return ids->stacks && ids->methods ? 0 : -ENOMEM;
}

/* A sample needs a stack, so one without frames gets a frame that reports it. */
static int read_stack(struct jfr_stacks *s, struct jfr_stack_ids *ids, struct profile *p,
		      uint64_t ref, struct err *err)
{
	struct jfr_cursor c = s->chunk->cursor;
	struct jfr_value v[JFR_SHAPE_VALUES];
	int r = 0;

	s->locations.len = 0;
	read_constant(s, JFR_POOL_STACK, &s->stack, ref, &c, v);
	if (c.bad)
		return -EBADMSG;
	if (v[STACK_FRAMES].at && has_frames(s)) {
		c.at = v[STACK_FRAMES].at;
		r = add_frames(s, ids, p, &c, err);
	}
	if (r == 0 && !s->locations.len)
		r = add_text_frame(s, p, NO_STACK);
	else if (r == 0 && v[STACK_TRUNCATED].number)
		r = add_text_frame(s, p, TRUNCATED);
	return r;
}

int jfr_stack_add(struct jfr_stacks *s, struct jfr_stack_ids *ids, struct profile *p, uint64_t ref,
		  uint32_t *out_id, struct err *err)
{
	uint32_t i = jfr_constant(&s->chunk->pools, JFR_POOL_STACK, ref);
	int r = prepare_ids(s, ids);

	if (r == 0 && i != JFR_NO_CONSTANT && ids->stacks[i]) {
		*out_id = ids->stacks[i] - 1;
		return 0;
	}
	if (r == 0)
		r = read_stack(s, ids, p, ref, err);
	if (r == 0)
		r = profile_add_stack(p, s->locations.data, s->locations.len, out_id);
	if (r == 0 && i != JFR_NO_CONSTANT)
		ids->stacks[i] = *out_id + 1;
	return r;
}
