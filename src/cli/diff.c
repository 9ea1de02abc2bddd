/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo diff BEFORE AFTER`: the functions that changed, as a table, as JSON or
 * as a page, and an exit status for those who test with it.
 */
#include <argp.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/outfile.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/sources.h"
#include "cli/text.h"
#include "codec/format.h"
#include "codec/html.h"
#include "codec/page_json.h"
#include "profile/profile.h"
#include "query/change.h"

enum { OPT_NORMALIZE = 256, OPT_FAIL_ABOVE, OPT_JSON };

static const struct argp_option options[] = {
	{ "normalize", OPT_NORMALIZE, NULL, 0,
	  "Compare shares: for recordings of different length or load", 0 },
	{ "fail-above", OPT_FAIL_ABOVE, "PERCENT", 0,
	  "Exit status 1 if a function, or the whole, grew by more than so much of the whole, and "
	  "not by chance",
	  0 },
	{ "output", 'o', "FILE.html", 0, "Write a page that shows the difference as a flame graph",
	  0 },
	{ "limit", 'l', "N", 0, "At most so many rows", 0 },
	{ "json", OPT_JSON, NULL, 0, "JSON instead of text", 0 },
	{ 0 },
};

struct args {
	struct sources in;
	const char *output;
	bool normalize, json, has_fail_above;
	double fail_above;
	uint64_t limit; /* 0: none */
	struct err err;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		a->in.err = &a->err;
		state->child_inputs[0] = &a->in;
		break;
	case OPT_NORMALIZE:
		a->normalize = true;
		break;
	case OPT_FAIL_ABOVE:
		a->has_fail_above = true;
		args_percent("fail-above", arg, DBL_MAX, &a->fail_above, &a->err);
		break;
	case 'o':
		a->output = arg;
		break;
	case 'l':
		args_limit(arg, &a->limit, &a->err);
		break;
	case OPT_JSON:
		a->json = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

struct view {
	const struct args *a;
	const struct changes *c;
	const char *type, *unit;
	int64_t base; /* what shares are of */
	struct buf out;
};

/* The change in percent of the whole before. */
static double share(const struct view *v, const struct change *c)
{
	return text_percent(change_delta(c), v->base);
}

static const char *verdict(const struct view *v, const struct change *c)
{
	if (!changes_counted(v->c))
		return "?";
	if (change_is_noise(c))
		return "noise";
	return c->z > 0 ? "more" : "less";
}

static void put_row(struct view *v, const struct change_row *row)
{
	char before[TEXT_VALUE_LEN], after[TEXT_VALUE_LEN];

	buf_printf(&v->out, "%11s %11s %+8.2f%% %-5s %+8.2f%% %-5s  ",
		   text_value(row->self.value[CHANGE_BEFORE], v->unit, before),
		   text_value(row->self.value[CHANGE_AFTER], v->unit, after), share(v, &row->self),
		   verdict(v, &row->self), share(v, &row->total), verdict(v, &row->total));
	text_put_safe(&v->out, row->entry.name);
	if (*row->entry.binary) {
		buf_put_str(&v->out, "  ");
		text_put_safe(&v->out, text_base_name(row->entry.binary));
	}
	buf_put_byte(&v->out, '\n');
}

static void put_table(struct view *v)
{
	const struct change *sum = changes_sum(v->c);
	char before[TEXT_VALUE_LEN], after[TEXT_VALUE_LEN];

	text_put_safe(&v->out, v->type);
	buf_printf(&v->out, ": %s before, %s after (%+.2f%%, %s)%s\n",
		   text_value(sum->value[CHANGE_BEFORE], v->unit, before),
		   text_value(sum->value[CHANGE_AFTER], v->unit, after), share(v, sum),
		   verdict(v, sum), v->a->normalize ? "; shares are compared" : "");
	if (!changes_counted(v->c))
		buf_put_str(&v->out, "How many samples the values stand for is not known: noise "
				     "can't be told.\n");
	buf_put_str(&v->out, "self before  self after      self        in all\n");
	for (size_t i = 0; i < changes_n_rows(v->c) && (!v->a->limit || i < v->a->limit); i++)
		put_row(v, changes_row(v->c, i));
}

static void json_change(struct json *j, const struct view *v, const char *key,
			const struct change *c)
{
	json_key(j, key);
	json_object(j);
	json_key(j, "before");
	json_int(j, c->value[CHANGE_BEFORE]);
	json_key(j, "after");
	json_int(j, c->value[CHANGE_AFTER]);
	json_key(j, "percent");
	json_double(j, share(v, c));
	if (changes_counted(v->c)) {
		json_key(j, "z");
		json_double(j, c->z);
		json_key(j, "noise");
		json_bool(j, change_is_noise(c));
	}
	json_object_end(j);
}

static void put_json(struct view *v)
{
	struct json j = json_to(&v->out);

	json_object(&j);
	json_key(&j, "type");
	json_str(&j, v->type);
	json_key(&j, "unit");
	json_str(&j, v->unit);
	json_key(&j, "normalized");
	json_bool(&j, v->a->normalize);
	json_change(&j, v, "total", changes_sum(v->c));
	json_key(&j, "rows");
	json_array(&j);
	for (size_t i = 0; i < changes_n_rows(v->c) && (!v->a->limit || i < v->a->limit); i++) {
		const struct change_row *row = changes_row(v->c, i);

		json_object(&j);
		json_key(&j, "name");
		json_str(&j, row->entry.name);
		json_key(&j, "binary");
		json_str(&j, row->entry.binary);
		json_change(&j, v, "self", &row->self);
		json_change(&j, v, "total", &row->total);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	buf_put_byte(&v->out, '\n');
}

static int write_page(const struct args *a, struct profile *const *p, const size_t *value_num,
		      struct err *err)
{
	static const char *const heads[] = { "{\"before\":", ",\"after\":" };
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	_cleanup_(buf_fini) struct buf json = { 0 }, page = { 0 }, title = { 0 };
	int r = outfile_open(&f, a->output, err);

	for (int i = 0; r == 0 && i < CHANGE_SIDES; i++) {
		struct page_options opt = { .title = text_base_name(a->in.paths.data[i]),
					    .value_num = value_num[i],
					    .root_label = "comm" };

		buf_put_str(&json, heads[i]);
		r = page_json_write(p[i], &opt, &json, err);
	}
	buf_put_byte(&json, '}');
	buf_printf(&title, "%s - %s", text_base_name(a->in.paths.data[CHANGE_BEFORE]),
		   text_base_name(a->in.paths.data[CHANGE_AFTER]));
	buf_put_byte(&title, '\0');
	if (r == 0 && (buf_error(&json) || buf_error(&title)))
		r = err_set(err, -ENOMEM, "no memory for the page");
	if (r == 0)
		r = html_page_write(json.data, json.len, (const char *)title.data, &page, err);
	return r < 0 ? r : outfile_commit(f, page.data, page.len, err);
}

/* Has it grown by more than is allowed, and not by chance? */
static bool grew(const struct view *v, const struct change *c)
{
	return share(v, c) > v->a->fail_above && (!changes_counted(v->c) || !change_is_noise(c));
}

/* What --fail-above is about: one line for the worst, and an exit status. */
static int judge(const struct view *v)
{
	const struct change_row *worst = NULL;

	if (!v->a->has_fail_above)
		return 0;
	for (size_t i = 0; i < changes_n_rows(v->c); i++) {
		const struct change_row *row = changes_row(v->c, i);

		if ((grew(v, &row->total) || grew(v, &row->self)) &&
		    (!worst || share(v, &row->self) > share(v, &worst->self)))
			worst = row;
	}
	if (worst)
		return cli_fail(
			"%.120s takes %.2f%% of the whole more, above %g%%", worst->entry.name,
			fmax(share(v, &worst->total), share(v, &worst->self)), v->a->fail_above);
	if (!v->a->normalize && grew(v, changes_sum(v->c)))
		return cli_fail("the whole has grown by %.2f%%, above %g%%",
				share(v, changes_sum(v->c)), v->a->fail_above);
	return 0;
}

static int show(const struct args *a, struct profile *const *p, const struct changes_options *opt,
		struct err *err)
{
	_cleanup_(changes_freep) struct changes *c = NULL;
	struct view v = { .a = a };
	struct profile_value_type type;
	int r = changes_build(&c, p[CHANGE_BEFORE], p[CHANGE_AFTER], opt);

	if (r < 0)
		return err_set(err, r, "no memory to compare the profiles");
	type = profile_sample_type(p[CHANGE_BEFORE], opt->value_num[CHANGE_BEFORE]);
	v.c = c;
	v.type = profile_string(p[CHANGE_BEFORE], type.type);
	v.unit = profile_string(p[CHANGE_BEFORE], type.unit);
	v.base = changes_sum(c)->value[CHANGE_BEFORE];
	if (a->json)
		put_json(&v);
	else
		put_table(&v);
	if (buf_error(&v.out))
		r = err_set(err, -ENOMEM, "no memory for the table");
	else if (!a->output || a->json)
		r = text_print(&v.out, err);
	buf_fini(&v.out);
	return r < 0 ? r : judge(&v);
}

/* 0, an exit status, or -errno. */
static int diff(const struct args *a, struct err *err)
{
	struct changes_options opt = { .normalize = a->normalize };
	struct profile *p[CHANGE_SIDES] = { 0 };
	struct sources in = a->in;
	int r = 0;

	for (size_t i = 0; r == 0 && i < CHANGE_SIDES; i++) {
		r = sources_read(&in, i, 1, NULL, &p[i], &opt.value_num[i], err);
		if (r == 0 && !in.type)
			in.type = profile_string(p[i],
						 profile_sample_type(p[i], opt.value_num[i]).type);
	}
	if (r == 0 && a->output)
		r = write_page(a, p, opt.value_num, err);
	if (r == 0)
		r = show(a, p, &opt, err);
	profile_free(p[CHANGE_BEFORE]);
	profile_free(p[CHANGE_AFTER]);
	return r;
}

static int check(struct args *a)
{
	if (!a->err.code && a->in.paths.len > CHANGE_SIDES)
		err_set(&a->err, -EINVAL, "only two profiles can be compared");
	if (!a->err.code && a->in.paths.len != CHANGE_SIDES)
		err_set(&a->err, -EINVAL, "which two profiles? (`cameo diff --help`)");
	if (!a->err.code && a->output && strcmp(a->output, "-") != 0 &&
	    (strlen(a->output) < 6 || strcmp(a->output + strlen(a->output) - 5, ".html") != 0))
		err_set(&a->err, -EINVAL, "-o: a difference can only be written as .html");
	if (!a->err.code && a->output && !strcmp(a->output, "-") && a->json)
		err_set(&a->err, -EINVAL, "only one of -o - and --json on standard output");
	return a->err.code;
}

int cli_diff(int argc, char **argv)
{
	const struct argp argp = {
		.options = options,
		.parser = parse,
		.children = sources_options(),
		.args_doc = "BEFORE AFTER",
		.doc = "Compare two profiles of any format. Each function's change in its own time "
		       "and in all is given in percent of the whole BEFORE, with a word that says "
		       "whether chance alone explains it (noise: below three standard "
		       "deviations).\v"
		       "Examples:\n"
		       "  cameo diff before.pb.gz after.pb.gz --limit 20\n"
		       "  cameo diff before.pb.gz after.pb.gz --normalize -o diff.html\n"
		       "  cameo diff main.pb.gz branch.pb.gz --fail-above 5% || exit 1\n",
	};
	struct args a = { 0 };
	int r;

	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (check(&a) < 0) {
		cli_fail("%s", a.err.msg);
		r = EXIT_USAGE;
	} else {
		r = diff(&a, &a.err);
		r = r < 0 ? cli_fail("%s", a.err.msg) : r;
	}
	sources_fini(&a.in);
	return r;
}
