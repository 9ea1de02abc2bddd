/* SPDX-License-Identifier: Apache-2.0 */
#include "net/name_values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void name_values_fini(struct name_values *v)
{
	for (size_t i = 0; i < v->len; i++) {
		free(v->data[i].name);
		free(v->data[i].value);
	}
	vec_fini(v);
}

int name_values_add(struct name_values *to, const char *name, size_t name_len, const char *value,
		    size_t value_len)
{
	struct name_value p = { strndup(name, name_len), strndup(value, value_len) };

	if (p.name && p.value && vec_push(to, p) == 0)
		return 0;
	free(p.name);
	free(p.value);
	return -ENOMEM;
}

int name_values_join(struct name_values *to, const char *name, const char *separator,
		     const char *value, size_t len)
{
	for (size_t i = 0; i < to->len; i++) {
		char *joined;

		if (strcmp(to->data[i].name, name) != 0)
			continue;
		if (asprintf(&joined, "%s%s%.*s", to->data[i].value, separator, (int)len, value) <
		    0)
			return -ENOMEM;
		free(to->data[i].value);
		to->data[i].value = joined;
		return 0;
	}
	return name_values_add(to, name, strlen(name), value, len);
}

const char *name_values_find(const struct name_values *v, const char *name)
{
	for (size_t i = 0; i < v->len; i++)
		if (!strcasecmp(v->data[i].name, name))
			return v->data[i].value;
	return NULL;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void name_values_unescape(char *s, bool plus)
{
	char *to = s;

	for (; *s; s++) {
		int high = *s == '%' ? hex_digit(s[1]) : -1, low = high >= 0 ? hex_digit(s[2]) : -1;

		if (low >= 0 && (high || low)) {
			*to++ = (char)(high << 4 | low);
			s += 2;
		} else {
			*to++ = *s == '+' && plus ? ' ' : *s;
		}
	}
	*to = 0;
}

int name_values_add_query(struct name_values *to, char *query, size_t max)
{
	char *pair;

	while ((pair = strsep(&query, "&"))) {
		char *value = strchr(pair, '=');

		if (!*pair)
			continue;
		if (value)
			*value++ = 0;
		name_values_unescape(pair, true);
		if (value)
			name_values_unescape(value, true);
		value = value ? value : pair + strlen(pair);
		if (to->len == max ||
		    name_values_add(to, pair, strlen(pair), value, strlen(value)) < 0)
			return -ENOMEM;
	}
	return 0;
}
