/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel knows where the code of a program starts (mm->start_code), so the load bias of an
 * executable is stored relative to that address. The address is read from /proc, where another
 * program may run by now, so it is used only if it lies in the page where the executable is mapped.
 */
#include "process/executables.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/regular_file.h"
#include "proc/stat.h"
#include "process/file_table.h"
#include "process/mapping_set.h"
#include "sampler/sampler.h"

enum { PAGE = 4096 };

void executables_fini(struct executables *x)
{
	vec_fini(x);
}

static struct known_executable *find(const struct executables *x, const struct executable_key *key)
{
	for (size_t i = 0; i < x->len; i++)
		if (x->data[i].key.inode == key->inode && x->data[i].key.device == key->device)
			return &x->data[i];
	return NULL;
}

static bool is_in_page(uint64_t addr, uint64_t page)
{
	return addr - page < PAGE;
}

/*
 * True if the code of @file may start at @addr: where its first executable segment is mapped, or
 * where the file is. Before Linux 5.10, start_code was the latter.
 */
static bool may_start_at(const struct mapping_set *maps, uint32_t file, uint64_t addr)
{
	for (uint32_t i = 0; i < mapping_set_count(maps); i++) {
		const struct unwind_mapping *m = mapping_set_get(maps, i);

		if (m->kind == MAPPING_FILE && m->file == file)
			return is_in_page(addr, m->start) ||
			       is_in_page(addr, m->start - m->file_off);
	}
	return false;
}

void executables_note(struct executables *x, struct sampler *s, const struct file_table *files,
		      const struct known_executable *own, const struct mapping_set *maps,
		      const struct unwind_process *description, uint32_t pid)
{
	const struct vm_slot *vm = &description->vms[0];
	const struct file_info *info = file_table_get(files, own->file);
	struct known_executable *known;
	struct executable e;
	struct stat st;
	uint64_t start;

	if (!vm->vm || vm->file != own->file || !own->key.inode || !info)
		return;
	known = find(x, &own->key);
	if ((known && known->serial == info->serial) || (!known && x->len >= EXECUTABLES_MAX))
		return;
	start = proc_start_code((int)pid);
	if (!may_start_at(maps, own->file, start) || regular_file_stat(info->fd, &st) < 0)
		return;
	e = (struct executable){ .bytes = (uint64_t)st.st_size,
				 .vm = vm->vm,
				 .file = vm->file,
				 .bias = vm->bias - start,
				 .languages = description->languages };
	if (sampler_put_executable(s, &own->key, &e) < 0)
		return;
	if (known)
		known->file = own->file;
	else if (vec_push(x, *own) == 0)
		known = &x->data[x->len - 1];
	if (known)
		known->serial = info->serial;
}

void executables_reap(struct executables *x, struct sampler *s, const struct file_table *files)
{
	size_t n = 0;

	for (size_t i = 0; i < x->len; i++) {
		const struct known_executable *e = &x->data[i];
		const struct file_info *info = file_table_get(files, e->file);

		if (info && info->serial == e->serial)
			x->data[n++] = *e;
		else
			sampler_remove_executable(s, &e->key);
	}
	x->len = n;
}
