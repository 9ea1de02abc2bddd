/* SPDX-License-Identifier: Apache-2.0 */
/* "noise" means that chance explains the difference; see tables/change.h. */
#include "cli/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/sources.h"
#include "cli/text.h"
#include "codec/format.h"
#include "codec/page/html.h"
#include "codec/page/page_json.h"
#include "profile/profile.h"

void comparison_fini(struct comparison *v)
{
	changes_free(v->changes);
	v->changes = NULL;
	for (int i = 0; i < CHANGE_SIDES; i++) {
		profile_free(v->p[i]);
		v->p[i] = NULL;
	}
}

int comparison_read(struct comparison *v, const struct sources *in, size_t side, struct err *err)
{
	const struct profile *before = v->p[CHANGE_BEFORE];
	struct sources s = *in;

	if (before && !s.sample_type)
		s.sample_type = (char *)profile_string(
			before, profile_sample_type(before, v->value_num[CHANGE_BEFORE]).type);
	return sources_read(&s, side, 1, NULL, &v->p[side], &v->value_num[side], err);
}

int comparison_build(struct comparison *v, struct err *err)
{
	const struct profile *before = v->p[CHANGE_BEFORE];
	struct changes_options opt = { .normalize = v->normalize };
	struct profile_value_type type;
	int r;

	for (int i = 0; i < CHANGE_SIDES; i++)
		opt.value_num[i] = v->value_num[i];
	r = changes_build(&v->changes, before, v->p[CHANGE_AFTER], &opt);
	if (r < 0)
		return err_set(err, r, "out of memory");
	type = profile_sample_type(before, v->value_num[CHANGE_BEFORE]);
	v->type = profile_string(before, type.type);
	v->unit = profile_string(before, type.unit);
	v->base = changes_sum(v->changes)->value[CHANGE_BEFORE];
	return 0;
}

double comparison_percent(const struct comparison *v, const struct change *c)
{
	return text_percent(change_delta(c), v->base);
}

/* The direction is that of z, which has the sign of the compared values. */
const char *comparison_verdict(const struct comparison *v, const struct change *c)
{
	if (!changes_counted(v->changes))
		return "?";
	if (change_is_noise(c))
		return "noise";
	return c->z > 0 ? "more" : "less";
}

/* Returns true if a value grew by more than fail_above, and chance does not explain that. */
static bool grew(const struct comparison *v, const struct change *c)
{
	return comparison_percent(v, c) > v->fail_above &&
	       (!changes_counted(v->changes) || !change_is_noise(c));
}

/* The row whose self value grew most among those that grew by more than fail_above; NULL: none. */
static const struct change_row *find_worst(const struct comparison *v)
{
	const struct change_row *worst = NULL;

	for (size_t i = 0; i < changes_n_rows(v->changes); i++) {
		const struct change_row *row = changes_row(v->changes, i);

		if ((grew(v, &row->total) || grew(v, &row->self)) &&
		    (!worst ||
		     comparison_percent(v, &row->self) > comparison_percent(v, &worst->self)))
			worst = row;
	}
	return worst;
}

bool comparison_grew(const struct comparison *v, char out[COMPARISON_GROWTH_LEN])
{
	const struct change *sum = changes_sum(v->changes);
	const struct change_row *worst = v->fail_above < 0 ? NULL : find_worst(v);

	if (worst)
		snprintf(out, COMPARISON_GROWTH_LEN,
			 "\"%.120s\" grew by %.2f%% of the total, more than %g%%",
			 worst->entry.name,
			 fmax(comparison_percent(v, &worst->total),
			      comparison_percent(v, &worst->self)),
			 v->fail_above);
	else if (v->fail_above >= 0 && !v->normalize && grew(v, sum))
		snprintf(out, COMPARISON_GROWTH_LEN, "the total grew by %.2f%%, more than %g%%",
			 comparison_percent(v, sum), v->fail_above);
	else
		return false;
	return true;
}

int comparison_put_page(const struct comparison *v, const struct sources *in, struct buf *out,
			struct err *err)
{
	static const char *const heads[] = { "{\"before\":", ",\"after\":" };
	_cleanup_(buf_fini) struct buf json = { 0 }, title = { 0 };
	int r = 0;

	for (int i = 0; r == 0 && i < CHANGE_SIDES; i++) {
		struct format_options opt = { .title = text_base_name(in->paths.data[i]),
					      .value_num = v->value_num[i],
					      .root_label = "comm" };

		buf_put_str(&json, heads[i]);
		r = page_json_write(v->p[i], &opt, &json, err);
	}
	buf_put_byte(&json, '}');
	buf_printf(&title, "%s - %s", text_base_name(in->paths.data[CHANGE_BEFORE]),
		   text_base_name(in->paths.data[CHANGE_AFTER]));
	buf_put_byte(&title, '\0');
	if (r == 0 && (buf_error(&json) || buf_error(&title)))
		r = err_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		r = html_page_write(json.data, json.len, (const char *)title.data, out, err);
	return r;
}

/* Names are printed last, because their length varies. */
static void put_row(const struct comparison *v, const struct change_row *row, struct buf *out)
{
	char before[TEXT_VALUE_LEN], after[TEXT_VALUE_LEN];

	buf_printf(out, "%11s %11s %+8.2f%% %-5s %+8.2f%% %-5s  ",
		   text_value(row->self.value[CHANGE_BEFORE], v->unit, before),
		   text_value(row->self.value[CHANGE_AFTER], v->unit, after),
		   comparison_percent(v, &row->self), comparison_verdict(v, &row->self),
		   comparison_percent(v, &row->total), comparison_verdict(v, &row->total));
	text_put_function(out, row->entry.name, row->entry.binary);
	buf_put_byte(out, '\n');
}

void comparison_put_table(const struct comparison *v, uint64_t limit, struct buf *out)
{
	const struct change *sum = changes_sum(v->changes);
	char before[TEXT_VALUE_LEN], after[TEXT_VALUE_LEN];

	text_put_safe(out, v->type);
	buf_printf(out, ": %s before, %s after (%+.2f%%, %s)%s\n",
		   text_value(sum->value[CHANGE_BEFORE], v->unit, before),
		   text_value(sum->value[CHANGE_AFTER], v->unit, after), comparison_percent(v, sum),
		   comparison_verdict(v, sum),
		   v->normalize ? "; compared as shares of the total" : "");
	if (!changes_counted(v->changes))
		buf_put_str(out, "The profiles have no sample counts, so changes cannot be "
				 "distinguished from noise.\n");
	buf_put_str(out, "self before  self after      self          total\n");
	for (size_t i = 0; i < changes_n_rows(v->changes) && (!limit || i < limit); i++)
		put_row(v, changes_row(v->changes, i), out);
}
