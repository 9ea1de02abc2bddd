/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo diff BEFORE AFTER`: prints the functions that changed, as a table or JSON, or writes a
 * page; for use in tests, a regression determines the exit status.
 *
 * With --output the page replaces the table; JSON is printed in any case.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/outfile.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/comparison.h"
#include "cli/sources.h"
#include "cli/text.h"

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
	COMPARISON_FAIL_ABOVE,

	OPTION_SECTION("Output"),
	OPTION(TEXT, 'o', "output", "FILE.html", output,
	       "Write an HTML page that shows the difference as a flame graph"),
	OPTION(NUMBER, 'l', "limit", "N", limit, "Print at most N rows"),
	OPTION(FLAG, 0, "json", NULL, json, "Print JSON instead of text"),
	{ 0 },
};

/* The state of a comparison while it is printed. */
struct printing {
	const struct diff_args *a;
	const struct comparison *v;
	struct buf out;
};

/* Without sample counts there is no probability, so "z" and "noise" are omitted. */
static void json_change(struct json *j, const struct printing *o, const char *key,
			const struct change *c)
{
	json_member_object(j, key);
	json_member_int(j, "before", c->value[CHANGE_BEFORE]);
	json_member_int(j, "after", c->value[CHANGE_AFTER]);
	json_member_double(j, "percent", comparison_percent(o->v, c));
	if (changes_counted(o->v->changes)) {
		json_member_double(j, "z", c->z);
		json_member_bool(j, "noise", change_is_noise(c));
	}
	json_object_end(j);
}

static void put_json(struct printing *o)
{
	struct json j = json_to(&o->out);

	json_object(&j);
	json_member_str(&j, "type", o->v->type);
	json_member_str(&j, "unit", o->v->unit);
	json_member_bool(&j, "normalized", o->a->normalize);
	json_change(&j, o, "total", changes_sum(o->v->changes));
	json_member_array(&j, "rows");
	for (size_t i = 0; i < changes_n_rows(o->v->changes) && (!o->a->limit || i < o->a->limit);
	     i++) {
		const struct change_row *row = changes_row(o->v->changes, i);

		json_object(&j);
		json_member_str(&j, "name", row->entry.name);
		json_member_str(&j, "binary", row->entry.binary);
		json_change(&j, o, "self", &row->self);
		json_change(&j, o, "total", &row->total);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	buf_put_byte(&o->out, '\n');
}

/* The output is opened first: a wrong path should fail before the work. */
static int write_page(const struct sources *in, const char *path, const struct comparison *v,
		      struct err *err)
{
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	_cleanup_(buf_fini) struct buf page = { 0 };
	int r = outfile_open(&f, path, err);

	if (r == 0)
		r = comparison_put_page(v, in, &page, err);
	return r < 0 ? r : outfile_commit(f, page.data, page.len, err);
}

/*
 * Returns an exit status, or -errno. The table is printed even if --fail-above fails, since it
 * shows what grew.
 */
static int print_changes(const struct diff_args *a, struct comparison *v, struct err *err)
{
	struct printing out = { .a = a, .v = v, .out.max = TEXT_OUTPUT_MAX };
	char growth[COMPARISON_GROWTH_LEN];
	int r = comparison_build(v, err);

	if (r < 0)
		return r;
	if (a->json)
		put_json(&out);
	else
		comparison_put_table(v, a->limit, &out.out);
	r = !a->output || a->json ? text_print(&out.out, err) : text_check(&out.out, err);
	buf_fini(&out.out);
	if (r == 0 && comparison_grew(v, growth))
		return cli_fail("%s", growth);
	return r;
}

/* Returns 0, an exit status above 0, or -errno. */
static int compare(const struct sources *in, const struct diff_args *a, struct err *err)
{
	_cleanup_(comparison_fini) struct comparison v = { .normalize = a->normalize,
							   .fail_above = a->fail_above };
	int r = 0;

	for (size_t i = 0; r == 0 && i < CHANGE_SIDES; i++)
		r = comparison_read(&v, in, i, err);
	if (r == 0 && a->output)
		r = write_page(in, a->output, &v, err);
	return r < 0 ? r : print_changes(a, &v, err);
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
