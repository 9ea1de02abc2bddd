/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo diff BEFORE AFTER`: prints the functions that changed, as a table or JSON, or writes a
 * page; for use in tests, a regression determines the exit status.
 *
 * Percentages are shares of the total before, even with --normalize, because a function that is new
 * has no other base. "noise" means that chance explains the difference (tables/change.h). With
 * --output the page replaces the table; JSON is printed in any case.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/outfile.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/sources.h"
#include "cli/text.h"
#include "codec/format.h"
#include "codec/page/html.h"
#include "codec/page/page_json.h"
#include "profile/profile.h"
#include "tables/change.h"

struct diff_args {
	char *output;
	bool normalize, json;
	double fail_above; /* percent; negative: not given */
	uint64_t limit;    /* 0: none */
};

#define OPTION_VALUES struct diff_args

static const struct option_spec options[] = {
	OPTION_SECTION("Comparison"),
	OPTION(FLAG, 0, "normalize", NULL, normalize,
	       "Compare shares of the total instead of values, for recordings of different length "
	       "or load"),
	OPTION(PERCENT, 0, "fail-above", "PERCENT", fail_above,
	       "Exit with status 1 if a function or the total grew by more than this share of the "
	       "total, unless chance explains the difference"),

	OPTION_SECTION("Output"),
	OPTION(TEXT, 'o', "output", "FILE.html", output,
	       "Write an HTML page that shows the difference as a flame graph"),
	OPTION(NUMBER, 'l', "limit", "N", limit, "Print at most N rows"),
	OPTION(FLAG, 0, "json", NULL, json, "Print JSON instead of text"),
	{ 0 },
};

/* The state of a comparison while it is printed. */
struct comparison {
	const struct diff_args *a;
	const struct changes *c;
	const char *type, *unit;
	int64_t base; /* the total before; percentages are shares of it */
	struct buf out;
};

/* A change as a percentage of the total before. */
static double share(const struct comparison *v, const struct change *c)
{
	return text_percent(change_delta(c), v->base);
}

/*
 * One word for a change: "?" if the number of samples is unknown, "noise" if chance explains it,
 * else the direction. The direction is that of z, which has the sign of the compared values.
 */
static const char *verdict(const struct comparison *v, const struct change *c)
{
	if (!changes_counted(v->c))
		return "?";
	if (change_is_noise(c))
		return "noise";
	return c->z > 0 ? "more" : "less";
}

/* Names are printed last, because their length varies. */
static void put_row(struct comparison *v, const struct change_row *row)
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

static void put_table(struct comparison *v)
{
	const struct change *sum = changes_sum(v->c);
	char before[TEXT_VALUE_LEN], after[TEXT_VALUE_LEN];

	text_put_safe(&v->out, v->type);
	buf_printf(&v->out, ": %s before, %s after (%+.2f%%, %s)%s\n",
		   text_value(sum->value[CHANGE_BEFORE], v->unit, before),
		   text_value(sum->value[CHANGE_AFTER], v->unit, after), share(v, sum),
		   verdict(v, sum), v->a->normalize ? "; compared as shares of the total" : "");
	if (!changes_counted(v->c))
		buf_put_str(&v->out, "The profiles have no sample counts, so changes cannot be "
				     "distinguished from noise.\n");
	buf_put_str(&v->out, "self before  self after      self          total\n");
	for (size_t i = 0; i < changes_n_rows(v->c) && (!v->a->limit || i < v->a->limit); i++)
		put_row(v, changes_row(v->c, i));
}

/* Without sample counts there is no probability, so "z" and "noise" are omitted. */
static void json_change(struct json *j, const struct comparison *v, const char *key,
			const struct change *c)
{
	json_member_object(j, key);
	json_member_int(j, "before", c->value[CHANGE_BEFORE]);
	json_member_int(j, "after", c->value[CHANGE_AFTER]);
	json_member_double(j, "percent", share(v, c));
	if (changes_counted(v->c)) {
		json_member_double(j, "z", c->z);
		json_member_bool(j, "noise", change_is_noise(c));
	}
	json_object_end(j);
}

static void put_json(struct comparison *v)
{
	struct json j = json_to(&v->out);

	json_object(&j);
	json_member_str(&j, "type", v->type);
	json_member_str(&j, "unit", v->unit);
	json_member_bool(&j, "normalized", v->a->normalize);
	json_change(&j, v, "total", changes_sum(v->c));
	json_member_array(&j, "rows");
	for (size_t i = 0; i < changes_n_rows(v->c) && (!v->a->limit || i < v->a->limit); i++) {
		const struct change_row *row = changes_row(v->c, i);

		json_object(&j);
		json_member_str(&j, "name", row->entry.name);
		json_member_str(&j, "binary", row->entry.binary);
		json_change(&j, v, "self", &row->self);
		json_change(&j, v, "total", &row->total);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	buf_put_byte(&v->out, '\n');
}

/*
 * The page contains both profiles completely and computes the difference itself, so that its
 * filters and modes work on them. The output is opened first: a wrong path should fail before the
 * work.
 */
static int write_page(const struct sources *in, const char *path, struct profile *const *p,
		      const size_t *value_num, struct err *err)
{
	static const char *const heads[] = { "{\"before\":", ",\"after\":" };
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	_cleanup_(buf_fini) struct buf json = { 0 }, page = { 0 }, title = { 0 };
	int r = outfile_open(&f, path, err);

	for (int i = 0; r == 0 && i < CHANGE_SIDES; i++) {
		struct format_options opt = { .title = text_base_name(in->paths.data[i]),
					      .value_num = value_num[i],
					      .root_label = "comm" };

		buf_put_str(&json, heads[i]);
		r = page_json_write(p[i], &opt, &json, err);
	}
	buf_put_byte(&json, '}');
	buf_printf(&title, "%s - %s", text_base_name(in->paths.data[CHANGE_BEFORE]),
		   text_base_name(in->paths.data[CHANGE_AFTER]));
	buf_put_byte(&title, '\0');
	if (r == 0 && (buf_error(&json) || buf_error(&title)))
		r = err_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		r = html_page_write(json.data, json.len, (const char *)title.data, &page, err);
	return r < 0 ? r : outfile_commit(f, page.data, page.len, err);
}

/* Returns true if a value grew by more than --fail-above, and chance does not explain that. */
static bool grew(const struct comparison *v, const struct change *c)
{
	return share(v, c) > v->a->fail_above && (!changes_counted(v->c) || !change_is_noise(c));
}

/* Reports the largest regression above --fail-above. Returns an exit status. */
static int check_growth(const struct comparison *v)
{
	const struct change_row *worst = NULL;

	if (v->a->fail_above < 0)
		return 0;
	for (size_t i = 0; i < changes_n_rows(v->c); i++) {
		const struct change_row *row = changes_row(v->c, i);

		if ((grew(v, &row->total) || grew(v, &row->self)) &&
		    (!worst || share(v, &row->self) > share(v, &worst->self)))
			worst = row;
	}
	if (worst)
		return cli_fail(
			"\"%.120s\" grew by %.2f%% of the total, more than %g%%", worst->entry.name,
			fmax(share(v, &worst->total), share(v, &worst->self)), v->a->fail_above);
	if (!v->a->normalize && grew(v, changes_sum(v->c)))
		return cli_fail("the total grew by %.2f%%, more than %g%%",
				share(v, changes_sum(v->c)), v->a->fail_above);
	return 0;
}

/*
 * Returns the exit status of check_growth(), or -errno. The table is printed even if --fail-above
 * fails, since it shows what grew.
 */
static int print_changes(const struct diff_args *a, struct profile *const *p,
			 const struct changes_options *opt, struct err *err)
{
	_cleanup_(changes_freep) struct changes *c = NULL;
	struct comparison v = { .a = a };
	struct profile_value_type type;
	int r = changes_build(&c, p[CHANGE_BEFORE], p[CHANGE_AFTER], opt);

	if (r < 0)
		return err_set(err, r, "out of memory");
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
		r = err_set(err, -ENOMEM, "out of memory");
	else if (!a->output || a->json)
		r = text_print(&v.out, err);
	buf_fini(&v.out);
	return r < 0 ? r : check_growth(&v);
}

/* Returns 0, an exit status above 0, or -errno. */
static int compare(const struct sources *sources, const struct diff_args *a, struct err *err)
{
	struct changes_options opt = { .normalize = a->normalize };
	struct profile *p[CHANGE_SIDES] = { 0 };
	struct sources in = *sources;
	int r = 0;

	for (size_t i = 0; r == 0 && i < CHANGE_SIDES; i++) {
		r = sources_read(&in, i, 1, NULL, &p[i], &opt.value_num[i], err);
		/* The second profile has to be read as the same sample type. */
		if (r == 0 && !in.sample_type)
			in.sample_type = (char *)profile_string(
				p[i], profile_sample_type(p[i], opt.value_num[i]).type);
	}
	if (r == 0 && a->output)
		r = write_page(&in, a->output, p, opt.value_num, err);
	if (r == 0)
		r = print_changes(a, p, &opt, err);
	profile_free(p[CHANGE_BEFORE]);
	profile_free(p[CHANGE_AFTER]);
	return r;
}

static bool is_html(const char *path)
{
	size_t len = strlen(path);

	return len > 5 && !strcmp(path + len - 5, ".html");
}

/* Only pages can be written to a file: a table is printed, and can be redirected. */
static int diff(const struct sources *in, const struct diff_args *a)
{
	bool to_stdout = a->output && !strcmp(a->output, "-");
	struct err err = { 0 };
	int r;

	if (in->paths.len != CHANGE_SIDES)
		return cli_fail_usage("expected two profiles, not %zu", in->paths.len);
	if (a->output && !to_stdout && !is_html(a->output))
		return cli_fail_usage("--output \"%.60s\": expected a name that ends in .html",
				      a->output);
	if (to_stdout && a->json)
		return cli_fail_usage("--output - and --json cannot be used together");
	r = compare(in, a, &err);
	return r < 0 ? cli_fail("%s", err.msg) : r;
}

static int run_command(int argc, char **argv)
{
	struct diff_args a = { .fail_above = -1 };
	struct sources in = { 0 };
	const struct option_set sets[] = { { options, &a }, { sources_options, &in }, { 0 } };
	int r = cli_parse(&diff_command, sets, 0, argc, argv, &in.paths);

	if (r == CLI_CONTINUE)
		r = diff(&in, &a);
	cli_fini(sets, &in.paths);
	return r;
}

const struct command diff_command = {
	.name = "diff",
	.summary = "compare two profiles and separate changes from noise",
	.synopsis = "[OPTION...] BEFORE AFTER",
	.description =
		"Compare two profiles of any format. For each function, print the change of its "
		"self time and of its total time in percent of the total of BEFORE, and whether "
		"chance alone explains the change (noise: less than three standard deviations).",
	.options = COMMAND_OPTIONS(options, sources_options),
	.examples = COMMAND_EXAMPLES(
		{ "Show the 20 largest changes", "cameo diff before.pb.gz after.pb.gz --limit 20" },
		{ "Write a page that compares recordings of different length",
		  "cameo diff before.pb.gz after.pb.gz --normalize -o diff.html" },
		{ "Fail a test if a function became much slower",
		  "cameo diff main.pb.gz branch.pb.gz --fail-above 5% || exit 1" }),
	.run = run_command,
};
