/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the registry that is about contexts: the walk's table of layouts. */
#include <string.h>

#include "lang/lang.h"
#include "lang/registry.h"

void langs_add_context(struct langs *l, const struct lang_detection *d, struct lang_file *out)
{
	struct context_layout *all = l->tables.contexts;
	uint32_t i = 1;

	if (!all || !d->context.kind)
		return;
	while (i < l->n_contexts && memcmp(&all[i], &d->context, sizeof(d->context)) != 0)
		i++;
	if (i == CONTEXT_LAYOUTS_MAX) {
		l->n_vms_full++;
		return;
	}
	if (i == l->n_contexts) {
		all[i] = d->context;
		l->n_contexts++;
	}
	out->context = i;
	out->context_off = d->context_off;
	out->context_vaddr = d->context_vaddr;
}

void langs_read_context(struct langs *l, const struct lang_process *p, uint64_t at,
			struct process_context *out)
{
	if (l->source.read_context)
		l->source.read_context(l->source.ctx, p, at, out);
	else
		process_context_read(p, at, out);
}
