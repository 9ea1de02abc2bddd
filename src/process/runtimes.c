/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime is found by its file: the mapping that contains the interpreter loop gives the
 * load bias. A runtime that generates code reports the regions of that code, and may report
 * that it has not initialized them yet; then it is queried again on later samples, up to a
 * limit.
 */
#include "process/runtimes.h"

#include <errno.h>
#include <string.h>

#include "lang/lang.h"
#include "process/file_table.h"
#include "process/mapping_set.h"

enum { TRIES_MAX = 1000 };

/*
 * Returns the runtime in mapping @m and its load bias, or NULL if the mapping does not
 * contain an interpreter loop.
 */
static const struct lang_file *mapping_vm(const struct file_table *files,
					  const struct unwind_mapping *m, uint64_t *out_bias)
{
	const struct file_info *info =
		m->kind == MAPPING_FILE ? file_table_get(files, m->file) : NULL;
	uint64_t off = info ? info->lang.loop_off : 0;

	if (!info || !info->lang.vm || off < m->file_off || off - m->file_off >= m->end - m->start)
		return NULL;
	*out_bias = m->start + off - m->file_off - info->lang.loop_vaddr;
	return &info->lang;
}

void runtimes_describe(const struct runtimes *m, const struct file_table *files,
		       const struct mapping_set *maps, struct unwind_process *out)
{
	uint64_t bias;
	uint32_t n = 0;

	memset(out->vms, 0, sizeof(out->vms));
	out->generated_pending = 0;
	out->reporting_bias = 0;
	out->languages = 0;
	for (uint32_t i = 0; i < mapping_set_count(maps) && n < VM_SLOTS_MAX; i++) {
		const struct unwind_mapping *map = mapping_set_get(maps, i);
		const struct lang_file *lang = mapping_vm(files, map, &bias);

		if (!lang)
			continue;
		out->languages |= lang->language;
		if (lang->attaches) {
			out->generated_pending = !m->attached && m->tries < TRIES_MAX;
			out->reporting_bias = bias;
		} else {
			out->vms[n++] = (struct vm_slot){
				.vm = lang->vm,
				.file = map->file,
				.bias = bias,
			};
		}
	}
}

void runtimes_find_contexts(const struct file_table *files, const struct mapping_set *maps,
			    struct unwind_process *out)
{
	uint32_t n = 0;

	memset(out->contexts, 0, sizeof(out->contexts));
	for (uint32_t i = 0; i < mapping_set_count(maps) && n < CONTEXT_SLOTS_MAX; i++) {
		const struct unwind_mapping *m = mapping_set_get(maps, i);
		const struct file_info *info =
			m->kind == MAPPING_FILE ? file_table_get(files, m->file) : NULL;
		const struct lang_file *f = info && info->lang.context ? &info->lang : NULL;

		if (!f || f->context_off < m->file_off ||
		    f->context_off - m->file_off >= m->end - m->start)
			continue;
		out->contexts[n++] = CONTEXT_SLOT(
			f->context, m->start + f->context_off - m->file_off - f->context_vaddr);
	}
}

void runtimes_detach(struct runtimes *m)
{
	m->attached = false;
}

/* Adds the regions of generated code that the runtime in @file reports. */
static void query_runtime(struct runtimes *m, const struct runtimes_context *context,
			  const struct lang_file *file, uint64_t bias, uint64_t now_ns)
{
	const struct lang_process process = { .pid = context->pid };
	struct unwind_mapping regions[LANG_REGIONS_MAX];
	struct mapping_set *own;
	int n = langs_attach(context->langs, file, bias, &process, regions);
	bool is_partial = n > 0 && n & LANG_ATTACH_PARTIAL;

	m->tries = is_partial || n == -EAGAIN ? m->tries + 1 : TRIES_MAX;
	if (n == -EAGAIN && m->tries == TRIES_MAX)
		langs_give_up(context->langs, file);
	own = n > 0 ? mapping_set_own(*context->maps, context->tables, now_ns) : NULL;
	if (!own)
		return;
	*context->maps = own;
	for (int i = 0; i < (n & ~LANG_ATTACH_PARTIAL); i++)
		(void)mapping_set_add(own, &regions[i]);
	m->attached = !is_partial;
}

void runtimes_attach(struct runtimes *m, const struct runtimes_context *context, uint64_t now_ns)
{
	uint64_t bias;

	if (!context->langs || m->attached || m->tries >= TRIES_MAX)
		return;
	for (uint32_t i = 0; i < mapping_set_count(*context->maps); i++) {
		const struct lang_file *file =
			mapping_vm(context->files, mapping_set_get(*context->maps, i), &bias);

		if (!file || !file->attaches)
			continue;
		query_runtime(m, context, file, bias, now_ns);
		return;
	}
}

uint64_t runtimes_bias(const struct file_table *files, const struct mapping_set *maps, uint32_t vm)
{
	uint64_t bias;

	for (uint32_t i = 0; i < mapping_set_count(maps); i++) {
		const struct lang_file *file = mapping_vm(files, mapping_set_get(maps, i), &bias);

		if (file && file->vm == vm)
			return bias;
	}
	return 0;
}
