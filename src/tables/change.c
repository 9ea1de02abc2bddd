/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins the tables of both profiles by the texts of their rows. A value is converted to a number of
 * samples; the difference of two Poisson counts a and b has the standard deviation sqrt(a + b).
 * Shares are compared by the pooled standard deviation of two proportions.
 *
 * Rows are joined by name, binary and kind, never by ids, which belong to one profile. Source files
 * do not take part, so a function that moved to another file is the same row.
 */
#include "tables/change.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/profile.h"

struct changes {
	struct top *tops[CHANGE_SIDES];
	struct {
		VEC(struct change_row);
	} rows;
	struct change sum;
	double per_sample[CHANGE_SIDES]; /* 0 if unknown */
};

void changes_free(struct changes *c)
{
	if (!c)
		return;
	top_free(c->tops[CHANGE_BEFORE]);
	top_free(c->tops[CHANGE_AFTER]);
	vec_fini(&c->rows);
	free(c);
}

/*
 * Returns the amount by which one sample increases a value of this type; 0 if unknown. The period's
 * unit has to be the unit of the values: otherwise a sample does not stand for one period.
 */
static double value_per_sample(const struct profile *p, size_t value_num)
{
	const struct profile_meta *m = profile_meta_const(p);
	uint32_t unit = profile_sample_type(p, value_num).unit;

	if (!strcmp(profile_string(p, unit), "count"))
		return 1;
	return m->period > 0 && m->period_type.unit == unit ? (double)m->period : 0;
}

static double z_of_counts(double a, double b)
{
	return a + b > 0 ? (b - a) / sqrt(a + b) : 0;
}

/*
 * The z-score of the proportions @a of @of_a and @b of @of_b. The pooled share is the best estimate
 * of both shares if they are equal, which is the hypothesis that z tests.
 */
static double z_of_shares(double a, double of_a, double b, double of_b)
{
	double share, deviation;

	if (of_a <= 0 || of_b <= 0)
		return 0;
	share = (a + b) / (of_a + of_b);
	deviation = sqrt(share * (1 - share) * (1 / of_a + 1 / of_b));
	return deviation > 0 ? (b / of_b - a / of_a) / deviation : 0;
}

/*
 * Negative values occur in profiles that are differences themselves; their magnitudes then stand
 * for counts.
 */
static void set_z(const struct changes *c, bool normalize, struct change *x)
{
	double n[CHANGE_SIDES], of[CHANGE_SIDES];

	if (!changes_counted(c))
		return;
	for (int i = 0; i < CHANGE_SIDES; i++) {
		n[i] = fabs((double)x->value[i]) / c->per_sample[i];
		of[i] = fabs((double)c->sum.value[i]) / c->per_sample[i];
	}
	x->z = normalize ? z_of_shares(n[0], of[0], n[1], of[1]) : z_of_counts(n[0], n[1]);
}

/*
 * Scales the value after so that both sides have the same sum. A value that would overflow stays
 * unscaled.
 */
static void scale(const struct changes *c, struct change *x)
{
	double before = (double)c->sum.value[CHANGE_BEFORE];
	double after = (double)c->sum.value[CHANGE_AFTER];
	double v;

	if (after == 0)
		return;
	v = (double)x->value[CHANGE_AFTER] * (before / after);
	if (fabs(v) < 9.2e18)
		x->value[CHANGE_AFTER] = (int64_t)round(v);
}

static int row_key(const struct entry *e, struct buf *key)
{
	key->len = 0;
	buf_put_str(key, e->name);
	buf_put_byte(key, '\0');
	buf_put_str(key, e->binary);
	buf_put_byte(key, e->kind);
	return buf_error(key);
}

static int join_row(struct changes *c, int side, const struct top_row *row, struct strtab *keys,
		    struct buf *key)
{
	struct entry e = top_entry(c->tops[side], row);
	uint32_t id;
	int r = row_key(&e, key);

	if (r == 0)
		r = strtab_add(keys, (const char *)key->data, key->len, &id);
	/* id 0 is the empty string, which is never a key */
	if (r == 0 && id > c->rows.len)
		r = vec_push(&c->rows, (struct change_row){ .entry = e });
	if (r < 0)
		return r;
	c->rows.data[id - 1].self.value[side] = row->self;
	c->rows.data[id - 1].total.value[side] = row->total;
	return 0;
}

static int join(struct changes *c)
{
	_cleanup_(buf_fini) struct buf key = { 0 };
	struct strtab *keys;
	int r = strtab_new(&keys);

	if (r < 0)
		return r;
	for (int side = 0; side < CHANGE_SIDES; side++) {
		c->sum.value[side] = top_counted(c->tops[side]);
		for (size_t i = 0; r == 0 && i < top_n_rows(c->tops[side]); i++)
			r = join_row(c, side, top_row(c->tops[side], i), keys, &key);
	}
	strtab_free(keys);
	return r;
}

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

/* Magnitudes are unsigned, since that of INT64_MIN has no signed value. */
static int cmp_rows(const void *a, const void *b)
{
	const struct change_row *x = a, *y = b;
	uint64_t sx = magnitude(change_delta(&x->self)), sy = magnitude(change_delta(&y->self));
	uint64_t tx = magnitude(change_delta(&x->total)), ty = magnitude(change_delta(&y->total));

	if (sx != sy)
		return sx < sy ? 1 : -1;
	if (tx != ty)
		return tx < ty ? 1 : -1;
	return strcmp(x->entry.name, y->entry.name);
}

/* Computes z-scores, scales the side after, drops rows without a difference and sorts the rest. */
static void finish(struct changes *c, bool normalize)
{
	size_t n = 0;

	for (size_t i = 0; i < c->rows.len; i++) {
		struct change_row *row = &c->rows.data[i];

		set_z(c, normalize, &row->self);
		set_z(c, normalize, &row->total);
		if (normalize) {
			scale(c, &row->self);
			scale(c, &row->total);
		}
		if (change_delta(&row->self) || change_delta(&row->total))
			c->rows.data[n++] = *row;
	}
	c->rows.len = n;
	set_z(c, false, &c->sum);
	if (n)
		qsort(c->rows.data, n, sizeof(*c->rows.data), cmp_rows);
}

int changes_build(struct changes **out, const struct profile *before, const struct profile *after,
		  const struct changes_options *opt)
{
	const struct profile *p[CHANGE_SIDES] = { before, after };
	_cleanup_(changes_freep) struct changes *c = calloc(1, sizeof(*c));
	int r = c ? 0 : -ENOMEM;

	for (int i = 0; r == 0 && i < CHANGE_SIDES; i++) {
		const struct top_options top = { .value_num = opt->value_num[i],
						 .filter = opt->filter };

		r = top_build(&c->tops[i], p[i], &top);
		if (r == 0)
			c->per_sample[i] = value_per_sample(p[i], opt->value_num[i]);
	}
	if (r == 0)
		r = join(c);
	if (r < 0)
		return r;
	finish(c, opt->normalize);
	*out = steal_ptr(&c);
	return 0;
}

size_t changes_n_rows(const struct changes *c)
{
	return c->rows.len;
}

const struct change_row *changes_row(const struct changes *c, size_t i)
{
	return &c->rows.data[i];
}

const struct change *changes_sum(const struct changes *c)
{
	return &c->sum;
}

bool changes_counted(const struct changes *c)
{
	return c->per_sample[CHANGE_BEFORE] > 0 && c->per_sample[CHANGE_AFTER] > 0;
}
