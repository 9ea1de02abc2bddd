/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/day_load.h"

#include "store/sqlite/day_dict.h"
#include "store/sqlite/day_spans.h"

int day_state_init(struct day_state *d, const char *path, enum db_mode mode)
{
	*d = (struct day_state){ 0 };
	stable_init(&d->spans, sizeof(struct span));
	reader_pool_init(&d->readers, path, mode);
	return stack_dict_new(&d->dict);
}

void day_state_fini(struct day_state *d)
{
	reader_pool_fini(&d->readers);
	stack_dict_free(d->dict);
	stable_fini(&d->spans);
}

void day_loaded_fini(struct day_loaded *l)
{
	arrivals_fini(&l->arrivals);
}

int day_load(struct day_state *d, struct sqlite3 *db, struct day_loaded *out, struct err *err)
{
	int format = 0, r = db_format(db, &format, err);

	out->checked = format >= DB_FORMAT_CHECKED;
	out->has_packs = format >= DB_FORMAT_PACKS;
	if (r == 0)
		r = db_identity(db, &out->identity, err);
	if (r == 0)
		r = db_count_windows(db, &out->n_windows, err);
	if (r == 0)
		r = arrivals_read(&out->arrivals, db, err);
	if (r == 0)
		r = day_dict_load(d->dict, db, out->checked, &out->arrivals, out->settled, err);
	return r < 0 ? r : day_spans_load(d, db, &out->arrivals, err);
}
