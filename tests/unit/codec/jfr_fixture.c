/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/codec/jfr_fixture.h"

#include <string.h>

enum { HEADER = 68, MAX_FIELDS = 7, TICKS = 1000000000 };
enum { STRING = 10, LONG, INT, BOOLEAN };
enum { SYMBOL = 20, CLASS, METHOD, FRAME_TYPE, FRAME, STACK, STATE, THREAD, EMPTY };

static const struct class
{
	unsigned int id;
	const char *name;
	struct {
		const char *name;
		unsigned int class;
		bool constant, array;
	} fields[MAX_FIELDS];
} classes[] = {
	{ STRING, "java.lang.String", { { 0 } } },
	{ LONG, "long", { { 0 } } },
	{ INT, "int", { { 0 } } },
	{ BOOLEAN, "boolean", { { 0 } } },
	{ EMPTY, "a.Empty", { { 0 } } },
	{ SYMBOL, "jdk.types.Symbol", { { "string", STRING, false, false } } },
	{ CLASS, "java.lang.Class", { { "name", SYMBOL, true, false } } },
	{ METHOD,
	  "jdk.types.Method",
	  { { "type", CLASS, true, false }, { "name", SYMBOL, true, false } } },
	{ FRAME_TYPE, "jdk.types.FrameType", { { "description", STRING, false, false } } },
	{ FRAME,
	  "jdk.types.StackFrame",
	  { { "method", METHOD, true, false },
	    { "lineNumber", INT, false, false },
	    { "type", FRAME_TYPE, true, false } } },
	{ STACK,
	  "jdk.types.StackTrace",
	  { { "truncated", BOOLEAN, false, false }, { "frames", FRAME, false, true } } },
	{ STATE, "jdk.types.ThreadState", { { "name", STRING, false, false } } },
	{ THREAD,
	  "java.lang.Thread",
	  { { "osName", STRING, false, false }, { "javaName", STRING, false, false } } },
#define SAMPLE(id, name, thread, value)                                                            \
	{                                                                                          \
		id, name,                                                                          \
		{                                                                                  \
			{ "startTime", LONG, false, false }, { thread, THREAD, true, false },      \
				{ "stackTrace", STACK, true, false },                              \
				{ "state", STATE, true, false }, { value, LONG, false, false },    \
				{ "contextId", LONG, false, false },                               \
			{                                                                          \
				"nothing", EMPTY, false, true                                      \
			}                                                                          \
		}                                                                                  \
	}
	SAMPLE(JFR_FIXTURE_EXECUTION, "jdk.ExecutionSample", "sampledThread", "unused"),
	SAMPLE(JFR_FIXTURE_CPU_TIME, "jdk.CPUTimeSample", "eventThread", "samplingPeriod"),
	SAMPLE(JFR_FIXTURE_WALL, "profiler.WallClockSample", "sampledThread", "samples"),
	SAMPLE(JFR_FIXTURE_ALLOC, "jdk.ObjectAllocationInNewTLAB", "eventThread", "tlabSize"),
	SAMPLE(JFR_FIXTURE_MONITOR, "jdk.JavaMonitorEnter", "eventThread", "duration"),
	SAMPLE(JFR_FIXTURE_OTHER, "jdk.Other", "eventThread", "value"),
#undef SAMPLE
	{ JFR_FIXTURE_SETTING,
	  "jdk.ActiveSetting",
	  { { "id", LONG, false, false },
	    { "name", STRING, false, false },
	    { "value", STRING, false, false } } },
};
enum { N_CLASSES = sizeof(classes) / sizeof(classes[0]) };

static void put(struct buf *b, uint64_t v)
{
	for (int i = 0; i < 8 && v >= 0x80; i++, v >>= 7)
		buf_put_byte(b, (uint8_t)(v | 0x80));
	buf_put_byte(b, (uint8_t)v);
}

static void put_text(struct buf *b, const char *s)
{
	buf_put_byte(b, 3); /* UTF-8 */
	put(b, strlen(s));
	buf_put_str(b, s);
}

static void put_be(struct buf *b, uint64_t v, int n_bytes)
{
	while (n_bytes--)
		buf_put_byte(b, (uint8_t)(v >> 8 * n_bytes));
}

/* Appends an event with its length, which includes the length's own byte or bytes. */
static void put_event(struct buf *b, unsigned int class, const struct buf *payload)
{
	struct buf whole = { 0 };
	size_t len;

	put(&whole, class);
	buf_put(&whole, payload->data, payload->len);
	len = whole.len + 1;
	if (len >= 0x80)
		len++;
	if (len >= 0x4000)
		len++;
	put(b, len);
	buf_put(b, whole.data, whole.len);
	buf_fini(&whole);
}

/* ---- metadata --------------------------------------------------------------- */

struct strings {
	const char *all[256];
	unsigned int n;
};

static void put_string(struct buf *b, struct strings *s, const char *text)
{
	unsigned int i = 0;

	while (i < s->n && strcmp(s->all[i], text) != 0)
		i++;
	if (i == s->n)
		s->all[s->n++] = text;
	put(b, i);
}

static void put_attribute(struct buf *b, struct strings *s, const char *key, const char *value)
{
	put_string(b, s, key);
	put_string(b, s, value);
}

/* A number as text that lives as long as the program. */
static const char *decimal(unsigned int n)
{
	static char texts[256][4];

	texts[n][0] = (char)('0' + n / 100);
	texts[n][1] = (char)('0' + n / 10 % 10);
	texts[n][2] = (char)('0' + n % 10);
	return texts[n];
}

static void put_class(struct buf *b, struct strings *s, const struct class *k)
{
	unsigned int n = 0;

	while (n < MAX_FIELDS && k->fields[n].name)
		n++;
	put_string(b, s, "class");
	put(b, 2);
	put_attribute(b, s, "name", k->name);
	put_attribute(b, s, "id", decimal(k->id));
	put(b, n);
	for (unsigned int i = 0; i < n; i++) {
		put_string(b, s, "field");
		put(b, 3 + k->fields[i].array);
		put_attribute(b, s, "name", k->fields[i].name);
		put_attribute(b, s, "class", decimal(k->fields[i].class));
		put_attribute(b, s, "constantPool", k->fields[i].constant ? "true" : "false");
		if (k->fields[i].array)
			put_attribute(b, s, "dimension", "1");
		put(b, 0);
	}
}

static void put_metadata(struct buf *b)
{
	struct buf elements = { 0 }, payload = { 0 };
	struct strings s = { .n = 0 };

	put_string(&elements, &s, "root");
	put(&elements, 0);
	put(&elements, 1);
	put_string(&elements, &s, "metadata");
	put(&elements, 0);
	put(&elements, N_CLASSES);
	for (size_t i = 0; i < N_CLASSES; i++)
		put_class(&elements, &s, &classes[i]);
	put(&payload, 0);
	put(&payload, 0);
	put(&payload, 1);
	put(&payload, s.n);
	for (unsigned int i = 0; i < s.n; i++)
		put_text(&payload, s.all[i]);
	buf_put(&payload, elements.data, elements.len);
	put_event(b, 0, &payload);
	buf_fini(&elements);
	buf_fini(&payload);
}

/* ---- constants -------------------------------------------------------------- */

static void put_texts(struct buf *b, unsigned int class, const char *const texts[], unsigned int n)
{
	put(b, class);
	put(b, n);
	for (unsigned int i = 0; i < n; i++) {
		put(b, i + 1);
		put_text(b, texts[i]);
	}
}

static void put_frame(struct buf *b, unsigned int method, unsigned int line, unsigned int type)
{
	put(b, method);
	put(b, line);
	put(b, type);
}

/* Symbols: 1 a/B, 2 leaf, 3 root, 4 libc.so.6, 5 write, 6 sys_write. */
static void put_stacks(struct buf *b)
{
	static const unsigned int methods[][2] = { { 1, 2 }, { 1, 3 }, { 2, 5 }, { 3, 6 } };

	put(b, CLASS);
	put(b, 2);
	put(b, 1);
	put(b, 1);
	put(b, 2);
	put(b, 4);
	put(b, METHOD);
	put(b, 4);
	for (unsigned int i = 0; i < 4; i++) {
		put(b, i + 1);
		put(b, methods[i][0]);
		put(b, methods[i][1]);
	}
	put(b, STACK);
	put(b, 3);
	put(b, 1);
	put(b, false);
	put(b, 2);
	put_frame(b, 1, 7, 1);
	put_frame(b, 2, 0, 1);
	put(b, 2);
	put(b, true);
	put(b, 1);
	put_frame(b, 3, 9, 2);
	put(b, 3);
	put(b, false);
	put(b, 1);
	put_frame(b, 4, 0, 3);
}

static void put_constants(struct buf *b)
{
	static const char *const symbols[] = { "a/B",       "leaf",  "root",
					       "libc.so.6", "write", "sys_write" };
	static const char *const types[] = { "JIT compiled", "Native", "Kernel" };
	static const char *const states[] = { "STATE_RUNNABLE", "STATE_SLEEPING" };
	struct buf payload = { 0 };

	put(&payload, 0);
	put(&payload, 0);
	put(&payload, 0); /* there is no checkpoint before it */
	put(&payload, 0);
	put(&payload, 7);
	put_texts(&payload, SYMBOL, symbols, 6);
	put_texts(&payload, FRAME_TYPE, types, 3);
	put_texts(&payload, STATE, states, 2);
	put_stacks(&payload);
	put(&payload, THREAD);
	put(&payload, 2);
	put(&payload, 1);
	put_text(&payload, "os-main");
	put_text(&payload, "main");
	put(&payload, 2);
	put_text(&payload, "worker");
	put(&payload, 0); /* no name in Java */
	put_event(b, 1, &payload);
	buf_fini(&payload);
}

/* ---- events ----------------------------------------------------------------- */

void jfr_fixture_sample(struct jfr_fixture *f, unsigned int class, uint64_t thread, uint64_t stack,
			uint64_t state, uint64_t value, uint64_t context)
{
	struct buf payload = { 0 };

	put(&payload, 5);
	put(&payload, thread);
	put(&payload, stack);
	put(&payload, state);
	put(&payload, value);
	put(&payload, context);
	put(&payload, 2); /* two objects without bytes */
	put_event(&f->events, class, &payload);
	buf_fini(&payload);
}

void jfr_fixture_setting(struct jfr_fixture *f, uint64_t id, const char *name, const char *value)
{
	struct buf payload = { 0 };

	put(&payload, id);
	put_text(&payload, name);
	put_text(&payload, value);
	put_event(&f->events, JFR_FIXTURE_SETTING, &payload);
	buf_fini(&payload);
}

void jfr_fixture_end(struct jfr_fixture *f)
{
	struct buf metadata = { 0 }, constants = { 0 };
	size_t at = HEADER + f->events.len;

	put_metadata(&metadata);
	put_constants(&constants);
	buf_put(&f->out, "FLR", 4);
	put_be(&f->out, 2, 2);
	put_be(&f->out, 1, 2);
	put_be(&f->out, at + metadata.len + constants.len, 8);
	put_be(&f->out, at + metadata.len, 8);
	put_be(&f->out, at, 8);
	put_be(&f->out, 1700000000ULL * TICKS, 8);
	put_be(&f->out, 2ULL * TICKS, 8);
	put_be(&f->out, 0, 8);
	put_be(&f->out, TICKS / 2, 8); /* a tick is 2 ns */
	put_be(&f->out, 1, 4);
	buf_put(&f->out, f->events.data, f->events.len);
	buf_put(&f->out, metadata.data, metadata.len);
	buf_put(&f->out, constants.data, constants.len);
	buf_fini(&metadata);
	buf_fini(&constants);
	f->events.len = 0;
}

void jfr_fixture_fini(struct jfr_fixture *f)
{
	buf_fini(&f->out);
	buf_fini(&f->events);
}
