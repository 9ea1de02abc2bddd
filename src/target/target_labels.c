/* SPDX-License-Identifier: Apache-2.0 */
#include "target/target_labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/utf8.h"

void target_labels_fini(struct target_labels *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->of[i].name);
		free(s->of[i].value);
	}
	s->n = 0;
}

bool label_name_is_good(const char *name)
{
	static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	size_t len = strlen(name);

	return len && len <= LABEL_NAME_MAX && strchr(first, name[0]) &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") ==
		       len;
}

/* A copy of what can be sent of @value. */
static char *clean(const char *value)
{
	struct buf b = { 0 };

	utf8_put(&b, value, strnlen(value, LABEL_VALUE_MAX));
	if (b.len > LABEL_VALUE_MAX)
		b.len = LABEL_VALUE_MAX;
	/* a character that was cut in two goes whole */
	if (b.len)
		b.len = utf8_valid((char *)b.data, b.len);
	buf_put_byte(&b, 0);
	if (buf_error(&b)) {
		buf_fini(&b);
		return NULL;
	}
	return (char *)b.data;
}

static struct target_label *find(struct target_labels *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->of[i].name, name))
			return &s->of[i];
	return NULL;
}

const char *target_labels_get(const struct target_labels *s, const char *name)
{
	const struct target_label *l = find((struct target_labels *)s, name);

	return l ? l->value : "";
}

void target_labels_drop(struct target_labels *s, const char *name)
{
	struct target_label *l = find(s, name);

	if (!l)
		return;
	free(l->name);
	free(l->value);
	*l = s->of[--s->n];
}

int target_labels_put(struct target_labels *s, const char *name, const char *value)
{
	struct target_label *l = find(s, name), fresh = { 0 };

	if (!*value) {
		target_labels_drop(s, name);
		return 0;
	}
	if (!l && !label_name_is_good(name))
		return -EINVAL;
	if (!l && s->n >= LABELS_MAX)
		return -E2BIG;
	fresh.value = clean(value);
	fresh.name = l ? l->name : strdup(name);
	if (!fresh.value || !fresh.name) {
		free(fresh.value);
		if (!l)
			free(fresh.name);
		return -ENOMEM;
	}
	if (l) {
		free(l->value);
		l->value = fresh.value;
	} else {
		s->of[s->n++] = fresh;
	}
	return 0;
}

int target_labels_copy(struct target_labels *to, const struct target_labels *from)
{
	int r = 0;

	*to = (struct target_labels){ 0 };
	for (size_t i = 0; i < from->n && r == 0; i++)
		r = target_labels_put(to, from->of[i].name, from->of[i].value);
	if (r < 0)
		target_labels_fini(to);
	return r;
}

static int by_name(const void *a, const void *b)
{
	const char *x = ((const struct target_label *)a)->name,
		   *y = ((const struct target_label *)b)->name;
	bool x_first = !strcmp(x, "service_name"), y_first = !strcmp(y, "service_name");

	return x_first != y_first ? y_first - x_first : strcmp(x, y);
}

void target_labels_sort(struct target_labels *s)
{
	qsort(s->of, s->n, sizeof(*s->of), by_name);
}

bool target_labels_equal(const struct target_labels *a, const struct target_labels *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->of[i].name, b->of[i].name) != 0 ||
		    strcmp(a->of[i].value, b->of[i].value) != 0)
			return false;
	return true;
}

uint64_t target_labels_hash(const struct target_labels *s)
{
	uint64_t h = s->n;

	for (size_t i = 0; i < s->n; i++) {
		h = XXH3_64bits_withSeed(s->of[i].name, strlen(s->of[i].name) + 1, h);
		h = XXH3_64bits_withSeed(s->of[i].value, strlen(s->of[i].value) + 1, h);
	}
	return h;
}
