/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of all kinds are converted and stored here; value.c defines how a value is written.
 * Errors are assembled from the option's entry in the table, so every option reports them alike.
 */
#include "options/option.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "options/value.h"

static void *field_of(const struct option_set *set, const struct option_spec *o)
{
	return (char *)set->values + o->offset;
}

/* An empty text is stored as NULL, so `--option=` and `key =` restore the unset state. */
static int set_text(char **field, const char *text)
{
	char *copy = NULL;

	if (text && *text) {
		copy = strdup(text);
		if (!copy)
			return -ENOMEM;
	}
	free(*field);
	*field = copy;
	return 0;
}

static void texts_fini(struct option_texts *t)
{
	for (size_t i = 0; i < t->len; i++)
		free(t->data[i]);
	vec_fini(t);
}

/* The list owns its copies, since a config file is freed after it was read. */
static int texts_add(struct option_texts *t, const char *text)
{
	char *copy = strdup(text);
	int r = copy ? vec_push(t, copy) : -ENOMEM;

	if (r < 0)
		free(copy);
	return r;
}

/* ---- errors ------------------------------------------------------------------- */

/* "full|short|no" as "full, short or no". */
static void put_choices(struct buf *out, const char *choices)
{
	while (*choices) {
		size_t n = strcspn(choices, "|");
		const char *next = choices + n + (choices[n] == '|');

		buf_put(out, choices, n);
		if (*next)
			buf_put_str(out, strchr(next, '|') ? ", " : " or ");
		choices = next;
	}
}

/* Bounds are shown in the notation that the option accepts, 15s instead of 15000000000. */
static const char *format_bound(const struct option_spec *o, uint64_t v, char out[VALUE_TEXT_LEN])
{
	if (o->kind == OPTION_DURATION)
		return value_format_duration(v, out);
	if (o->kind == OPTION_SIZE)
		return value_format_size(v, out);
	snprintf(out, VALUE_TEXT_LEN, "%" PRIu64, v);
	return out;
}

/*
 * Describes the accepted values. @expect of the entry replaces the noun of its kind; bounds follow
 * in either case.
 */
static void put_expected(struct buf *out, const struct option_spec *o)
{
	static const char *const nouns[] = {
		[OPTION_BOOL] = "yes or no",
		[OPTION_NUMBER] = "a whole number",
		[OPTION_FREQUENCY] = "a number of samples per second",
		[OPTION_DURATION] = "a duration such as 500ms, 15s or 2h",
		[OPTION_SIZE] = "a size such as 512K, 128M or 1G",
		[OPTION_PERCENT] = "a percentage",
		[OPTION_CUSTOM] = "another value",
	};
	char min[VALUE_TEXT_LEN], max[VALUE_TEXT_LEN];

	if (o->kind == OPTION_CHOICE)
		put_choices(out, o->arg);
	else
		buf_put_str(out, o->expect ? o->expect : nouns[o->kind]);
	format_bound(o, o->min, min);
	format_bound(o, o->max, max);
	if (o->max)
		buf_printf(out, " between %s and %s", min, max);
	else if (o->min)
		buf_printf(out, " of at least %s", min);
}

/* Refuses @text; @why is the reason, or empty for the one that follows from the option's type. */
static int refuse(const struct option_spec *o, const char *label, const char *text, int code,
		  const struct err *why, struct err *err)
{
	struct buf reason = { 0 };
	int len;

	buf_put_str(&reason, why->msg);
	if (!why->msg[0]) {
		buf_put_str(&reason, "expected ");
		put_expected(&reason, o);
	}
	len = buf_error(&reason) ? 0 : (int)reason.len;
	if (o->flags & OPTION_MAY_BE_SECRET)
		err_set(err, code, "%.40s: %.*s", label, len, (const char *)reason.data);
	else
		err_set(err, code, "%.40s \"%.60s\": %.*s", label, text, len,
			(const char *)reason.data);
	buf_fini(&reason);
	return code;
}

/* ---- values ------------------------------------------------------------------- */

static bool in_range(const struct option_spec *o, uint64_t v)
{
	return v >= o->min && (!o->max || v <= o->max);
}

static bool assign_integer(const struct option_spec *o, uint64_t *field, const char *text)
{
	uint64_t v;
	bool ok = o->kind == OPTION_DURATION ? value_parse_duration(text, o->unit, &v)
		  : o->kind == OPTION_SIZE   ? value_parse_size(text, o->unit, &v)
					     : value_parse_number(text, &v);

	if (!ok || !in_range(o, v))
		return false;
	*field = v;
	return true;
}

static bool assign_percent(const struct option_spec *o, double *field, const char *text)
{
	double v;

	if (!value_parse_percent(text, &v) || v < (double)o->min || (o->max && v > (double)o->max))
		return false;
	*field = v;
	return true;
}

/* Assigns a value that is not text; false: it is not one. */
static bool assign_plain(const struct option_spec *o, void *field, const char *text)
{
	switch (o->kind) {
	case OPTION_FLAG:
		*(bool *)field = !(o->flags & OPTION_CLEARS);
		return true;
	case OPTION_BOOL:
		return value_parse_bool(text, field);
	case OPTION_CHOICE:
		return value_parse_choice(text, o->arg, field);
	case OPTION_PERCENT:
		return assign_percent(o, field, text);
	default:
		return assign_integer(o, field, text);
	}
}

/*
 * Values end up in HTTP headers, logs and the terminal, where a line break or an escape sequence
 * would have a meaning.
 */
static bool has_control_characters(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' && *s != '\t')
			return true;
	return false;
}

/* The limit bounds the memory of a config file that repeats a key. */
static int assign_texts(const struct option_spec *o, struct option_texts *t, const char *label,
			const char *text, struct err *err)
{
	struct err why = { 0 };
	int r;

	if (!*text) {
		texts_fini(t);
		return 0;
	}
	r = o->check ? o->check(text, &why) : 0;
	if (r < 0)
		return refuse(o, label, text, r, &why, err);
	if (t->len >= OPTION_TEXTS_MAX)
		return err_set(err, -EINVAL, "%.40s may not be repeated more than %d times", label,
			       OPTION_TEXTS_MAX);
	return texts_add(t, text);
}

int option_assign(const struct option_set *set, const struct option_spec *o, const char *label,
		  const char *text, struct err *err)
{
	struct err why = { 0 };
	int r;

	if (strlen(text) > OPTION_VALUE_MAX)
		return err_set(err, -EINVAL, "%.40s: the value is longer than %d bytes", label,
			       OPTION_VALUE_MAX);
	if (has_control_characters(text))
		return err_set(err, -EINVAL, "%.40s: the value contains control characters", label);
	switch (o->kind) {
	case OPTION_TEXT:
		return set_text(field_of(set, o), text);
	case OPTION_TEXTS:
		return assign_texts(o, field_of(set, o), label, text, err);
	case OPTION_CUSTOM:
		r = o->parse(field_of(set, o), text, &why);
		return r < 0 ? refuse(o, label, text, r, &why, err) : 0;
	default:
		return assign_plain(o, field_of(set, o), text)
			       ? 0
			       : refuse(o, label, text, -EINVAL, &why, err);
	}
}

int option_set_init(const struct option_set *set)
{
	for (const struct option_spec *o = set->specs; o->kind != OPTION_END; o++) {
		int r;

		if (!o->preset || o->flags & OPTION_LAZY_PRESET)
			continue;
		r = option_assign(set, o, o->name, o->preset, NULL);
		if (r < 0) {
			option_set_fini(set);
			return r;
		}
	}
	return 0;
}

void option_set_fini(const struct option_set *set)
{
	for (const struct option_spec *o = set->specs; o->kind != OPTION_END; o++) {
		if (o->kind == OPTION_TEXT)
			set_text(field_of(set, o), NULL);
		if (o->kind == OPTION_TEXTS)
			texts_fini(field_of(set, o));
	}
}

/* ---- looking options up --------------------------------------------------------- */

const struct option_spec *option_find(const struct option_spec *specs, const char *name, size_t len)
{
	for (; specs->kind != OPTION_END; specs++)
		if (specs->name && strlen(specs->name) == len && !memcmp(specs->name, name, len))
			return specs;
	return NULL;
}

const struct option_spec *option_find_letter(const struct option_spec *specs, char letter)
{
	for (; letter && specs->kind != OPTION_END; specs++)
		if (specs->letter == letter)
			return specs;
	return NULL;
}

bool option_takes_value(const struct option_spec *o)
{
	return o->kind != OPTION_FLAG && !option_value_is_optional(o);
}

bool option_value_is_optional(const struct option_spec *o)
{
	return o->kind == OPTION_BOOL || o->flags & OPTION_OPTIONAL_VALUE;
}

/* ---- options that cannot change ---------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/*
 * Kinds that are not listed have fields of 64 bits. OPTION_CUSTOM cannot be OPTION_FIXED, since its
 * representation is unknown here.
 */
static bool same_value(const struct option_spec *o, const void *a, const void *b)
{
	const struct option_texts *x = a, *y = b;
	size_t i = 0;

	switch (o->kind) {
	case OPTION_TEXT:
		return same_text(*(char *const *)a, *(char *const *)b);
	case OPTION_TEXTS:
		while (i < x->len && i < y->len && !strcmp(x->data[i], y->data[i]))
			i++;
		return i == x->len && i == y->len;
	case OPTION_FLAG:
	case OPTION_BOOL:
		return *(const bool *)a == *(const bool *)b;
	case OPTION_CHOICE:
		return *(const unsigned int *)a == *(const unsigned int *)b;
	default:
		return !memcmp(a, b, sizeof(uint64_t));
	}
}

/* The counterpart of same_value(): copies what that compares. */
static int copy_value(const struct option_spec *o, void *to, const void *from)
{
	const struct option_texts *texts = from;
	int r = 0;

	switch (o->kind) {
	case OPTION_TEXT:
		return set_text(to, *(char *const *)from);
	case OPTION_TEXTS:
		texts_fini(to);
		for (size_t i = 0; i < texts->len && r == 0; i++)
			r = texts_add(to, texts->data[i]);
		return r;
	case OPTION_FLAG:
	case OPTION_BOOL:
		*(bool *)to = *(const bool *)from;
		return 0;
	case OPTION_CHOICE:
		*(unsigned int *)to = *(const unsigned int *)from;
		return 0;
	default:
		memcpy(to, from, sizeof(uint64_t));
		return 0;
	}
}

int option_set_keep(const struct option_set *set, const void *old, struct buf *out_kept)
{
	int r = 0;

	for (const struct option_spec *o = set->specs; o->kind != OPTION_END && r == 0; o++) {
		const void *was = (const char *)old + o->offset;

		if (!(o->flags & OPTION_FIXED) || same_value(o, field_of(set, o), was))
			continue;
		buf_printf(out_kept, "%s%s", out_kept->len ? " " : "", o->name);
		r = copy_value(o, field_of(set, o), was);
	}
	return r < 0 ? r : buf_error(out_kept);
}
