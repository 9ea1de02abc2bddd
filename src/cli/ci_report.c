/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function is listed if its self or its total value changed by more than chance explains.
 * Functions with a change of self come first, above those that changed only through their callees,
 * because rows are sorted by the change of self. Where the number of samples is unknown, every
 * change is listed.
 */
#include "cli/ci_report.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/comparison.h"
#include "cli/markdown.h"
#include "cli/text.h"
#include "profile/profile.h"
#include "tables/top.h"

enum { COMMAND_MAX = 160 };

enum direction { GREW, SHRANK, NOISE };

/* The total decides first: it determines the direction if cost moved from a function to its
 * callees. */
static enum direction direction(const struct comparison *v, const struct change_row *row)
{
	const struct change *changes[] = { &row->total, &row->self };
	bool counted = changes_counted(v->changes);

	for (int i = 0; i < 2; i++) {
		int64_t delta = change_delta(changes[i]);

		if (delta && !(counted && change_is_noise(changes[i])))
			return (counted ? changes[i]->z > 0 : delta > 0) ? GREW : SHRANK;
	}
	return NOISE;
}

/* `+7.10 % (9.1 σ)`, or the verdict where there is no certainty. */
static void put_change(struct buf *out, const struct comparison *v, const struct change *c)
{
	const char *verdict = comparison_verdict(v, c);

	buf_printf(out, " %+.2f %%", comparison_percent(v, c));
	if (!strcmp(verdict, "noise") || !strcmp(verdict, "?"))
		buf_printf(out, " (%s) |", verdict);
	else
		buf_printf(out, " (%.1f σ) |", fabs(c->z));
}

static void put_function(struct buf *out, const struct entry *e)
{
	buf_put_byte(out, ' ');
	markdown_code(out, e->name);
	if (*e->binary) {
		buf_put_str(out, " in ");
		markdown_code(out, text_base_name(e->binary));
	}
	buf_put_str(out, " |\n");
}

static void put_row(struct buf *out, const struct comparison *v, const struct change_row *row)
{
	char before[TEXT_VALUE_LEN], after[TEXT_VALUE_LEN];

	buf_put_byte(out, '|');
	put_change(out, v, &row->self);
	put_change(out, v, &row->total);
	buf_printf(out, " %s | %s |", text_value(row->self.value[CHANGE_BEFORE], v->unit, before),
		   text_value(row->self.value[CHANGE_AFTER], v->unit, after));
	put_function(out, &row->entry);
}

/* Appends the rows of one direction, if there are any. */
static void put_changes(struct buf *out, const struct comparison *v, enum direction which,
			size_t limit)
{
	size_t n = 0;

	for (size_t i = 0; i < changes_n_rows(v->changes); i++) {
		const struct change_row *row = changes_row(v->changes, i);

		if (direction(v, row) != which || n++ >= limit)
			continue;
		if (n == 1)
			buf_printf(out,
				   "\n#### Functions that %s\n\n| self | total | self before | "
				   "self after | function |\n| ---: | ---: | ---: | ---: | --- |\n",
				   which == GREW ? "grew" : "shrank");
		put_row(out, v, row);
	}
	if (n > limit)
		buf_printf(out, "\n%zu more %s.\n", n - limit, which == GREW ? "grew" : "shrank");
}

static size_t count_noise(const struct comparison *v)
{
	size_t n = 0;

	for (size_t i = 0; i < changes_n_rows(v->changes); i++)
		n += direction(v, changes_row(v->changes, i)) == NOISE;
	return n;
}

/* Writes the change of the total and the verdict of --fail-above. */
static void put_verdict(struct buf *out, const struct comparison *v)
{
	const struct change *sum = changes_sum(v->changes);
	char before[TEXT_VALUE_LEN], after[TEXT_VALUE_LEN], growth[COMPARISON_GROWTH_LEN];

	markdown_code(out, v->type);
	buf_printf(out, ": **%+.2f %%** (%s), %s before, %s after%s.\n", comparison_percent(v, sum),
		   comparison_verdict(v, sum),
		   text_value(sum->value[CHANGE_BEFORE], v->unit, before),
		   text_value(sum->value[CHANGE_AFTER], v->unit, after),
		   v->normalize ? "; functions are compared as shares of the total" : "");
	if (comparison_grew(v, growth)) {
		buf_put_str(out, "\n**Above the threshold:** ");
		markdown_code(out, growth);
		buf_put_str(out, "\n");
	} else if (v->fail_above >= 0) {
		buf_printf(out, "\nNo function%s grew by more than %g %% of the total.\n",
			   v->normalize ? "" : ", nor the total,", v->fail_above);
	}
}

static void put_comparison(struct buf *out, const struct comparison *v, size_t limit)
{
	size_t noise;

	put_verdict(out, v);
	put_changes(out, v, GREW, limit);
	put_changes(out, v, SHRANK, limit);
	noise = count_noise(v);
	if (!changes_counted(v->changes))
		buf_put_str(out, "\nThe profiles have no sample counts, so changes cannot be "
				 "distinguished from noise.\n");
	else
		buf_printf(out,
			   "\n%zu further function%s changed by less than %g standard deviations "
			   "(noise). Percentages are shares of the total before; σ is the change "
			   "in standard deviations of the sample counts.\n",
			   noise, noise == 1 ? "" : "s", CHANGE_MIN_Z);
}

/* The functions of the profile after, for a run without a base. */
static int put_top(struct buf *out, const struct comparison *v, size_t limit)
{
	const struct profile *p = v->p[CHANGE_AFTER];
	const struct top_options opt = { .value_num = v->value_num[CHANGE_AFTER] };
	struct profile_value_type type = profile_sample_type(p, opt.value_num);
	const char *unit = profile_string(p, type.unit);
	_cleanup_(top_freep) struct top *t = NULL;
	char text[TEXT_VALUE_LEN];
	int r = top_build(&t, p, &opt);

	if (r < 0)
		return r;
	markdown_code(out, profile_string(p, type.type));
	buf_printf(out, ": %s.\n\n| self | total | function |\n| ---: | ---: | --- |\n",
		   text_value(top_sum(t), unit, text));
	for (size_t i = 0; i < top_n_rows(t) && i < limit; i++) {
		const struct top_row *row = top_row(t, i);
		struct entry e = top_entry(t, row);

		buf_printf(out, "| %.2f %% | %.2f %% |", text_percent(row->self, top_sum(t)),
			   text_percent(row->total, top_sum(t)));
		put_function(out, &e);
	}
	return 0;
}

static void put_command(struct buf *out, const struct ci_report *c)
{
	_cleanup_(buf_fini) struct buf line = { 0 };

	for (size_t i = 0; c->command[i] && line.len < COMMAND_MAX; i++) {
		buf_put_str(&line, i ? " " : "");
		buf_put_str(&line, c->command[i]);
	}
	buf_put_byte(&line, '\0');
	if (buf_error(&line))
		return;
	buf_put_str(out, c->status ? "**The command failed**: " : "Command: ");
	markdown_code(out, (const char *)line.data);
	if (c->status)
		buf_printf(out, " ended with exit status %d, so its profile may be of less work",
			   c->status);
	buf_put_str(out, ".\n\n");
}

static void put_page(struct buf *out, const struct ci_report *c)
{
	if (c->link) {
		buf_printf(out, "\n[Flame graph](<%s>)\n", c->link);
	} else if (c->page) {
		buf_put_str(out, "\nFlame graph: ");
		markdown_code(out, text_base_name(c->page));
		buf_put_str(out, " of this job's files\n");
	}
}

int ci_report_put(const struct ci_report *c, const struct comparison *v, struct buf *out,
		  struct err *err)
{
	int r = 0;

	buf_put_str(out, "### ");
	text_put_safe(out, c->title);
	buf_put_str(out, "\n\n");
	if (c->command)
		put_command(out, c);
	if (c->base) {
		buf_put_str(out, v->p[CHANGE_BEFORE] ? "Base: " : "There is no base profile ");
		markdown_code(out, c->base);
		buf_put_str(out,
			    v->p[CHANGE_BEFORE] ? ".\n\n" : " yet, so nothing is compared.\n\n");
	}
	if (v->p[CHANGE_BEFORE])
		put_comparison(out, v, c->limit);
	else
		r = put_top(out, v, c->limit);
	put_page(out, c);
	return r < 0 ? err_set(err, -ENOMEM, "out of memory") : text_check(out, err);
}
