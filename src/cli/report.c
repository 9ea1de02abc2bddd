/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo report FILE...`: the table of functions (or of what --by says), or a
 * tree of calls, of profiles from anybody, as text or JSON.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/sources.h"
#include "cli/text.h"
#include "profile/profile.h"
#include "query/calls.h"
#include "query/top.h"

enum { OPT_TREE = 256, OPT_CALLERS, OPT_CALLEES, OPT_BY, OPT_FOCUS, OPT_IGNORE, OPT_JSON, OPT_MIN };

/* A tree's branches below this share of the whole are left out, unless asked for. */
static const double TREE_MIN_PERCENT = 0.5;

enum { TREE_MAX_INDENT = 60 };

static const struct argp_option options[] = {
	{ "tree", OPT_TREE, NULL, 0, "The tree of calls from the roots, largest first", 0 },
	{ "callers", OPT_CALLERS, "NAME", 0, "Who calls this function", 0 },
	{ "callees", OPT_CALLEES, "NAME", 0, "What this function calls", 0 },
	{ "by", OPT_BY, "WHAT", 0,
	  "Rows are function (the default), binary, file, line, column (of its line, where that "
	  "is known), language, process, thread, or label:KEY",
	  0 },
	{ "focus", OPT_FOCUS, "REGEX", 0, "Only stacks with a function that matches", 0 },
	{ "ignore", OPT_IGNORE, "REGEX", 0, "No stacks with a function that matches", 0 },
	{ "limit", 'l', "N", 0, "At most so many rows, or branches of a node of a tree", 0 },
	{ "min", OPT_MIN, "PERCENT", 0, "Leave out what has less in all (trees: 0.5)", 0 },
	{ "json", OPT_JSON, NULL, 0, "JSON instead of text", 0 },
	{ 0 },
};

struct args {
	struct sources in;
	struct top_options top;
	enum calls_direction direction;
	const char *function;
	bool tree, json;
	uint64_t limit; /* 0: none */
	double min_percent;
	regex_t focus, ignore;
	struct err err;
};

static int parse_regex(struct args *a, const char *text, regex_t *re, const regex_t **out)
{
	char why[120];
	int code;

	if (*out)
		return err_set(&a->err, -EINVAL, "--focus and --ignore may be given once each");
	code = regcomp(re, text, REG_EXTENDED | REG_NOSUB);
	if (code) {
		regerror(code, re, why, sizeof(why));
		return err_set(&a->err, -EINVAL, "%.60s: %s", text, why);
	}
	*out = re;
	return 0;
}

static int parse_tree(struct args *a, enum calls_direction direction, const char *name)
{
	if (a->tree)
		return err_set(&a->err, -EINVAL, "only one of --tree, --callers and --callees");
	a->tree = true;
	a->direction = direction;
	a->function = name;
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		a->in.err = &a->err;
		state->child_inputs[0] = &a->in;
		break;
	case OPT_JSON:
		a->json = true;
		break;
	case OPT_TREE:
		parse_tree(a, CALLS_ALL, NULL);
		break;
	case OPT_CALLERS:
		parse_tree(a, CALLS_CALLERS, arg);
		break;
	case OPT_CALLEES:
		parse_tree(a, CALLS_CALLEES, arg);
		break;
	case OPT_BY:
		args_by(arg, &a->top.by, &a->top.key, &a->err);
		break;
	case OPT_FOCUS:
		parse_regex(a, arg, &a->focus, &a->top.filter.focus);
		break;
	case OPT_IGNORE:
		parse_regex(a, arg, &a->ignore, &a->top.filter.ignore);
		break;
	case 'l':
		args_limit(arg, &a->limit, &a->err);
		break;
	case OPT_MIN:
		args_percent("min", arg, 100, &a->min_percent, &a->err);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* What is reported: one sample type of one profile. */
struct view {
	const struct args *a;
	const struct profile *p;
	const char *type, *unit;
	struct buf out;
};

static bool shown(const struct view *v, int64_t total, int64_t sum)
{
	double percent = text_percent(total, sum);

	return (percent < 0 ? -percent : percent) >= v->a->min_percent;
}

static void put_head(struct view *v, int64_t sum, int64_t counted)
{
	char text[TEXT_VALUE_LEN];

	text_put_safe(&v->out, v->type);
	buf_printf(&v->out, ": %s in all", text_value(sum, v->unit, text));
	if (counted != sum)
		buf_printf(&v->out, ", %s (%.1f%%) of it here", text_value(counted, v->unit, text),
			   text_percent(counted, sum));
	buf_put_str(&v->out, "\n");
}

static void put_numbers(struct view *v, int64_t self, int64_t total, int64_t sum)
{
	char a[TEXT_VALUE_LEN], b[TEXT_VALUE_LEN];

	buf_printf(&v->out, "%12s %6.2f%% %12s %6.2f%%  ", text_value(self, v->unit, a),
		   text_percent(self, sum), text_value(total, v->unit, b),
		   text_percent(total, sum));
}

static void put_entry(struct view *v, const struct entry *e)
{
	text_put_safe(&v->out, e->name);
	if (*e->binary) {
		buf_put_str(&v->out, "  ");
		text_put_safe(&v->out, text_base_name(e->binary));
	}
	buf_put_byte(&v->out, '\n');
}

static void put_table(struct view *v, const struct top *t)
{
	uint64_t n = 0;

	put_head(v, top_sum(t), top_counted(t));
	buf_put_str(&v->out, "        self   self%        total  total%\n");
	for (size_t i = 0; i < top_n_rows(t); i++) {
		const struct top_row *row = top_row(t, i);
		struct entry e = top_entry(t, row);

		if ((v->a->limit && n == v->a->limit) || !shown(v, row->total, top_sum(t)))
			continue;
		n++;
		put_numbers(v, row->self, row->total, top_sum(t));
		put_entry(v, &e);
	}
}

static void json_head(struct json *j, const struct view *v, int64_t sum, int64_t counted)
{
	const struct profile_meta *m = profile_meta_const(v->p);

	json_key(j, "type");
	json_str(j, v->type);
	json_key(j, "unit");
	json_str(j, v->unit);
	json_key(j, "total");
	json_int(j, sum);
	json_key(j, "counted");
	json_int(j, counted);
	json_key(j, "period");
	json_int(j, m->period);
	json_key(j, "duration_ns");
	json_int(j, m->duration_ns);
}

static void json_entry(struct json *j, const struct entry *e, int64_t self, int64_t total)
{
	json_key(j, "name");
	json_str(j, e->name);
	if (*e->binary) {
		json_key(j, "binary");
		json_str(j, e->binary);
	}
	if (*e->file) {
		json_key(j, "file");
		json_str(j, e->file);
	}
	if (e->kind) {
		json_key(j, "kind");
		json_str(j, profile_frame_kind_label(e->kind));
	}
	json_key(j, "self");
	json_int(j, self);
	json_key(j, "total");
	json_int(j, total);
}

static void put_table_json(struct view *v, const struct top *t)
{
	struct json j = json_to(&v->out);
	uint64_t n = 0;

	json_object(&j);
	json_head(&j, v, top_sum(t), top_counted(t));
	json_key(&j, "rows");
	json_array(&j);
	for (size_t i = 0; i < top_n_rows(t); i++) {
		const struct top_row *row = top_row(t, i);
		struct entry e = top_entry(t, row);

		if ((v->a->limit && n == v->a->limit) || !shown(v, row->total, top_sum(t)))
			continue;
		n++;
		json_object(&j);
		json_entry(&j, &e, row->self, row->total);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	buf_put_byte(&v->out, '\n');
}

static int report_table(struct view *v, struct err *err)
{
	_cleanup_(top_freep) struct top *t = NULL;
	int r = top_build(&t, v->p, &v->a->top);

	if (r < 0)
		return err_set(err, r, "no memory for the table");
	if (v->a->json)
		put_table_json(v, t);
	else
		put_table(v, t);
	return 0;
}

/* Walks a tree without recursion, for stacks may be deep. */
struct walk {
	const struct calls *c;
	struct {
		VEC(uint32_t);
	} next; /* of each level: the sibling that comes next */
	struct {
		VEC(uint64_t);
	} left; /* of each level: how many more are shown */
};

static int walk_enter(struct walk *w, const struct args *a, uint32_t node)
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

/* The next node in the order of the tree, and its depth: true; false at the end. */
static bool walk_next(struct walk *w, const struct view *v, int64_t sum, struct json *j,
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
		if (!shown(v, n->total, sum))
			continue;
		w->left.data[top]--;
		*out = id;
		*out_depth = top;
		return true;
	}
	return false;
}

static int put_tree(struct view *v, struct walk *w)
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

static int put_tree_json(struct view *v, struct walk *w)
{
	struct json j = json_to(&v->out);
	int64_t sum = calls_sum(w->c);
	uint32_t id;
	size_t depth;
	int r = walk_enter(w, v->a, 0);

	json_object(&j);
	json_head(&j, v, sum, calls_node(w->c, 0)->total);
	json_key(&j, "children");
	json_array(&j);
	while (r == 0 && walk_next(w, v, sum, &j, &id, &depth)) {
		const struct calls_node *n = calls_node(w->c, id);
		struct entry e = calls_entry(w->c, n);

		json_object(&j);
		json_entry(&j, &e, n->self, n->total);
		json_key(&j, "children");
		json_array(&j);
		r = walk_enter(w, v->a, id);
	}
	json_array_end(&j);
	json_object_end(&j);
	buf_put_byte(&v->out, '\n');
	return r;
}

static int report_tree(struct view *v, struct err *err)
{
	const struct calls_options opt = {
		.value_num = v->a->top.value_num,
		.filter = v->a->top.filter,
		.direction = v->a->direction,
		.name = v->a->function,
	};
	_cleanup_(calls_freep) struct calls *c = NULL;
	_cleanup_(walk_fini) struct walk w = { 0 };
	int r = calls_build(&c, v->p, &opt);

	if (r == -ENOENT)
		return err_set(err, r, "no function is called %.100s", opt.name);
	w.c = c;
	if (r == 0)
		r = v->a->json ? put_tree_json(v, &w) : put_tree(v, &w);
	return r < 0 ? err_set(err, r, "no memory for the tree") : 0;
}

static int report(struct args *a, struct err *err)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct view v = { .a = a };
	int r = sources_read(&a->in, 0, a->in.paths.len, input_label(a->top.by, a->top.key), &p,
			     &a->top.value_num, err);

	if (r < 0)
		return r;
	v.p = p;
	v.type = profile_string(p, profile_sample_type(p, a->top.value_num).type);
	v.unit = profile_string(p, profile_sample_type(p, a->top.value_num).unit);
	r = a->tree ? report_tree(&v, err) : report_table(&v, err);
	if (r == 0 && buf_error(&v.out))
		r = err_set(err, -ENOMEM, "no memory for the report");
	if (r == 0)
		r = text_print(&v.out, err);
	buf_fini(&v.out);
	return r;
}

static int check(struct args *a)
{
	if (!a->err.code && !a->in.paths.len)
		err_set(&a->err, -EINVAL, "which file? (`cameo report --help`)");
	if (!a->err.code && a->tree && a->top.by != ENTRIES_BY_FUNCTION)
		err_set(&a->err, -EINVAL, "trees are of functions: no --by with them");
	if (a->min_percent < 0)
		a->min_percent = a->tree ? TREE_MIN_PERCENT : 0;
	return a->err.code;
}

int cli_report(int argc, char **argv)
{
	const struct argp argp = {
		.options = options,
		.parser = parse,
		.children = sources_options(),
		.args_doc = "FILE|URL...",
		.doc = "Show where the time of a profile goes; several are merged. Reads pprof, "
		       "folded stacks, `perf script`, speedscope, Chrome's traces, V8's "
		       ".cpuprofile, gperftools, Austin, the Firefox Profiler's files and OTLP, "
		       "compressed or not, and URLs of Pyroscope servers "
		       "(?query={...}&from=now-1h&until=now); - is "
		       "standard "
		       "input.\v"
		       "Examples:\n"
		       "  cameo report cameo.pb.gz --limit 20\n"
		       "  cameo report cpu.pprof --callers malloc\n"
		       "  perf script | cameo report - --by binary\n",
	};
	struct args a = { .min_percent = -1 };
	int status = 0;

	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (check(&a) < 0) {
		cli_fail("%s", a.err.msg);
		status = EXIT_USAGE;
	} else if (report(&a, &a.err) < 0) {
		status = cli_fail("%s", a.err.msg);
	}
	if (a.top.filter.focus)
		regfree(&a.focus);
	if (a.top.filter.ignore)
		regfree(&a.ignore);
	sources_fini(&a.in);
	return status;
}
