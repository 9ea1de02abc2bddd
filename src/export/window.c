/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label values come from command lines and files, so they are sanitized when a series is added.
 * Lengths are those that Pyroscope accepts.
 */
#include "export/window.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "profile/profile.h"

enum { NAME_MAX_LEN = 1024, VALUE_MAX_LEN = 2048 };

int export_window_new(struct export_window **out, int64_t start_ns, int64_t end_ns)
{
	struct export_window *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->start_ns = start_ns;
	w->end_ns = end_ns;
	*out = w;
	return 0;
}

static void series_fini(struct export_series *s)
{
	for (size_t i = 0; i < s->n_labels; i++) {
		free((char *)s->labels[i].name);
		free((char *)s->labels[i].value);
	}
	free(s->labels);
	profile_free(s->profile);
}

void export_window_free(struct export_window *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->series.len; i++)
		series_fini(&w->series.data[i]);
	vec_fini(&w->series);
	free(w);
}

/* A copy as one line of UTF-8 of at most @max bytes; NULL: no memory. */
static char *clean_text(const char *s, size_t max)
{
	struct buf b = { 0 };
	size_t len;

	utf8_put_line(&b, s, strnlen(s, max));
	len = b.len > max ? max : b.len;
	/* Drops a truncated character at the end. */
	if (len)
		len = utf8_valid((char *)b.data, len);
	b.len = len;
	buf_put_byte(&b, 0);
	if (buf_error(&b)) {
		buf_fini(&b);
		return NULL;
	}
	return (char *)b.data;
}

static int copy_labels(struct export_series *s, const struct export_label *labels, size_t n)
{
	s->labels = calloc(n + 1, sizeof(*s->labels));
	if (!s->labels)
		return -ENOMEM;
	for (; s->n_labels < n; s->n_labels++) {
		struct export_label *to = &s->labels[s->n_labels];

		to->name = clean_text(labels[s->n_labels].name, NAME_MAX_LEN);
		to->value = clean_text(labels[s->n_labels].value, VALUE_MAX_LEN);
		if (!to->name || !to->value) {
			s->n_labels++;
			return -ENOMEM;
		}
	}
	return 0;
}

/*
 * The id is random rather than a hash of the content, because two windows of an idle process may be
 * equal and still count twice.
 */
int export_window_add(struct export_window *w, struct profile *p, const struct export_label *labels,
		      size_t n_labels)
{
	struct export_series s = { .profile = p };
	int r = copy_labels(&s, labels, n_labels);

	if (r == 0 && getrandom(s.id, sizeof(s.id), 0) != sizeof(s.id))
		r = -ENOMEM;
	if (r == 0)
		r = vec_push(&w->series, s);
	if (r < 0)
		series_fini(&s);
	return r;
}

const char *export_label(const struct export_series *s, const char *name)
{
	for (size_t i = 0; i < s->n_labels; i++)
		if (!strcmp(s->labels[i].name, name))
			return s->labels[i].value;
	return NULL;
}

void export_id_text(const uint8_t id[16], char out[EXPORT_ID_TEXT_LEN])
{
	size_t at = 0;

	for (int i = 0; i < 16; i++)
		at += (size_t)snprintf(out + at, EXPORT_ID_TEXT_LEN - at, "%s%02x",
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
}
