/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo report FILE...`: a table of functions (or of what --by selects) or a call tree, as text or
 * JSON.
 *
 * Numbers are exact sums of the profile; --limit and --min only hide rows. A tree is printed
 * without recursion and its indentation is limited, because a profile may have stacks of thousands
 * of frames.
 */
#include <errno.h>
#include <inttypes.h>
#include <regex.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/args.h"
#include "cli/calls_walk.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/package_hints.h"
#include "cli/sources.h"
#include "cli/text.h"
#include "profile/profile.h"
#include "tables/calls.h"
#include "tables/top.h"

enum { TREE_MAX_INDENT = 60 };

/* By default, branches of a tree below this percentage of the total are hidden. */
static const double TREE_MIN_PERCENT = 0.5;

/* A --focus or --ignore expression. */
struct pattern {
	regex_t regex;
	bool given;
};

struct report_args {
	bool tree, json;
	char *callers, *callees;
	struct row_key by;
	struct pattern focus, ignore;
	uint64_t limit;     /* 0: none */
	double min_percent; /* negative: not given */
};

/*
 * POSIX extended expressions: they come from the user's own command line, so their run time needs
 * no limit.
 */
static int parse_pattern(void *out, const char *text, struct err *why)
{
	struct pattern *p = out;
	char reason[120];
	int code;

	if (p->given)
		regfree(&p->regex);
	code = regcomp(&p->regex, text, REG_EXTENDED | REG_NOSUB);
	p->given = !code;
	if (!code)
		return 0;
	regerror(code, &p->regex, reason, sizeof(reason));
	return err_set(why, -EINVAL, "invalid regular expression: %s", reason);
}

static void pattern_fini(struct pattern *p)
{
	if (p->given)
		regfree(&p->regex);
}

#define OPTION_VALUES struct report_args

static const struct option_spec options[] = {
	OPTION_SECTION("Report"),
	OPTION(CUSTOM, 0, "by", "KEY", by, "Print one row for each " ARGS_BY_LIST,
	       .preset = "function", .parse = args_parse_by,
	       .details = "\"column\" distinguishes several places in one line, if the profile "
			  "records columns (JavaScript does)."),
	OPTION(FLAG, 0, "tree", NULL, tree,
	       "Print the call tree from the roots, largest branch first"),
	OPTION(TEXT, 0, "callers", "NAME", callers, "Print the tree of callers of this function"),
	OPTION(TEXT, 0, "callees", "NAME", callees,
	       "Print the tree of functions that this function calls"),
	OPTION(FLAG, 0, "json", NULL, json, "Print JSON instead of text"),

	OPTION_SECTION("Filters"),
	OPTION(CUSTOM, 0, "focus", "REGEX", focus,
	       "Include only stacks in which a function matches", .parse = parse_pattern),
	OPTION(CUSTOM, 0, "ignore", "REGEX", ignore, "Exclude stacks in which a function matches",
	       .parse = parse_pattern),
	OPTION(NUMBER, 'l', "limit", "N", limit,
	       "Print at most N rows, or N branches of each node of a tree"),
	OPTION(PERCENT, 0, "min", "PERCENT", min_percent,
	       "Hide rows and branches with a smaller total (default for trees: 0.5)", .max = 100),
	{ 0 },
};

/* The state of a report on one sample type of one profile. */
struct report {
	const struct report_args *a;
	const struct profile *p;
	size_t value_num;
	struct stack_filter filter;
	const char *type, *unit;
	struct buf out;
};

/*
 * A tree and a table differ in the defaults of --min and in their JSON, so this decides in several
 * places.
 */
static bool is_tree(const struct report_args *a)
{
	return a->tree || a->callers || a->callees;
}

/*
 * Writes the line above a table or tree: the sum of all stacks and, with a filter, of those that
 * match.
 */
static void put_head(struct report *v, int64_t sum, int64_t counted)
{
	char text[TEXT_VALUE_LEN];

	text_put_safe(&v->out, v->type);
	buf_printf(&v->out, ": %s total", text_value(sum, v->unit, text));
	if (counted != sum)
		buf_printf(&v->out, ", of which %s (%.1f%%) match",
			   text_value(counted, v->unit, text), text_percent(counted, sum));
	buf_put_str(&v->out, "\n");
}

/* Shares refer to the sum of all stacks, also with a filter, so that reports can be compared. */
static void put_row(struct report *v, const struct entry *e, int64_t self, int64_t total,
		    int64_t sum, size_t depth)
{
	text_put_shares(&v->out, v->unit, self, total, sum);
	if (depth > TREE_MAX_INDENT)
		buf_printf(&v->out, "%*s(%zu) ", TREE_MAX_INDENT, "", depth);
	else
		buf_printf(&v->out, "%*s", (int)depth, "");
	text_put_function(&v->out, e->name, e->binary);
	buf_put_byte(&v->out, '\n');
}

/* Returns true if --min and --limit allow this row. *@io_n counts the rows that they allowed. */
static bool is_printed(const struct report *v, const struct top_row *row, int64_t sum,
		       uint64_t *io_n)
{
	if ((v->a->limit && *io_n == v->a->limit) ||
	    !text_is_above(row->total, sum, v->a->min_percent))
		return false;
	(*io_n)++;
	return true;
}

/* Rows come sorted by self; a row that --min hides does not count towards --limit. */
static void put_table(struct report *v, const struct top *t)
{
	uint64_t n = 0;

	put_head(v, top_sum(t), top_counted(t));
	buf_put_str(&v->out, TEXT_SHARES_HEAD);
	for (size_t i = 0; i < top_n_rows(t); i++) {
		const struct top_row *row = top_row(t, i);
		struct entry e = top_entry(t, row);

		if (!is_printed(v, row, top_sum(t), &n))
			continue;
		put_row(v, &e, row->self, row->total, top_sum(t), 0);
	}
}

/*
 * The members that tables and trees share. "counted" is the part of "total" that passes --focus and
 * --ignore.
 */
static void json_head(struct json *j, const struct report *v, int64_t sum, int64_t counted)
{
	const struct profile_meta *m = profile_meta_const(v->p);

	json_member_str(j, "type", v->type);
	json_member_str(j, "unit", v->unit);
	json_member_int(j, "total", sum);
	json_member_int(j, "counted", counted);
	json_member_int(j, "period", m->period);
	json_member_int(j, "duration_ns", m->duration_ns);
}

/* The members of one row or node. A member that the profile does not know is omitted. */
static void json_entry(struct json *j, const struct entry *e, int64_t self, int64_t total)
{
	json_member_str(j, "name", e->name);
	if (*e->binary)
		json_member_str(j, "binary", e->binary);
	if (*e->file)
		json_member_str(j, "file", e->file);
	if (e->kind)
		json_member_str(j, "kind", profile_frame_kind_label(e->kind));
	json_member_int(j, "self", self);
	json_member_int(j, "total", total);
}

/* Rows are those of the text, in the same order. */
static void put_table_json(struct report *v, const struct top *t)
{
	struct json j = json_to(&v->out);
	uint64_t n = 0;

	json_object(&j);
	json_head(&j, v, top_sum(t), top_counted(t));
	json_member_array(&j, "rows");
	for (size_t i = 0; i < top_n_rows(t); i++) {
		const struct top_row *row = top_row(t, i);
		struct entry e = top_entry(t, row);

		if (!is_printed(v, row, top_sum(t), &n))
			continue;
		json_object(&j);
		json_entry(&j, &e, row->self, row->total);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	buf_put_byte(&v->out, '\n');
}

/* Prints one row per function, or per value of --by. */
static int report_table(struct report *v, struct err *err)
{
	const struct top_options opt = {
		.value_num = v->value_num,
		.filter = v->filter,
		.by = v->a->by.by,
		.key = v->a->by.label,
	};
	_cleanup_(top_freep) struct top *t = NULL;
	int r = top_build(&t, v->p, &opt);

	if (r < 0)
		return err_set(err, r, "out of memory");
	if (v->a->json)
		put_table_json(v, t);
	else
		put_table(v, t);
	return 0;
}

/*
 * The indentation is one column per level up to TREE_MAX_INDENT; deeper levels are shown as a
 * number.
 */
static int put_tree(struct report *v, struct calls_walk *w)
{
	const struct calls_node *root = calls_node(w->c, 0);
	int64_t sum = calls_sum(w->c);
	uint32_t id;
	size_t depth, n_closed;
	int r = calls_walk_enter(w, 0);

	put_head(v, sum, root->total);
	buf_put_str(&v->out, TEXT_SHARES_HEAD);
	while (r == 0 && calls_walk_next(w, &id, &depth, &n_closed)) {
		const struct calls_node *n = calls_node(w->c, id);
		struct entry e = calls_entry(w->c, n);

		put_row(v, &e, n->self, n->total, sum, depth);
		r = calls_walk_enter(w, id);
	}
	return r;
}

/* Ends the arrays of children of @n nodes, and the nodes. */
static void close_nodes(struct json *j, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		json_array_end(j);
		json_object_end(j);
	}
}

/* Objects nest like the calls. */
static int put_tree_json(struct report *v, struct calls_walk *w)
{
	struct json j = json_to(&v->out);
	int64_t sum = calls_sum(w->c);
	uint32_t id;
	size_t depth, n_closed;
	int r = calls_walk_enter(w, 0);

	json_object(&j);
	json_head(&j, v, sum, calls_node(w->c, 0)->total);
	json_member_array(&j, "children");
	while (r == 0 && calls_walk_next(w, &id, &depth, &n_closed)) {
		const struct calls_node *n = calls_node(w->c, id);
		struct entry e = calls_entry(w->c, n);

		close_nodes(&j, n_closed);
		json_object(&j);
		json_entry(&j, &e, n->self, n->total);
		json_member_array(&j, "children");
		r = calls_walk_enter(w, id);
	}
	if (r == 0)
		close_nodes(&j, n_closed);
	json_array_end(&j);
	json_object_end(&j);
	buf_put_byte(&v->out, '\n');
	return r;
}

/* A misspelled function is an error rather than an empty tree. */
static int report_tree(struct report *v, struct err *err)
{
	const struct report_args *a = v->a;
	const struct calls_options opt = {
		.value_num = v->value_num,
		.filter = v->filter,
		.direction = a->callers   ? CALLS_CALLERS
			     : a->callees ? CALLS_CALLEES
					  : CALLS_ALL,
		.name = a->callers ? a->callers : a->callees,
	};
	_cleanup_(calls_freep) struct calls *c = NULL;
	_cleanup_(calls_walk_fini) struct calls_walk w = { .limit = a->limit,
							   .min_percent = a->min_percent };
	int r = calls_build(&c, v->p, &opt);

	if (r == -ENOENT)
		return err_set(err, r, "the profile has no function \"%.100s\"", opt.name);
	w.c = c;
	if (r == 0)
		r = v->a->json ? put_tree_json(v, &w) : put_tree(v, &w);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

/*
 * Names the packages that would name functions, if the report shows functions as text. Standard
 * output is the report alone.
 */
static void print_hints(const struct report_args *a, const struct profile *p)
{
	struct package_hints hints;

	if (a->json || a->by.by != ENTRIES_BY_FUNCTION)
		return;
	package_hints_find(p, PACKAGE_HINTS_DIR, &hints);
	package_hints_print(&hints);
}

/* The profile must outlive the report, which borrows its strings. */
static int print_report(const struct sources *in, const struct report_args *a, struct err *err)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct report v = { .a = a, .out.max = TEXT_OUTPUT_MAX };
	int r = sources_read(in, 0, in->paths.len, input_label(a->by.by, a->by.label), &p,
			     &v.value_num, err);

	if (r < 0)
		return r;
	v.p = p;
	v.filter.focus = a->focus.given ? &a->focus.regex : NULL;
	v.filter.ignore = a->ignore.given ? &a->ignore.regex : NULL;
	v.type = profile_string(p, profile_sample_type(p, v.value_num).type);
	v.unit = profile_string(p, profile_sample_type(p, v.value_num).unit);
	r = is_tree(a) ? report_tree(&v, err) : report_table(&v, err);
	if (r == 0)
		r = text_print(&v.out, err);
	if (r == 0)
		print_hints(a, p);
	buf_fini(&v.out);
	return r;
}

static int report(const struct sources *in, struct report_args *a)
{
	struct err err = { 0 };

	if (!in->paths.len)
		return cli_fail_usage("expected a profile: FILE, URL, or - for standard input");
	if (a->tree + (a->callers != NULL) + (a->callees != NULL) > 1)
		return cli_fail_usage("--tree, --callers and --callees cannot be used together");
	if (is_tree(a) && a->by.by != ENTRIES_BY_FUNCTION)
		return cli_fail_usage("--by cannot be used with --tree, --callers or --callees");
	if (a->min_percent < 0)
		a->min_percent = is_tree(a) ? TREE_MIN_PERCENT : 0;
	return print_report(in, a, &err) < 0 ? cli_fail("%s", err.msg) : 0;
}

static int run_command(int argc, char **argv)
{
	struct report_args a = { .min_percent = -1 };
	struct sources in = { 0 };
	const struct option_set sets[] = { { options, &a }, { sources_options, &in }, { 0 } };
	int r = cli_parse(&report_command, sets, 0, argc, argv, &in.paths);

	if (r == CLI_CONTINUE)
		r = report(&in, &a);
	pattern_fini(&a.focus);
	pattern_fini(&a.ignore);
	cli_fini(sets, &in.paths);
	return r;
}

const struct command report_command = {
	.name = "report",
	.summary = "print where the time of a profile is spent",
	.synopsis = "[OPTION...] FILE|URL...",
	.description =
		"Print where the time of a profile is spent: in each function itself (self), and "
		"in the function and everything that it calls (total). Several profiles are "
		"merged; \"-\" is standard input.\n\nThe format is detected: pprof, folded stacks, "
		"\"perf script\", speedscope, Chrome traces, V8's .cpuprofile, Flight Recorder, "
		"gperftools, Austin, Firefox Profiler and OTLP files, compressed or not. A URL "
		"fetches a profile from a Cameo or Pyroscope server: "
		"http://HOST:PORT/?query=TYPE{LABEL=\"VALUE\"}&from=now-1h&until=now, where each "
		"parameter may be omitted.",
	.options = COMMAND_OPTIONS(options, sources_options),
	.examples = COMMAND_EXAMPLES(
		{ "Show the 20 most expensive functions", "cameo report cameo.pb.gz --limit 20" },
		{ "Show the callers of malloc()", "cameo report cpu.pprof --callers malloc" },
		{ "Summarize the output of perf by binary",
		  "perf script | cameo report - --by binary" },
		{ "Report the last hour of a server",
		  "cameo report "
		  "'http://127.0.0.1:4040/?query={service_name=\"api\"}&from=now-1h'" }),
	.run = run_command,
};
