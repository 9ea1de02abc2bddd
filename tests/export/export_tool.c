/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export-tool FILE KEY=VALUE...: the exporter as a program, for tests with real receivers. Every
 * window contains the profile in FILE. Each KEY is an option of the exporter or of its last sink; a
 * sink begins with pyroscope=, otlp= or dir=. Standard input has one command per line, and each is
 * answered by a line:
 *
 *	put [N]		a window of N series; "ok"
 *	stats		the numbers as JSON
 *	stop SECONDS	export what is queued within SECONDS; "ok"
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "codec/common/limits.h"
#include "codec/format.h"
#include "export/export.h"
#include "export/exporter_role.h"
#include "profile/profile.h"
#include "roles/role.h"

enum { MAX_HEADERS = 8 };

struct tool {
	struct export_sink_options sinks[EXPORT_MAX_SINKS];
	const char *headers[EXPORT_MAX_SINKS][MAX_HEADERS];
	struct exporter_options opt;
	struct exporter *exporter;
	struct profile *profile;
};

static int fail(const char *what, const struct err *err)
{
	fprintf(stderr, "export-tool: %s: %s\n", what, err->msg);
	return 1;
}

static void on_log(void *ctx, const char *message)
{
	fprintf(stderr, "%s\n", message);
}

static int add_sink(struct tool *t, enum export_kind kind, const char *url)
{
	if (t->opt.n_sinks == EXPORT_MAX_SINKS)
		return -EINVAL;
	t->sinks[t->opt.n_sinks++] = (struct export_sink_options){ .kind = kind, .url = url };
	return 0;
}

static int set_text(struct tool *t, struct export_sink_options *s, const char *key, const char *v)
{
	const struct {
		const char *key;
		const char **to;
	} texts[] = {
		{ "tenant", &s->tenant },       { "bearer", &s->bearer },
		{ "basic", &s->basic },         { "bearer-file", &s->bearer_file },
		{ "ca", &s->ca_file },          { "cert", &s->cert_file },
		{ "key", &s->key_file },        { "basic-file", &s->basic_file },
		{ "spool", &t->opt.spool_dir }, { "host", &t->opt.host },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (strcmp(texts[i].key, key) != 0)
			continue;
		*texts[i].to = v;
		return 0;
	}
	return -EINVAL;
}

static int set(struct tool *t, const char *key, const char *v)
{
	struct export_sink_options *s = &t->sinks[t->opt.n_sinks ? t->opt.n_sinks - 1 : 0];
	uint64_t n = strtoull(v, NULL, 10);

	if (!strcmp(key, "pyroscope"))
		return add_sink(t, EXPORT_PYROSCOPE, v);
	if (!strcmp(key, "otlp"))
		return add_sink(t, EXPORT_OTLP, v);
	if (!strcmp(key, "dir"))
		return add_sink(t, EXPORT_DIR, v);
	if (!strcmp(key, "header") && s->n_headers < MAX_HEADERS) {
		s->headers = t->headers[t->opt.n_sinks - 1];
		t->headers[t->opt.n_sinks - 1][s->n_headers++] = v;
	} else if (!strcmp(key, "no-gzip")) {
		s->no_gzip = n;
	} else if (!strcmp(key, "sample-labels")) {
		s->sample_labels = n;
	} else if (!strcmp(key, "timeout-ms")) {
		s->timeout_ms = (unsigned int)n;
	} else if (!strcmp(key, "dir-bytes")) {
		s->dir_bytes = n;
	} else if (!strcmp(key, "retry-ms")) {
		t->opt.retry_ms = (unsigned int)n;
	} else if (!strcmp(key, "queue-bytes")) {
		t->opt.queue_bytes = n;
	} else if (!strcmp(key, "spool-bytes")) {
		t->opt.spool_bytes = n;
	} else {
		return set_text(t, s, key, v);
	}
	return 0;
}

static int read_profile(const char *path, struct profile **out, struct err *err)
{
	const struct codec_limits limits = codec_limits_default();
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(buf_fini) struct buf b = { 0 };
	uint8_t piece[65536];
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0) {
		n = read(fd, piece, sizeof(piece));
		if (n > 0)
			buf_put(&b, piece, (size_t)n);
	}
	if (n < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	return format_read(out, b.data, b.len, &limits, err);
}

/* Every series is the same profile, for another process. */
static int add_series(struct tool *t, struct export_window *w, unsigned int i)
{
	char pid[16];
	const struct export_label labels[] = { { "service_name", "shop" },   { "pid", pid },
					       { "exe", "/usr/bin/till" },   { "comm", "till" },
					       { "container_id", "c0ffee" }, { "pod", "shop-1" },
					       { "not utf8", "a\xff" },      { "own", "label" } };
	struct profile *copy;
	int r = profile_new(&copy);

	if (r < 0)
		return r;
	snprintf(pid, sizeof(pid), "%u", 100 + i);
	r = profile_merge(copy, t->profile);
	*profile_meta(copy) = *profile_meta(t->profile);
	if (r == 0)
		return export_window_add(w, copy, labels, sizeof(labels) / sizeof(labels[0]));
	profile_free(copy);
	return r;
}

static int put(struct tool *t, unsigned int n_series)
{
	int64_t start = profile_meta(t->profile)->time_ns;
	struct export_window *w;
	int r = export_window_new(&w, start, start + profile_meta(t->profile)->duration_ns);

	for (unsigned int i = 0; r == 0 && i < n_series; i++)
		r = add_series(t, w, i);
	if (r == 0)
		exporter_put(t->exporter, w);
	return r;
}

static void put_number(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_uint(j, v);
}

static void put_sink(struct json *j, const struct export_sink_stats *s)
{
	json_object(j);
	json_key(j, "name");
	json_str(j, s->name);
	put_number(j, "queued_items", s->queued_items);
	put_number(j, "queued_bytes", s->queued_bytes);
	put_number(j, "spooled_items", s->spooled_items);
	put_number(j, "spooled_bytes", s->spooled_bytes);
	put_number(j, "sent_items", s->sent_items);
	put_number(j, "sent_bytes", s->sent_bytes);
	put_number(j, "sent_profiles", s->sent_profiles);
	put_number(j, "rejected_profiles", s->rejected_profiles);
	put_number(j, "retries", s->retries);
	put_number(j, "spool_errors", s->spool_errors);
	put_number(j, "failing", s->failing);
	json_key(j, "last_error");
	json_str(j, s->last_error);
	for (enum export_drop d = 0; d < EXPORT_DROP_MAX; d++)
		put_number(j, export_drop_label(d), s->dropped[d]);
	json_object_end(j);
}

static void stats(struct tool *t)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct json j = json_to(&b);
	struct exporter_stats all;

	exporter_stats(t->exporter, &all);
	json_array(&j);
	for (size_t i = 0; i < all.n_sinks; i++)
		put_sink(&j, &all.sinks[i]);
	json_array_end(&j);
	buf_put_byte(&b, 0);
	puts((char *)b.data);
}

static void obey(struct tool *t, const char *line)
{
	unsigned int n = 1;

	if (sscanf(line, "put %u", &n) == 1 || !strcmp(line, "put\n")) {
		puts(put(t, n) == 0 ? "ok" : "error");
	} else if (sscanf(line, "stop %u", &n) == 1) {
		exporter_stop(t->exporter, clock_monotonic_ns() + (uint64_t)n * CLOCK_SECOND_NS);
		puts("ok");
	} else if (!strcmp(line, "stats\n")) {
		stats(t);
	} else {
		puts("what?");
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const struct role *const roles[] = { &exporter_role };
	struct tool t = { .opt = { .sinks = t.sinks, .log = on_log } };
	struct err err = { 0 };
	char line[256];

	role_main(argc, argv, roles, 1);
	if (argc < 3)
		return 2;
	if (read_profile(argv[1], &t.profile, &err) < 0)
		return fail(argv[1], &err);
	for (int i = 2; i < argc; i++) {
		char *eq = strchr(argv[i], '=');

		if (eq)
			*eq = 0;
		if (!eq || set(&t, argv[i], eq + 1) < 0)
			return fail(argv[i], &err);
	}
	if (exporter_new(&t.exporter, &t.opt, &err) < 0)
		return fail("options", &err);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		obey(&t, line);
	exporter_free(t.exporter);
	profile_free(t.profile);
	return 0;
}
