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
#include "base/vec.h"
#include "cli/args.h"
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

/* Returns true if the share of @sum is at least --min. Values may be negative, as in a difference.
 */
static bool is_above_minimum(const struct report *v, int64_t total, int64_t sum)
{
	double percent = text_percent(total, sum);

	return (percent < 0 ? -percent : percent) >= v->a->min_percent;
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
static void put_numbers(struct report *v, int64_t self, int64_t total, int64_t sum)
{
	char a[TEXT_VALUE_LEN], b[TEXT_VALUE_LEN];

	buf_printf(&v->out, "%12s %6.2f%% %12s %6.2f%%  ", text_value(self, v->unit, a),
		   text_percent(self, sum), text_value(total, v->unit, b),
		   text_percent(total, sum));
}

/* Shows the last component of a binary's path; --json prints the complete path. */
static void put_entry(struct report *v, const struct entry *e)
{
	text_put_safe(&v->out, e->name);
	if (*e->binary) {
		buf_put_str(&v->out, "  ");
		text_put_safe(&v->out, text_base_name(e->binary));
	}
	buf_put_byte(&v->out, '\n');
}

/* Returns true if --min and --limit allow this row. *@io_n counts the rows that they allowed. */
static bool is_printed(const struct report *v, const struct top_row *row, int64_t sum,
		       uint64_t *io_n)
{
	if ((v->a->limit && *io_n == v->a->limit) || !is_above_minimum(v, row->total, sum))
		return false;
	(*io_n)++;
	return true;
}

/* Rows come sorted by self; a row that --min hides does not count towards --limit. */
static void put_table(struct report *v, const struct top *t)
{
	uint64_t n = 0;

	put_head(v, top_sum(t), top_counted(t));
	buf_put_str(&v->out, "        self   self%        total  total%\n");
	for (size_t i = 0; i < top_n_rows(t); i++) {
		const struct top_row *row = top_row(t, i);
		struct entry e = top_entry(t, row);

		if (!is_printed(v, row, top_sum(t), &n))
			continue;
		put_numbers(v, row->self, row->total, top_sum(t));
		put_entry(v, &e);
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

/* A depth-first walk of a call tree. It does not recurse, since stacks may be deep. */
struct walk {
	const struct calls *c;
	struct {
		VEC(uint32_t);
	} next; /* for each level, the sibling that comes next */
	struct {
		VEC(uint64_t);
	} left; /* for each level, how many more siblings --limit allows */
};

/* Begins the level of the children of @node. */
static int walk_enter(struct walk *w, const struct report_args *a, uint32_t node)
{
	uint32_t first = calls_node(w->c, node)->first_child;

	if (vec_push(&w->next, first) < 0 ||
	    vec_push(&w->left, a->limit ? a->limit : UINT64_MAX) < 0)
		return -ENOMEM;
	return 0;
}

static void walk_fini(struct walk *w)
{
	vec_fini(&w->next);
	vec_fini(&w->left);
}

/*
 * Finds the next node to print, and its depth; false at the end of the tree. With @j, closes the
 * JSON objects of the nodes that are complete.
 */
static bool walk_next(struct walk *w, const struct report *v, int64_t sum, struct json *j,
		      uint32_t *out, size_t *out_depth)
{
	while (w->next.len) {
		size_t top = w->next.len - 1;
		uint32_t id = w->next.data[top];
		const struct calls_node *n;

		if (id == CALLS_NONE || !w->left.data[top]) {
			w->next.len--;
			w->left.len--;
			if (j && w->next.len) {
				json_array_end(j);
				json_object_end(j);
			}
			continue;
		}
		n = calls_node(w->c, id);
		w->next.data[top] = n->next;
		if (!is_above_minimum(v, n->total, sum))
			continue;
		w->left.data[top]--;
		*out = id;
		*out_depth = top;
		return true;
	}
	return false;
}

/*
 * The indentation is one column per level up to TREE_MAX_INDENT; deeper levels are shown as a
 * number.
 */
static int put_tree(struct report *v, struct walk *w)
{
	const struct calls_node *root = calls_node(w->c, 0);
	int64_t sum = calls_sum(w->c);
	uint32_t id;
	size_t depth;
	int r = walk_enter(w, v->a, 0);

	put_head(v, sum, root->total);
	buf_put_str(&v->out, "        self   self%        total  total%\n");
	while (r == 0 && walk_next(w, v, sum, NULL, &id, &depth)) {
		const struct calls_node *n = calls_node(w->c, id);
		struct entry e = calls_entry(w->c, n);

		put_numbers(v, n->self, n->total, sum);
		if (depth > TREE_MAX_INDENT)
			buf_printf(&v->out, "%*s(%zu) ", TREE_MAX_INDENT, "", depth);
		else
			buf_printf(&v->out, "%*s", (int)depth, "");
		put_entry(v, &e);
		r = walk_enter(w, v->a, id);
	}
	return r;
}

/* Objects nest like the calls; walk_next() closes those of complete subtrees. */
static int put_tree_json(struct report *v, struct walk *w)
{
	struct json j = json_to(&v->out);
	int64_t sum = calls_sum(w->c);
	uint32_t id;
	size_t depth;
	int r = walk_enter(w, v->a, 0);

	json_object(&j);
	json_head(&j, v, sum, calls_node(w->c, 0)->total);
	json_member_array(&j, "children");
	while (r == 0 && walk_next(w, v, sum, &j, &id, &depth)) {
		const struct calls_node *n = calls_node(w->c, id);
		struct entry e = calls_entry(w->c, n);

		json_object(&j);
		json_entry(&j, &e, n->self, n->total);
		json_member_array(&j, "children");
		r = walk_enter(w, v->a, id);
	}
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
	_cleanup_(walk_fini) struct walk w = { 0 };
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
	struct report v = { .a = a };
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
	if (r == 0 && buf_error(&v.out))
		r = err_set(err, -ENOMEM, "out of memory");
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
