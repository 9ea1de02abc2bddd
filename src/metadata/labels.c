/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A linear array: a set has about ten labels, and most look-ups are for names in the labeler's own
 * tables. Names follow Prometheus' grammar, which all back ends accept.
 */
#include "metadata/labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/utf8.h"

void metadata_labels_fini(struct metadata_labels *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->of[i].name);
		free(s->of[i].value);
	}
	s->n = 0;
}

bool metadata_label_name_is_valid(const char *name)
{
	static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	size_t len = strlen(name);

	return len && len <= LABEL_NAME_MAX && strchr(first, name[0]) &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") ==
		       len;
}

/* Returns a copy of @value that is a valid label value, or NULL if memory ran out. */
static char *sanitize(const char *value)
{
	struct buf b = { 0 };

	utf8_put_line(&b, value, strnlen(value, LABEL_VALUE_MAX));
	if (b.len > LABEL_VALUE_MAX)
		b.len = LABEL_VALUE_MAX;
	/* remove a character that the limit split */
	if (b.len)
		b.len = utf8_valid((char *)b.data, b.len);
	buf_put_byte(&b, 0);
	if (buf_error(&b)) {
		buf_fini(&b);
		return NULL;
	}
	return (char *)b.data;
}

static struct metadata_label *find(struct metadata_labels *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->of[i].name, name))
			return &s->of[i];
	return NULL;
}

const char *metadata_labels_get(const struct metadata_labels *s, const char *name)
{
	const struct metadata_label *l = find((struct metadata_labels *)s, name);

	return l ? l->value : "";
}

void metadata_labels_remove(struct metadata_labels *s, const char *name)
{
	struct metadata_label *l = find(s, name);

	if (!l)
		return;
	free(l->name);
	free(l->value);
	*l = s->of[--s->n];
}

int metadata_labels_put(struct metadata_labels *s, const char *name, const char *value)
{
	struct metadata_label *l = find(s, name), added = { 0 };

	if (!*value) {
		metadata_labels_remove(s, name);
		return 0;
	}
	if (!l && !metadata_label_name_is_valid(name))
		return -EINVAL;
	if (!l && s->n >= LABELS_MAX)
		return -E2BIG;
	added.value = sanitize(value);
	added.name = l ? l->name : strdup(name);
	if (!added.value || !added.name) {
		free(added.value);
		if (!l)
			free(added.name);
		return -ENOMEM;
	}
	if (l) {
		free(l->value);
		l->value = added.value;
	} else {
		s->of[s->n++] = added;
	}
	return 0;
}

int metadata_labels_copy(struct metadata_labels *to, const struct metadata_labels *from)
{
	int r = 0;

	*to = (struct metadata_labels){ 0 };
	for (size_t i = 0; i < from->n && r == 0; i++)
		r = metadata_labels_put(to, from->of[i].name, from->of[i].value);
	if (r < 0)
		metadata_labels_fini(to);
	return r;
}

static int by_name(const void *a, const void *b)
{
	const char *x = ((const struct metadata_label *)a)->name,
		   *y = ((const struct metadata_label *)b)->name;
	bool x_first = !strcmp(x, "service_name"), y_first = !strcmp(y, "service_name");

	return x_first != y_first ? y_first - x_first : strcmp(x, y);
}

void metadata_labels_sort(struct metadata_labels *s)
{
	qsort(s->of, s->n, sizeof(*s->of), by_name);
}

bool metadata_labels_equal(const struct metadata_labels *a, const struct metadata_labels *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->of[i].name, b->of[i].name) != 0 ||
		    strcmp(a->of[i].value, b->of[i].value) != 0)
			return false;
	return true;
}

/*
 * Includes the terminating NULs, so that no text runs into the next. Not seeded: a collision only
 * miscounts series.
 */
uint64_t metadata_labels_hash(const struct metadata_labels *s)
{
	uint64_t h = s->n;

	for (size_t i = 0; i < s->n; i++) {
		h = XXH3_64bits_withSeed(s->of[i].name, strlen(s->of[i].name) + 1, h);
		h = XXH3_64bits_withSeed(s->of[i].value, strlen(s->of[i].value) + 1, h);
	}
	return h;
}
