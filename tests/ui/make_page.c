/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_page TITLE <STACKS >PAGE: a page from stacks in a text that can hold
 * any name, for the tests in Chromium. A line is the frames from the root,
 * separated by tabs, and last the count; a frame is kind, name, binary, file
 * and line, separated by the character 0x1f.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/page/html.h"
#include "codec/page/page_json.h"
#include "profile/profile.h"

enum { DEPTH_MAX = 2000, PERIOD_NS = 10101010 };

static void must(int r)
{
	if (r >= 0)
		return;
	fprintf(stderr, "make_page: %s\n", strerror(-r));
	exit(1);
}

static uint32_t string(struct profile *p, const char *s)
{
	uint32_t id;

	must(profile_add_string(p, s, strlen(s), &id));
	return id;
}

static const char *field(char **at)
{
	const char *s = strsep(at, "\x1f");

	return s ? s : "";
}

static enum profile_frame_kind kind_of(const char *label)
{
	for (int kind = 0; kind < PROFILE_FRAME_MAX; kind++)
		if (!strcmp(label, profile_frame_kind_label(kind)))
			return kind;
	return PROFILE_FRAME_UNKNOWN;
}

static uint32_t mapping(struct profile *p, const char *file)
{
	struct profile_mapping m = { .start = 0x1000, .limit = 0x2000, .file = string(p, file) };
	uint32_t id = PROFILE_NONE;

	if (*file)
		must(profile_add_mapping(p, &m, &id));
	return id;
}

static uint32_t location(struct profile *p, char *text)
{
	enum profile_frame_kind kind = kind_of(field(&text));
	uint32_t name = string(p, field(&text));
	uint32_t map = mapping(p, field(&text));
	struct profile_function f = { .name = name, .file = string(p, field(&text)) };
	struct profile_line line = { .line = (uint32_t)atoi(field(&text)) };
	struct profile_location l = { .mapping = map, .kind = kind, .n_lines = 1, .lines = &line };
	uint32_t id;

	must(profile_add_function(p, &f, &line.function));
	must(profile_add_location(p, &l, &id));
	return id;
}

static void add_line(struct profile *p, char *line)
{
	uint32_t stack[DEPTH_MAX];
	char *count = strrchr(line, '\t'), *frame;
	size_t at = DEPTH_MAX;
	struct profile_sample s = { 0 };
	int64_t values[2];

	if (!count)
		return;
	*count++ = '\0';
	while (at > 0 && (frame = strsep(&line, "\t")))
		stack[--at] = location(p, frame);
	must(profile_add_stack(p, stack + at, DEPTH_MAX - at, &s.stack));
	values[0] = atoll(count);
	values[1] = values[0] * PERIOD_NS;
	s.values = values;
	must(profile_add_sample(p, &s));
}

int main(int argc, char **argv)
{
	struct profile *p;
	const struct format_options opt = { .title = argc > 1 ? argv[1] : NULL };
	struct buf json = { 0 }, out = { 0 };
	struct err err = { 0 };
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	must(profile_new(&p));
	must(profile_add_sample_type(p, "samples", "count"));
	must(profile_add_sample_type(p, "cpu", "nanoseconds"));
	*profile_meta(p) = (struct profile_meta){
		.time_ns = 1790000000000000000,
		.duration_ns = 10000000000,
		.period = PERIOD_NS,
		.period_type = { string(p, "cpu"), string(p, "nanoseconds") },
	};
	while ((n = getline(&line, &cap, stdin)) > 0) {
		line[n - 1] = '\0';
		add_line(p, line);
	}
	must(page_json_write(p, &opt, &json, &err));
	must(html_page_write(json.data, json.len, opt.title, &out, &err));
	fwrite(out.data, 1, out.len, stdout);
	free(line);
	buf_fini(&json);
	buf_fini(&out);
	profile_free(p);
	return 0;
}
