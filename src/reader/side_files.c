/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/side_files.h"

#include <errno.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "reader/lang_message.h"

static struct side_file *find(struct side_files *s, const struct lang_process_id *id,
			      const struct lang_side_file *file)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct side_file *f = &s->all[i];

		if (f->pid == id->pid && f->start_ns == id->start_ns && f->addr == file->addr)
			return f;
	}
	return NULL;
}

/* Removes the least recently used entry; with @is_open, of those that have a descriptor. */
static void evict(struct side_files *s, bool is_open)
{
	struct side_file *oldest = NULL;

	for (uint32_t i = 0; i < s->n; i++)
		if ((!is_open || s->all[i].fd >= 0) && (!oldest || s->all[i].used < oldest->used))
			oldest = &s->all[i];
	if (!oldest)
		return;
	s->n_open -= oldest->fd >= 0;
	closep(&oldest->fd);
	*oldest = s->all[--s->n];
}

void side_files_add(struct side_files *s, const struct lang_process_id *id,
		    const struct lang_side_file *file, int fd)
{
	struct side_file *f;

	if (find(s, id, file)) {
		closep(&fd);
		return;
	}
	if (fd >= 0 && s->n_open == SIDE_FILES_OPEN_MAX)
		evict(s, true);
	if (s->n == SIDE_FILES_MAX)
		evict(s, false);
	f = &s->all[s->n++];
	*f = (struct side_file){ id->start_ns, file->addr, ++s->clock, id->pid, fd };
	s->n_open += fd >= 0;
}

int side_files_find(struct side_files *s, const struct lang_process_id *id,
		    const struct lang_side_file *file)
{
	struct side_file *f = find(s, id, file);

	if (!f)
		return -EAGAIN;
	f->used = ++s->clock;
	return f->fd >= 0 ? f->fd : -ENOENT;
}
