/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo annotate FUNCTION [FILE...]`: the source of a function with the values of each line, and
 * its machine code with those of each instruction.
 *
 * Values come from the profile alone. Sources and executables of this machine only add text: a
 * source that is missing or another version is reported in the output, and lines are shown without
 * text. An executable is used only if its build id is the recorded one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cli/annotate_view.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/source_text.h"
#include "cli/sources.h"
#include "cli/text.h"
#include "opener/opener.h"
#include "profile/profile.h"
#include "tables/function_find.h"

enum { ADDRESSES_MAX = 4096 }; /* that are looked up in debug information, for MD5s */

static const char DEFAULT_FILE[] = "cameo.pb.gz"; /* the default output of `cameo record` */

struct annotate_args {
	bool assembly;
	uint64_t context;
	char *binary;
	struct option_texts source_maps;
};

#define OPTION_VALUES struct annotate_args

static const struct option_spec options[] = {
	OPTION_SECTION("Annotation"),
	OPTION(FLAG, 0, "asm", NULL, assembly,
	       "Print the machine code as well, with the values of each instruction",
	       .details =
		       "The executable must be on this machine, with the build id that was "
		       "recorded. A sample is taken somewhat after the instruction that used the "
		       "time (skid), so the time of a slow instruction is often at one of those "
		       "that follow it."),
	OPTION(TEXT, 0, "binary", "FILE", binary,
	       "Read machine code from FILE instead of the recorded path"),
	OPTION(NUMBER, 0, "context", "N", context,
	       "Show N lines before and after each line with a value", .preset = "3",
	       .max = 100000),
	OPTION(TEXTS, 0, "source-map", "FROM=TO", source_maps,
	       "Search sources of the directory FROM in the directory TO",
	       .details = "FROM is as the compiler recorded it, TO is on this machine. The longest "
			  "FROM is used. Links do not lead out of TO."),
	{ 0 },
};

/* ---- what the views share ---------------------------------------------------------------- */

void annotate_put_columns(struct annotate_view *v, const char *rest)
{
	buf_printf(&v->out, "        self   self%%        total  total%%%s\n", rest);
}

void annotate_put_numbers(struct annotate_view *v, int64_t self, int64_t total)
{
	char a[TEXT_VALUE_LEN], b[TEXT_VALUE_LEN];
	int64_t sum = function_lines_sum(v->lines);

	if (!self && !total) {
		buf_printf(&v->out, "%12s %7s %12s %7s", ".", "", ".", "");
		return;
	}
	buf_printf(&v->out, "%12s %6.2f%% %12s %6.2f%%", text_value(self, v->unit, a),
		   text_percent(self, sum), text_value(total, v->unit, b),
		   text_percent(total, sum));
}

bool annotate_is_function(const struct annotate_view *v, const char *name)
{
	uint32_t id;

	return profile_find_string(v->p, name, strlen(name), &id) == 0 &&
	       v->strings[id].is_function;
}

static int describe_strings(struct annotate_view *v)
{
	v->strings = calloc(profile_n_strings(v->p), sizeof(*v->strings));
	if (!v->strings)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile_n_functions(v->p); i++) {
		const struct profile_function *f = profile_function(v->p, i);
		uint32_t *first = &v->strings[f->file].first_line;

		if (!v->matched[i])
			continue;
		v->strings[f->name].is_function = true;
		v->strings[f->system_name].is_function = true;
		if (f->start_line && (!*first || f->start_line < *first))
			*first = f->start_line;
	}
	return 0;
}

/* ---- executables ------------------------------------------------------------------------- */

static int add_binaries(struct annotate_view *v, const struct annotate_args *a,
			struct symbolizer *s)
{
	for (size_t i = 0; i < function_lines_n_addresses(v->lines); i++) {
		struct annotate_binary b = {
			.mapping = function_lines_address(v->lines, i)->mapping,
			.first = i,
		};
		struct err why = { 0 };

		if (v->binaries.len && v->binaries.data[v->binaries.len - 1].mapping == b.mapping)
			continue;
		if (recorded_file_open(&b.file, v->p, b.mapping, a->binary, s, &why) < 0)
			memcpy(b.why, why.msg, sizeof(b.why));
		if (vec_push(&v->binaries, b) < 0) {
			recorded_file_free(b.file);
			return -ENOMEM;
		}
	}
	return 0;
}

static void view_fini(struct annotate_view *v)
{
	for (size_t i = 0; i < v->binaries.len; i++)
		recorded_file_free(v->binaries.data[i].file);
	vec_fini(&v->binaries);
	free(v->strings);
	buf_fini(&v->out);
}

/* Stores the MD5s of the files that the functions are in. */
static int on_frames(void *ctx, size_t cookie, const struct symbol_frame *frames, size_t n)
{
	struct annotate_view *v = ctx;

	(void)cookie;
	for (size_t k = 0; k < n; k++) {
		const char *file = frames[k].file;
		uint32_t id;

		if (!frames[k].md5 || profile_find_string(v->p, file, strlen(file), &id) < 0 ||
		    v->strings[id].has_md5)
			continue;
		memcpy(v->strings[id].md5, frames[k].md5, sizeof(v->strings[id].md5));
		v->strings[id].has_md5 = true;
	}
	return 0;
}

/* Looks up the functions' addresses in one executable. Lookups that fail leave sources unchecked.
 */
static int find_md5s(struct annotate_view *v, struct annotate_binary *b)
{
	struct {
		VEC(uint64_t);
	} vaddrs = { 0 };
	int r = 0;

	for (size_t i = b->first; r == 0 && b->file && i < function_lines_n_addresses(v->lines);
	     i++) {
		const struct function_address *at = function_lines_address(v->lines, i);
		uint64_t vaddr;

		if (at->mapping != b->mapping || vaddrs.len == ADDRESSES_MAX)
			break;
		if (recorded_file_vaddr(b->file, at->address, &vaddr) == 0)
			r = vec_push(&vaddrs, vaddr);
	}
	if (r == 0 && vaddrs.len)
		r = recorded_file_resolve(b->file, vaddrs.data, vaddrs.len, on_frames, v);
	vec_fini(&vaddrs);
	return r == -ENOMEM ? r : 0;
}

/* ---- the command ------------------------------------------------------------------------- */

static void put_head(struct annotate_view *v, const char *name, const char *type)
{
	int64_t sum = function_lines_sum(v->lines), self = function_lines_self(v->lines);
	int64_t total = function_lines_total(v->lines);
	char a[TEXT_VALUE_LEN], b[TEXT_VALUE_LEN], c[TEXT_VALUE_LEN];

	text_put_safe(&v->out, name);
	buf_put_str(&v->out, ": ");
	text_put_safe(&v->out, type);
	buf_printf(&v->out, " self %s (%.2f%%), total %s (%.2f%%) of %s\n",
		   text_value(self, v->unit, a), text_percent(self, sum),
		   text_value(total, v->unit, b), text_percent(total, sum),
		   text_value(sum, v->unit, c));
}

static int no_function(const struct profile *p, const char *name, struct err *err)
{
	const char *similar[FUNCTION_SUGGESTIONS] = { "" };
	size_t n = function_suggest(p, name, similar);

	if (!n)
		return err_set(err, -ENOENT, "the profile has no function \"%.100s\"", name);
	return err_set(err, -ENOENT, "the profile has no function \"%.60s\"; similar: %.40s%s%.40s",
		       name, similar[0], n > 1 ? ", " : "", n > 1 ? similar[1] : "");
}

static int make_views(struct annotate_view *v, const struct annotate_args *a, struct err *err)
{
	const struct symbolizer_opts opts = { 0 };
	_cleanup_(symbolizer_freep) struct symbolizer *s = NULL;
	int r = describe_strings(v);

	if (r == 0)
		r = symbolizer_new(&s, &opts);
	if (r == 0)
		r = add_binaries(v, a, s);
	for (size_t i = 0; r == 0 && i < v->binaries.len; i++)
		r = find_md5s(v, &v->binaries.data[i]);
	if (r == 0)
		r = annotate_put_source(v);
	if (r == 0 && a->assembly)
		r = annotate_put_code(v, err);
	if (r == 0)
		r = text_print(&v->out, err);
	view_fini(v); /* before the symbolizer */
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}

static int annotate_profile(const struct profile *p, size_t value_num, const char *name,
			    const struct annotate_args *a, struct err *err)
{
	struct profile_value_type type = profile_sample_type(p, value_num);
	_cleanup_(function_lines_freep) struct function_lines *lines = NULL;
	_cleanup_(freep) uint8_t *matched = NULL;
	struct function_lines_options opt = { .value_num = value_num };
	struct annotate_view v = { .p = p,
				   .unit = profile_string(p, type.unit),
				   .source_maps = &a->source_maps,
				   .context = a->context,
				   .out.max = TEXT_OUTPUT_MAX };
	int r = function_find(p, name, &matched);

	if (r == -ENOENT)
		return no_function(p, name, err);
	opt.matched = v.matched = matched;
	if (r == 0)
		r = function_lines_build(&lines, p, &opt);
	if (r < 0)
		return err_set(err, r, "out of memory");
	v.lines = lines;
	put_head(&v, name, profile_string(p, type.type));
	return make_views(&v, a, err);
}

static int annotate(struct sources *in, const struct annotate_args *a)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct err err = { 0 };
	size_t value_num = 0;
	int r;

	if (!in->paths.len)
		return cli_fail_usage("expected the name of a function");
	if (source_map_check(&a->source_maps, &err) < 0)
		return cli_fail_usage("%s", err.msg);
	r = in->paths.len > 1 ? 0 : vec_push(&in->paths, (char *)DEFAULT_FILE);
	if (r == 0)
		r = sources_read(in, 1, in->paths.len - 1, NULL, &p, &value_num, &err);
	if (r == 0)
		r = opener_start(&err);
	if (r == 0)
		r = annotate_profile(p, value_num, in->paths.data[0], a, &err);
	return r < 0 ? cli_fail("%s", err.msg[0] ? err.msg : strerror(-r)) : 0;
}

static int run_command(int argc, char **argv)
{
	struct annotate_args a = { 0 };
	struct sources in = { 0 };
	const struct option_set sets[] = { { options, &a }, { sources_options, &in }, { 0 } };
	int r = cli_parse(&annotate_command, sets, 0, argc, argv, &in.paths);

	if (r == CLI_CONTINUE)
		r = annotate(&in, &a);
	cli_fini(sets, &in.paths);
	return r;
}

const struct command annotate_command = {
	.name = "annotate",
	.summary = "print the source of a function with the time of each line",
	.synopsis = "[OPTION...] FUNCTION [FILE|URL...]",
	.description =
		"Print the source of a function with the time of each of its lines: in the line "
		"itself (self), and in the line and everything that it calls (total). Calls that "
		"the "
		"compiler inlined are listed below their line. FUNCTION is a whole name or, if "
		"there "
		"is no function of this name, a part of it. Several profiles are merged; without "
		"any, cameo.pb.gz is read.\n\nSources are searched on this machine where the "
		"compiler found them. A source that is missing, or another version than was "
		"compiled, is reported; the lines are shown all the same.",
	.options = COMMAND_OPTIONS(options, sources_options),
	.examples = COMMAND_EXAMPLES(
		{ "Show which lines of parse() are slow", "cameo annotate parse" },
		{ "Also show its instructions", "cameo annotate --asm parse cameo.pb.gz" },
		{ "Use sources of another directory",
		  "cameo annotate --source-map /build/app=$HOME/app parse cameo.pb.gz" }),
	.run = run_command,
};
