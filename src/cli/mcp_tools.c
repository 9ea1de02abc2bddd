/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts are those of `report` and `diff`, which a person and a model can read. Rows are limited
 * here, bytes in the session.
 */
#include "cli/mcp_tools.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/args.h"
#include "cli/calls_walk.h"
#include "cli/comparison.h"
#include "cli/incomplete.h"
#include "cli/mcp_source.h"
#include "cli/sources.h"
#include "cli/text.h"
#include "profile/profile.h"
#include "tables/calls.h"
#include "tables/top.h"

enum { ROWS_MAX = 200, DEPTH_MAX = 40 };

/* Branches of a tree below this percentage of the total are hidden, as in `report`. */
static const double TREE_MIN_PERCENT = 0.5;

/* The first arguments of each tool that reads one profile, in this order. */
enum { SOURCE, SERVICE, FROM, UNTIL, SELECTOR, TYPE, SAMPLE_TYPE, FIRST_OWN };

#define CHOICE_ARGS                                                                                \
	{ .name = "source", .description = "Number or name of a source (default: the first)" },    \
		{ .name = "service", .description = "Service of a server (default: all)" },        \
		{ .name = "from",                                                                  \
		  .description = "Start of the time range on a server, such as now-1h" },          \
		{ .name = "until",                                                                 \
		  .description = "End of the time range on a server (default now)" },              \
		{ .name = "selector",                                                              \
		  .description =                                                                   \
			  "Labels on a server, such as {region=\"eu\"}, instead of service" },     \
		{ .name = "profile_type",                                                          \
		  .description = "Profile type on a server (default "                              \
				 "process_cpu:cpu:nanoseconds:cpu:nanoseconds)" },                 \
	{                                                                                          \
		.name = "sample_type",                                                             \
		.description =                                                                     \
			"Sample type of the profile, such as cpu or off_cpu (default: its own)"    \
	}

#define LIMIT_ARG(preset_)                                                                         \
	{                                                                                          \
		.name = "limit", .description = "Number of rows", .is_number = true,               \
		.preset = (preset_), .max = ROWS_MAX                                               \
	}

static struct mcp_choice choice(const struct mcp_values *v)
{
	return (struct mcp_choice){ .source = v->text[SOURCE],
				    .service = v->text[SERVICE],
				    .from = v->text[FROM],
				    .until = v->text[UNTIL],
				    .selector = v->text[SELECTOR],
				    .type = v->text[TYPE],
				    .sample_type = v->text[SAMPLE_TYPE] };
}

/* Appends "cpu: 4.84s total". */
static void put_total(struct buf *out, const struct profile *p, size_t value_num, int64_t sum)
{
	struct profile_value_type type = profile_sample_type(p, value_num);
	char text[TEXT_VALUE_LEN];

	text_put_safe(out, profile_string(p, type.type));
	buf_printf(out, ": %s total\n", text_value(sum, profile_string(p, type.unit), text));
}

static const char *unit_of(const struct profile *p, size_t value_num)
{
	return profile_string(p, profile_sample_type(p, value_num).unit);
}

/* ---- list_services ------------------------------------------------------------------ */

static const struct mcp_arg list_args[] = {
	{ .name = "from", .description = "Start of the time range on a server, such as now-1h" },
	{ .name = "until", .description = "End of the time range on a server (default now)" },
	{ 0 },
};

static int list_services(void *ctx, const struct mcp_values *v, struct buf *out, struct err *err)
{
	const struct mcp_choice c = { .from = v->text[0], .until = v->text[1] };

	return mcp_source_list(ctx, &c, out, err);
}

/* ---- top_functions ------------------------------------------------------------------ */

static const struct mcp_arg top_args[] = {
	CHOICE_ARGS,
	{ .name = "by", .description = "Rows: " ARGS_BY_LIST " (default function)" },
	LIMIT_ARG(20),
	{ 0 },
};

static int top_functions(void *ctx, const struct mcp_values *v, struct buf *out, struct err *err)
{
	const char *by = v->text[FIRST_OWN] ? v->text[FIRST_OWN] : "function";
	struct mcp_choice c = choice(v);
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(top_freep) struct top *t = NULL;
	struct top_options opt = { 0 };
	struct row_key key = { 0 };
	int r = args_parse_by(&key, by, NULL);

	if (r < 0)
		return err_set(err, r, "\"by\": expected " ARGS_BY_LIST);
	r = mcp_source_read(ctx, &c, &p, &opt.value_num, err);
	opt.by = key.by;
	opt.key = key.label;
	if (r == 0)
		r = top_build(&t, p, &opt);
	if (r < 0)
		return err_set(err, r, "out of memory");
	put_total(out, p, opt.value_num, top_sum(t));
	buf_put_str(out, TEXT_SHARES_HEAD);
	for (size_t i = 0; i < top_n_rows(t) && i < v->number[FIRST_OWN + 1]; i++) {
		const struct top_row *row = top_row(t, i);
		struct entry e = top_entry(t, row);

		text_put_shares(out, unit_of(p, opt.value_num), row->self, row->total, top_sum(t));
		text_put_function(out, e.name, e.binary);
		buf_put_byte(out, '\n');
	}
	buf_printf(out, "%zu rows in total\n", top_n_rows(t));
	return 0;
}

/* ---- callers and callees ------------------------------------------------------------ */

static const struct mcp_arg callers_args[] = {
	CHOICE_ARGS,
	{ .name = "function",
	  .description = "Name of the function, or a part of the name",
	  .required = true },
	LIMIT_ARG(40),
	{ 0 },
};

static int put_calls(struct buf *out, const struct calls *c, const char *unit, uint64_t limit)
{
	_cleanup_(calls_walk_fini) struct calls_walk w = { .c = c,
							   .min_percent = TREE_MIN_PERCENT };
	size_t depth, n_closed;
	uint32_t id;
	int r = calls_walk_enter(&w, 0);

	while (r == 0 && limit && calls_walk_next(&w, &id, &depth, &n_closed)) {
		const struct calls_node *n = calls_node(c, id);
		struct entry e = calls_entry(c, n);

		text_put_shares(out, unit, n->self, n->total, calls_sum(c));
		buf_printf(out, "%*s", (int)depth, "");
		text_put_function(out, e.name, e.binary);
		buf_put_byte(out, '\n');
		limit--;
		if (depth < DEPTH_MAX)
			r = calls_walk_enter(&w, id);
	}
	if (!limit)
		buf_put_str(out, "(more rows were omitted: use a greater limit)\n");
	return r;
}

static int put_tree(const struct sources *s, const struct mcp_values *v,
		    enum calls_direction direction, struct buf *out, struct err *err)
{
	struct calls_options opt = { .direction = direction, .name = v->text[FIRST_OWN] };
	struct mcp_choice c = choice(v);
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(calls_freep) struct calls *calls = NULL;
	int r = mcp_source_read(s, &c, &p, &opt.value_num, err);

	if (r == 0)
		r = calls_build(&calls, p, &opt);
	if (r == -ENOENT)
		return err_set(err, r, "the profile has no function \"%.100s\"", opt.name);
	if (r < 0)
		return err_set(err, r, "out of memory");
	put_total(out, p, opt.value_num, calls_sum(calls));
	buf_printf(out, "The children of a line are its %s.\n",
		   direction == CALLS_CALLERS ? "callers" : "callees");
	buf_put_str(out, TEXT_SHARES_HEAD);
	r = put_calls(out, calls, unit_of(p, opt.value_num), v->number[FIRST_OWN + 1]);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

static int callers(void *ctx, const struct mcp_values *v, struct buf *out, struct err *err)
{
	return put_tree(ctx, v, CALLS_CALLERS, out, err);
}

static int callees(void *ctx, const struct mcp_values *v, struct buf *out, struct err *err)
{
	return put_tree(ctx, v, CALLS_CALLEES, out, err);
}

/* ---- compare ------------------------------------------------------------------------ */

enum {
	BEFORE_SOURCE,
	BEFORE_FROM,
	BEFORE_UNTIL,
	AFTER_SOURCE,
	AFTER_FROM,
	AFTER_UNTIL,
	BOTH_SERVICE,
	BOTH_SELECTOR,
	BOTH_NORMALIZE,
	COMPARE_LIMIT,
};

static const struct mcp_arg compare_args[] = {
	{ .name = "before", .description = "Source of the base (default: the first)" },
	{ .name = "before_from", .description = "Start of its time range on a server" },
	{ .name = "before_until", .description = "End of its time range on a server" },
	{ .name = "after", .description = "Source that is compared with it (default: the last)" },
	{ .name = "after_from", .description = "Start of its time range on a server" },
	{ .name = "after_until", .description = "End of its time range on a server" },
	{ .name = "service", .description = "Service on a server, on both sides" },
	{ .name = "selector", .description = "Labels on a server, on both sides" },
	{ .name = "normalize",
	  .description = "yes (default): compare shares of the total; no: compare values" },
	LIMIT_ARG(20),
	{ 0 },
};

static int read_side(const struct sources *s, const struct mcp_choice *c, struct comparison *cmp,
		     int side, struct err *err)
{
	return mcp_source_read(s, c, &cmp->p[side], &cmp->value_num[side], err);
}

/* The side after is read as the sample type of the side before. */
static int read_sides(const struct sources *s, const struct mcp_values *v, struct comparison *cmp,
		      struct err *err)
{
	char last[24];
	struct mcp_choice before = { .source = v->text[BEFORE_SOURCE],
				     .from = v->text[BEFORE_FROM],
				     .until = v->text[BEFORE_UNTIL],
				     .service = v->text[BOTH_SERVICE],
				     .selector = v->text[BOTH_SELECTOR] };
	struct mcp_choice after = before;
	int r = read_side(s, &before, cmp, CHANGE_BEFORE, err);

	snprintf(last, sizeof(last), "%zu", s->paths.len);
	after.source = v->text[AFTER_SOURCE] ? v->text[AFTER_SOURCE] : last;
	after.from = v->text[AFTER_FROM];
	after.until = v->text[AFTER_UNTIL];
	if (r < 0)
		return r;
	after.sample_type = profile_string(
		cmp->p[CHANGE_BEFORE],
		profile_sample_type(cmp->p[CHANGE_BEFORE], cmp->value_num[CHANGE_BEFORE]).type);
	return read_side(s, &after, cmp, CHANGE_AFTER, err);
}

static int compare(void *ctx, const struct mcp_values *v, struct buf *out, struct err *err)
{
	const char *normalize = v->text[BOTH_NORMALIZE];
	_cleanup_(comparison_fini) struct comparison cmp = { .fail_above = -1 };
	int r;

	if (normalize && strcmp(normalize, "yes") != 0 && strcmp(normalize, "no") != 0)
		return err_set(err, -EINVAL, "\"normalize\": expected yes or no");
	cmp.normalize = !normalize || !strcmp(normalize, "yes");
	r = read_sides(ctx, v, &cmp, err);
	if (r == 0)
		r = comparison_build(&cmp, err);
	if (r < 0)
		return r;
	comparison_put_table(&cmp, v->number[COMPARE_LIMIT], out);
	buf_printf(out,
		   "%zu rows in total. Percentages are shares of the total before; noise: less "
		   "than %g standard deviations of the sample counts.\n",
		   changes_n_rows(cmp.changes), CHANGE_MIN_Z);
	return 0;
}

/* ---- explain_incomplete ------------------------------------------------------------- */

static const struct mcp_arg incomplete_args[] = { CHOICE_ARGS, { 0 } };

static int explain_incomplete(void *ctx, const struct mcp_values *v, struct buf *out,
			      struct err *err)
{
	struct mcp_choice c = choice(v);
	_cleanup_(profile_freep) struct profile *p = NULL;
	size_t value_num;
	int r = mcp_source_read(ctx, &c, &p, &value_num, err);

	return r < 0 ? r : incomplete_put(p, value_num, out, err);
}

const struct mcp_tool mcp_tools[] = {
	{ "list_services", "List sources and services",
	  "List the profiles that can be queried: the processes of a recording, or the services of "
	  "a server. Call this first.",
	  list_args, list_services },
	{ "top_functions", "Find what is hot",
	  "Show where the time (or another sample type) is spent, by function, binary, file, line, "
	  "process or thread. self excludes callees, total includes them.",
	  top_args, top_functions },
	{ "callers", "Show callers", "Show the tree of callers of a function.", callers_args,
	  callers },
	{ "callees", "Show callees", "Show the tree of functions that a function calls.",
	  callers_args, callees },
	{ "compare", "Compare two profiles",
	  "Compare two sources, or two time ranges of a server, and show the functions that "
	  "changed, with a verdict: more, less, noise, or ? without sample counts.",
	  compare_args, compare },
	{ "explain_incomplete", "Explain incomplete stacks",
	  "Show why stacks of a profile end before their outermost frame, how much of the profile "
	  "that affects, and what to do.",
	  incomplete_args, explain_incomplete },
};

const size_t mcp_n_tools = sizeof(mcp_tools) / sizeof(*mcp_tools);
