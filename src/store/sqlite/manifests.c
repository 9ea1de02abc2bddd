/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/manifests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"

enum { MAX_UNUSED = 1024 };

static void manifest_free(struct manifest *m)
{
	manifest_fini(m);
	free(m);
}

int manifests_init(struct manifests *all, const char *dir)
{
	struct stat st;

	all->dir = dir;
	if (stat(dir, &st) < 0)
		return -errno;
	all->dev = st.st_dev;
	all->ino = st.st_ino;
	return 0;
}

int manifests_check_dir(const struct manifests *all, struct err *err)
{
	struct stat st;

	if (stat(all->dir, &st) == 0 && st.st_dev == all->dev && st.st_ino == all->ino)
		return 0;
	return err_set(err, -EUCLEAN,
		       "\"%.120s\" was removed or replaced while it was in use: put it back",
		       all->dir);
}

int manifests_save(const struct manifests *all, struct manifest *m, struct err *err)
{
	int r = manifests_check_dir(all, err);

	return r < 0 ? r : manifest_save(m, all->dir, err);
}

void manifests_fini(struct manifests *all)
{
	for (size_t i = 0; i < all->len; i++)
		manifest_free(all->data[i]);
	vec_fini(all);
}

struct manifest *manifests_find(const struct manifests *all, const char *tenant)
{
	for (size_t i = 0; i < all->len; i++)
		if (!strcmp(all->data[i]->tenant, tenant))
			return all->data[i];
	return NULL;
}

static void drop_unused(struct manifests *all)
{
	size_t n = 0;

	for (size_t i = 0; i < all->len; i++) {
		struct manifest *m = all->data[i];

		if (m->is_changed || all->is_used(all->ctx, m->tenant))
			all->data[n++] = m;
		else
			manifest_free(m);
	}
	all->len = n;
}

int manifests_get(struct manifests *all, const char *tenant, struct manifest **out,
		  struct err *warning, struct err *err)
{
	struct manifest *m = manifests_find(all, tenant);
	int r;

	*warning = (struct err){ 0 };
	*out = m;
	if (m)
		return 0;
	if (all->len >= MAX_UNUSED)
		drop_unused(all);
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	r = manifest_load(m, all->dir, tenant, warning);
	if (r == 0 || r == -EBADMSG)
		r = vec_push(all, m);
	if (r < 0) {
		manifest_free(m);
		return err_set(err, r, "%s", warning->msg);
	}
	*out = m;
	return 0;
}
