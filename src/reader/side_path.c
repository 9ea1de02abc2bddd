/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/side_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/regular_file.h"
#include "lang/language.h"
#include "proc/maps.h"
#include "proc/root.h"
#include "proc/user.h"

struct search {
	const struct lang_side_file *file;
	char path[PROC_PATH_MAX + sizeof(((struct lang_side_file *)0)->name)];
};

static int on_map(void *ctx, const struct proc_map *m)
{
	struct search *s = ctx;
	const char *slash = strrchr(m->path, '/');

	if (s->file->addr < m->start || s->file->addr >= m->end)
		return s->file->addr < m->start ? -ENOENT : 0;
	if (!m->inode || !slash || m->path[0] != '/')
		return -ENOENT;
	snprintf(s->path, sizeof(s->path), "%.*s/%s", (int)(slash - m->path), m->path,
		 s->file->name);
	return 1;
}

int side_path_open(const struct lang_process *p, const struct lang_side_file *file)
{
	_cleanup_(closep) int root = -1;
	struct search s = { .file = file };
	int r = proc_maps_read((int)p->pid, PROC_MAPS_ALL, on_map, &s, NULL);

	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	root = proc_root_open((int)p->pid);
	return root < 0 ? root : regular_file_open_in(root, s.path, false, proc_user_of(p->pid));
}
