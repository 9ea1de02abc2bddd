/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo pgo go|llvm [FILE...]`: writes the profile that a compiler optimizes by. A compiler builds
 * one program, so the samples of one executable are used.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/outfile.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/pgo_llvm.h"
#include "cli/sources.h"
#include "cli/text.h"
#include "codec/pprof/pprof.h"
#include "opener/opener.h"
#include "pgo/binary.h"
#include "pgo/go_profile.h"
#include "profile/profile.h"
#include "tables/top.h"

static const char DEFAULT_FILE[] = "cameo.pb.gz"; /* the default output of `cameo record` */

struct pgo_args {
	char *output, *binary;
};

#define OPTION_VALUES struct pgo_args

static const struct option_spec options[] = {
	OPTION_SECTION("Profile"),
	OPTION(TEXT, 'o', "output", "FILE", output,
	       "Write the profile to FILE, or to standard output (-)",
	       .preset = "default.pgo for go, llvm.prof for llvm", .flags = OPTION_LAZY_PRESET),
	OPTION(TEXT, 0, "binary", "FILE", binary,
	       "Use the samples of this executable (default: the one with the most)",
	       .details =
		       "FILE is a path or the last component of one. \"llvm\" reads the "
		       "executable's debug information: from FILE if it is a path, otherwise where "
		       "it was recorded. Its build id must be the recorded one."),
	{ 0 },
};

/* The input and output of one of the formats. */
struct pgo_job {
	const struct pgo_args *a;
	const struct profile *p;
	size_t value_num;
	struct pgo_binary binary;
	const char *output;
	struct buf out;
	char result[120]; /* what was written, for the message */
};

/* Code of files, not of the kernel or generated code. */
static int is_in_file(const struct profile *p, uint32_t location)
{
	uint32_t mapping = profile_location(p, location).mapping;

	return profile_string(p, profile_mapping(p, mapping)->file)[0] == '/';
}

static int choose(struct pgo_job *j, int (*accepts)(const struct profile *, uint32_t),
		  const char *what, struct err *err)
{
	const struct pgo_choice choice = {
		.value_num = j->value_num,
		.name = j->a->binary ? text_base_name(j->a->binary) : NULL,
		.accepts = accepts,
	};
	int r = pgo_binary_choose(j->p, &choice, &j->binary);

	if (r == -ENOENT && choice.name)
		return err_set(err, r, "the recording has no samples of %s in \"%.100s\"", what,
			       choice.name);
	if (r == -ENOENT)
		return err_set(err, r, "the recording has no samples of %s", what);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

/* ---- go ---------------------------------------------------------------------------------- */

static int make_go(struct pgo_job *j, struct err *err)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct profile_value_type type = profile_sample_type(j->p, j->value_num);
	int r = choose(j, go_profile_accepts, "Go code with lines", err);

	if (r < 0)
		return r;
	r = go_profile_make(&p, j->p, j->value_num, j->binary.file);
	if (r == -EINVAL)
		return err_set(err, r,
			       "\"%.60s\" is not CPU time: Go needs cpu/nanoseconds or a count",
			       profile_string(j->p, type.type));
	if (r == -ENODATA)
		return err_set(err, r,
			       "the recording does not have the lines where functions begin: "
			       "build the program with Go 1.20 or later");
	if (r < 0)
		return err_set(err, r, "out of memory");
	snprintf(j->result, sizeof(j->result), "%u stacks", profile_n_samples(p));
	return pprof_write_gz(p, &j->out, err);
}

/* ---- llvm -------------------------------------------------------------------------------- */

/* Counts of samples are used if there are any: LLVM's weights have 32 bits. */
static void use_counts(struct pgo_job *j, const struct sources *in)
{
	size_t n;

	if (!in->sample_type && top_value_num(j->p, "samples", &n) == 0)
		j->value_num = n;
}

static int make_llvm(struct pgo_job *j, struct err *err)
{
	const struct profile_meta *meta = profile_meta_const(j->p);
	struct profile_value_type type = profile_sample_type(j->p, j->value_num);
	bool is_count = !strcmp(profile_string(j->p, type.unit), "count");
	struct pgo_llvm m = {
		.p = j->p,
		.value_num = j->value_num,
		.path = j->a->binary && strchr(j->a->binary, '/') ? j->a->binary : NULL,
		.period = is_count || meta->period <= 0 ? 1 : (uint64_t)meta->period,
	};
	int r = choose(j, is_in_file, "a program", err);

	if (r == 0)
		r = opener_start(err);
	if (r < 0)
		return r;
	m.file = j->binary.file;
	r = pgo_llvm_make(&m, &j->out, err);
	snprintf(j->result, sizeof(j->result),
		 "%zu functions, %" PRIu64 " of %" PRIu64 " samples have lines", m.n_functions,
		 m.n_used, m.n_samples);
	return r;
}

/* ---- the command ------------------------------------------------------------------------- */

static int write_file(struct pgo_job *j, struct err *err)
{
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	int r = text_check(&j->out, err);

	if (r == 0)
		r = outfile_open(&f, j->output, err);
	return r < 0 ? r : outfile_commit(f, j->out.data, j->out.len, err);
}

static void print_result(const struct pgo_job *j)
{
	_cleanup_(buf_fini) struct buf line = { 0 };

	buf_printf(&line, "cameo: wrote %s: %s; %s has %.1f %% of the samples", j->output,
		   j->result, profile_string(j->p, j->binary.file),
		   text_percent(j->binary.value, j->binary.all));
	buf_put_byte(&line, '\0');
	if (!buf_error(&line))
		text_print_message((const char *)line.data);
}

static int pgo(struct sources *in, const struct pgo_args *a)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct pgo_job j = { .a = a, .out.max = TEXT_OUTPUT_MAX };
	struct err err = { 0 };
	const char *kind = in->paths.len ? in->paths.data[0] : "";
	bool is_go = !strcmp(kind, "go");
	int r;

	if (!is_go && strcmp(kind, "llvm") != 0)
		return cli_fail_usage("expected the compiler: go or llvm");
	r = in->paths.len > 1 ? 0 : vec_push(&in->paths, (char *)DEFAULT_FILE);
	if (r == 0)
		r = sources_read(in, 1, in->paths.len - 1, NULL, &p, &j.value_num, &err);
	j.p = p;
	j.output = a->output ? a->output : is_go ? "default.pgo" : "llvm.prof";
	if (r == 0 && !is_go)
		use_counts(&j, in);
	if (r == 0)
		r = is_go ? make_go(&j, &err) : make_llvm(&j, &err);
	if (r == 0)
		r = write_file(&j, &err);
	if (r == 0)
		print_result(&j);
	buf_fini(&j.out);
	return r < 0 ? cli_fail("%s", err.msg[0] ? err.msg : strerror(-r)) : 0;
}

static int run_command(int argc, char **argv)
{
	struct pgo_args a = { 0 };
	struct sources in = { 0 };
	const struct option_set sets[] = { { options, &a }, { sources_options, &in }, { 0 } };
	int r = cli_parse(&pgo_command, sets, 0, argc, argv, &in.paths);

	if (r == CLI_CONTINUE)
		r = pgo(&in, &a);
	cli_fini(sets, &in.paths);
	return r;
}

const struct command pgo_command = {
	.name = "pgo",
	.summary = "write a profile for the optimizer of Go or clang",
	.synopsis = "[OPTION...] go|llvm [FILE|URL...]",
	.description =
		"Write the profile of one program for profile-guided optimization. Several "
		"recordings are merged; without any, cameo.pb.gz is read.\n\n\"go\" writes the CPU "
		"profile that \"go build -pgo\" reads, and by itself if it is called default.pgo "
		"and is in the directory of the main package. The program must have been built by "
		"Go 1.20 or later; it need not have been built in a special way.\n\n\"llvm\" "
		"writes "
		"a sample profile in LLVM's text format, which \"clang -fprofile-sample-use\" "
		"reads. "
		"The recorded program must have been built by clang with -g and "
		"-fdebug-info-for-profiling, and be on this machine.",
	.options = COMMAND_OPTIONS(options, sources_options),
	.examples = COMMAND_EXAMPLES(
		{ "Write the profile for the next \"go build\"", "cameo pgo go cameo.pb.gz" },
		{ "Write a profile for clang", "cameo pgo llvm -o app.prof cameo.pb.gz" }),
	.run = run_command,
};
