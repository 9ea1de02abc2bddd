/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of a command may contain spaces and digits, and fields may be missing. The line of a
 * sample is therefore recognized by what follows the name: a pid, optional fields, and the event's
 * name with its colon. The first number after which everything matches is the pid.
 *
 * The output of perf script is made for people and depends on its options; there is no
 * specification. The fields here are those that perf prints by default or with -F in front of the
 * event.
 */
#include "codec/perf/perfscript_line.h"

#include <string.h>

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static void skip_spaces(struct text *t)
{
	while (t->len && is_space(*t->s)) {
		t->s++;
		t->len--;
	}
}

static void trim_end(struct text *t)
{
	while (t->len && is_space(t->s[t->len - 1]))
		t->len--;
}

/* Removes the next word and the blanks before it; empty at the end of the line. */
static struct text take_token(struct text *t)
{
	struct text token;

	skip_spaces(t);
	token = (struct text){ t->s, 0 };
	while (token.len < t->len && !is_space(token.s[token.len]))
		token.len++;
	t->s += token.len;
	t->len -= token.len;
	return token;
}

static bool all_digits(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (t.s[i] < '0' || t.s[i] > '9')
			return false;
	return t.len > 0;
}

/* Numbers have no sign, and must fit into 63 bits. */
static bool parse_number(struct text t, int64_t *out)
{
	int64_t v = 0;

	if (!all_digits(t))
		return false;
	for (size_t i = 0; i < t.len; i++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, t.s[i] - '0', &v))
			return false;
	*out = v;
	return true;
}

/* Parses "1234", a thread, or "1200/1234", a process and its thread; -1 is unknown. */
static bool parse_ids(struct text t, struct perfscript_sample *out)
{
	const char *slash = memchr(t.s, '/', t.len);

	out->has_pid = slash;
	if (slash) {
		struct text pid = { t.s, (size_t)(slash - t.s) };

		t.len -= pid.len + 1;
		t.s = slash + 1;
		if (!parse_number(pid, &out->pid))
			return false;
	}
	if (t.len == 2 && !memcmp(t.s, "-1", 2)) {
		out->tid = -1;
		return true;
	}
	return parse_number(t, &out->tid);
}

/* "[003]" */
static bool is_cpu(struct text t)
{
	return t.len > 2 && t.s[0] == '[' && t.s[t.len - 1] == ']' &&
	       all_digits((struct text){ t.s + 1, t.len - 2 });
}

/* "7115.396268:" */
static bool is_time(struct text t)
{
	const char *dot = memchr(t.s, '.', t.len);

	if (!dot || t.s[t.len - 1] != ':')
		return false;
	return all_digits((struct text){ t.s, (size_t)(dot - t.s) }) &&
	       all_digits((struct text){ dot + 1, t.len - (size_t)(dot - t.s) - 2 });
}

/* Reduces "cycles:ppp:" to "cycles", and "sched:sched_switch:" to "sched:sched_switch". */
static bool parse_event(struct text t, struct text *out)
{
	const char *colon;

	if (t.len < 2 || t.s[t.len - 1] != ':')
		return false;
	t.len--;
	while (t.len && t.s[t.len - 1] == ':')
		t.len--;
	colon = memrchr(t.s, ':', t.len);
	if (colon) {
		size_t n = t.len - (size_t)(colon + 1 - t.s), i = 0;

		while (i < n && strchr("ukhpPHGSDIWeb", colon[1 + i]))
			i++;
		if (i == n && colon > t.s)
			t.len -= n + 1;
	}
	*out = t;
	return t.len > 0;
}

/* Parses the fields after the pid. */
static bool parse_tail(struct text t, struct perfscript_sample *out)
{
	struct text token = take_token(&t);

	out->has_period = false;
	if (is_cpu(token))
		token = take_token(&t);
	if (token.len && is_time(token))
		token = take_token(&t);
	if (parse_number(token, &out->period)) {
		out->has_period = true;
		token = take_token(&t);
	}
	if (!token.len || is_time(token) || !parse_event(token, &out->event))
		return false;
	skip_spaces(&t);
	trim_end(&t);
	out->rest = t;
	return true;
}

/* Limits the search for the pid. The kernel limits names to 15 bytes, perf does not. */
enum { MAX_NAME_TOKENS = 32 };

bool perfscript_sample(struct text line, struct perfscript_sample *out)
{
	struct text t = line;

	if (!line.len || is_space(line.s[0])) {
		/* Short names are right-aligned. */
		skip_spaces(&t);
		line = t;
	}
	for (int i = 0; i < MAX_NAME_TOKENS && t.len; i++) {
		struct text token = take_token(&t);

		if (i == 0 || !token.len || !parse_ids(token, out) || !parse_tail(t, out))
			continue;
		out->comm = (struct text){ line.s, (size_t)(token.s - line.s) };
		trim_end(&out->comm);
		return true;
	}
	return false;
}

/* perf prints addresses in lower case without a prefix; more than 16 digits are not an address. */
static bool parse_hex(struct text t, uint64_t *out)
{
	uint64_t v = 0;

	if (!t.len || t.len > 16)
		return false;
	for (size_t i = 0; i < t.len; i++) {
		char c = t.s[i];

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint64_t)(c - 'a' + 10);
		else
			return false;
	}
	*out = v;
	return true;
}

static bool ends_in(struct text t, const char *end)
{
	size_t n = strlen(end);

	return t.len >= n && !memcmp(t.s + t.len - n, end, n);
}

/* Removes " (/usr/lib/x.so)" from the end; the name may contain spaces and "(deleted)". */
static void take_file(struct text *t, struct text *out)
{
	size_t depth = 0, i = t->len;

	*out = (struct text){ 0 };
	if (!t->len || t->s[t->len - 1] != ')')
		return;
	while (i-- > 0) {
		depth += t->s[i] == ')';
		depth -= t->s[i] == '(';
		if (depth == 0)
			break;
	}
	if (depth || (i > 0 && !is_space(t->s[i - 1])))
		return;
	*out = (struct text){ t->s + i + 1, t->len - i - 2 };
	t->len = i;
	trim_end(t);
}

/* Reduces "name+0x12" to "name". */
static void remove_offset(struct text *name)
{
	const char *plus = memrchr(name->s, '+', name->len);
	uint64_t v;

	if (!plus || plus == name->s || name->len - (size_t)(plus - name->s) < 4 ||
	    plus[1] != '0' || plus[2] != 'x')
		return;
	if (parse_hex((struct text){ plus + 3, name->len - (size_t)(plus + 3 - name->s) }, &v))
		name->len = (size_t)(plus - name->s);
}

static void clear_unknown(struct text *t)
{
	if (t->len == 9 && !memcmp(t->s, "[unknown]", 9))
		t->len = 0;
}

/* The line is ADDRESS SYMBOL (FILE); an inlined call has (inlined) instead of the file. */
bool perfscript_frame(struct text line, struct perfscript_frame *out)
{
	struct text t = line;

	trim_end(&t);
	if (!parse_hex(take_token(&t), &out->address))
		return false;
	skip_spaces(&t);
	take_file(&t, &out->file);
	out->inlined = out->file.len == 7 && ends_in(out->file, "inlined");
	if (out->inlined)
		out->file.len = 0;
	out->name = t;
	remove_offset(&out->name);
	clear_unknown(&out->name);
	clear_unknown(&out->file);
	return true;
}
