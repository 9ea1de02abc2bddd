/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers are read by hand rather than with strtoull() or strtod(), which accept signs, blanks,
 * hexadecimal, exponents and a decimal point that depends on the locale.
 */
#include "options/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t factor;
};

/* Both from the smallest to the largest, which formatting relies on. */
static const struct unit duration_units[] = {
	{ "ns", 1 },          { "us", 1000 },         { "ms", 1000000 },       { "s", 1000000000 },
	{ "m", 60000000000 }, { "h", 3600000000000 }, { "d", 86400000000000 }, { 0 },
};

static const struct unit size_units[] = {
	{ "B", 1 },          { "K", 1 << 10 },    { "M", 1 << 20 },
	{ "G", 1ULL << 30 }, { "T", 1ULL << 40 }, { 0 },
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads the digits at *@text and moves it past them; false without a digit or on overflow. */
static bool read_digits(const char **text, uint64_t *out)
{
	uint64_t v = 0;

	if (!is_digit(**text))
		return false;
	for (; is_digit(**text); ++*text)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(**text - '0'), &v))
			return false;
	*out = v;
	return true;
}

bool value_parse_number(const char *text, uint64_t *out)
{
	uint64_t v;

	if (!read_digits(&text, &v) || *text)
		return false;
	*out = v;
	return true;
}

static const struct unit *find_unit(const struct unit *units, const char *name)
{
	for (; units->name; units++)
		if (!strcmp(units->name, name))
			return units;
	return NULL;
}

/* A number with a unit. A fraction has at most 9 digits; what is below 1 is dropped. */
static bool parse_scaled(const char *text, const struct unit *units, const char *default_unit,
			 uint64_t *out)
{
	uint64_t whole = 0, fraction = 0, scale = 1;
	const struct unit *unit;

	if (*text != '.' && !read_digits(&text, &whole))
		return false;
	if (*text == '.') {
		const char *first = ++text;

		if (!read_digits(&text, &fraction) || text - first > 9)
			return false;
		for (; first < text; first++)
			scale *= 10;
	}
	unit = find_unit(units, *text || !default_unit ? text : default_unit);
	if (!unit || __builtin_mul_overflow(whole, unit->factor, &whole))
		return false;
	fraction = (uint64_t)((unsigned __int128)fraction * unit->factor / scale);
	return !__builtin_add_overflow(whole, fraction, out);
}

bool value_parse_duration(const char *text, const char *unit, uint64_t *out_ns)
{
	return parse_scaled(text, duration_units, unit, out_ns);
}

bool value_parse_size(const char *text, const char *unit, uint64_t *out_bytes)
{
	return parse_scaled(text, size_units, unit, out_bytes);
}

bool value_parse_percent(const char *text, double *out)
{
	uint64_t whole = 0, fraction = 0;
	double scale = 1;

	if (*text != '.' && !read_digits(&text, &whole))
		return false;
	if (*text == '.') {
		const char *first = ++text;

		if (!read_digits(&text, &fraction))
			return false;
		for (; first < text; first++)
			scale *= 10;
	}
	if (*text && strcmp(text, "%") != 0)
		return false;
	*out = (double)whole + (double)fraction / scale;
	return true;
}

bool value_parse_bool(const char *text, bool *out)
{
	bool yes = !strcmp(text, "yes") || !strcmp(text, "true") || !strcmp(text, "1");

	if (!yes && strcmp(text, "no") != 0 && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
		return false;
	*out = yes;
	return true;
}

bool value_parse_choice(const char *text, const char *choices, unsigned int *out)
{
	size_t len = strlen(text);

	for (unsigned int i = 0; *choices; i++) {
		size_t n = strcspn(choices, "|");

		if (n == len && !memcmp(choices, text, n)) {
			*out = i;
			return true;
		}
		choices += n + (choices[n] == '|');
	}
	return false;
}

/* Uses the largest unit that divides the value, so that the text is parsed as the same value. */
static const char *format_scaled(uint64_t v, const struct unit *units, char out[VALUE_TEXT_LEN])
{
	const struct unit *best = units;

	for (; units->name; units++)
		if (v && v % units->factor == 0)
			best = units;
	snprintf(out, VALUE_TEXT_LEN, "%" PRIu64 "%s", v / best->factor, best->name);
	return out;
}

const char *value_format_duration(uint64_t ns, char out[VALUE_TEXT_LEN])
{
	return format_scaled(ns, duration_units, out);
}

const char *value_format_size(uint64_t bytes, char out[VALUE_TEXT_LEN])
{
	return format_scaled(bytes, size_units, out);
}
