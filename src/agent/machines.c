/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine is found by its file, and where the mapping that has the machine's loop puts that
 * tells where it is. One that generates code is asked for it as often as it says that it is
 * not far enough, up to a limit.
 */
#include "agent/machines.h"

#include <errno.h>
#include <string.h>

#include "agent/files.h"
#include "agent/mapset.h"
#include "lang/lang.h"
#include "proc/memory.h"

enum { TRIES_MAX = 1000 };

/* The virtual machine that a mapping holds, and where that puts its file; NULL: none. */
static const struct lang_file *mapping_vm(const struct files *files, const struct unwind_mapping *m,
					  uint64_t *out_bias)
{
	const struct file_info *info = m->kind == MAPPING_FILE ? files_get(files, m->file) : NULL;
	uint64_t off = info ? info->lang.loop_off : 0;

	if (!info || !info->lang.vm || off < m->file_off || off - m->file_off >= m->end - m->start)
		return NULL;
	*out_bias = m->start + off - m->file_off - info->lang.loop_vaddr;
	return &info->lang;
}

void machines_put(const struct machines *m, const struct files *files, const struct mapset *maps,
		  struct unwind_process *out)
{
	uint64_t bias;
	uint32_t n = 0;

	memset(out->vms, 0, sizeof(out->vms));
	out->generated_wanted = 0;
	for (uint32_t i = 0; i < mapset_count(maps) && n < VM_SLOTS_MAX; i++) {
		const struct unwind_mapping *map = mapset_get(maps, i);
		const struct lang_file *lang = mapping_vm(files, map, &bias);

		if (!lang)
			continue;
		if (lang->attaches)
			out->generated_wanted = !m->attached && m->tries < TRIES_MAX;
		else
			out->vms[n++] = (struct vm_slot){
				.vm = lang->vm,
				.file = map->file,
				.bias = bias,
			};
	}
}

void machines_detach(struct machines *m)
{
	m->attached = false;
}

static int read_process(void *ctx, uint64_t addr, void *dst, size_t len)
{
	const uint32_t *pid = ctx;

	return proc_memory_read(*pid, addr, dst, len);
}

/* Add the code that the virtual machine @file generates. */
static void attach_to(struct machines *m, const struct machines_of *of,
		      const struct lang_file *file, uint64_t bias, uint64_t now_ns)
{
	uint32_t pid = of->pid;
	const struct lang_process process = { .pid = pid, .read = read_process, .ctx = &pid };
	struct unwind_mapping regions[LANG_REGIONS_MAX];
	struct mapset *own;
	int n = langs_attach(of->langs, file, bias, &process, regions);
	bool partly = n > 0 && n & LANG_ATTACH_PARTLY;

	m->tries = partly || n == -EAGAIN ? m->tries + 1 : TRIES_MAX;
	own = n > 0 ? mapset_own(*of->maps, of->tables, now_ns) : NULL;
	if (!own)
		return;
	*of->maps = own;
	for (int i = 0; i < (n & ~LANG_ATTACH_PARTLY); i++)
		(void)mapset_add(own, &regions[i]);
	m->attached = !partly;
}

void machines_attach(struct machines *m, const struct machines_of *of, uint64_t now_ns)
{
	uint64_t bias;

	if (!of->langs || m->attached || m->tries >= TRIES_MAX)
		return;
	for (uint32_t i = 0; i < mapset_count(*of->maps); i++) {
		const struct lang_file *file =
			mapping_vm(of->files, mapset_get(*of->maps, i), &bias);

		if (!file || !file->attaches)
			continue;
		attach_to(m, of, file, bias, now_ns);
		return;
	}
}

uint64_t machines_bias(const struct files *files, const struct mapset *maps, uint32_t vm)
{
	uint64_t bias;

	for (uint32_t i = 0; i < mapset_count(maps); i++) {
		const struct lang_file *file = mapping_vm(files, mapset_get(maps, i), &bias);

		if (file && file->vm == vm)
			return bias;
	}
	return 0;
}
