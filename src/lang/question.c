/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/question.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "lang/context/context.h"
#include "lang/golang.h"

/* ---- functions ------------------------------------------------------------------------------ */

void lang_function_fini(struct lang_function *f)
{
	free(f->name);
	free(f->file);
	free(f->near_name);
	free(f->lines);
	f->name = f->file = f->near_name = NULL;
	f->lines = NULL;
	f->n_lines = 0;
}

static bool is_still(const struct lang *lang, const struct lang_process *p,
		     const struct lang_question *q)
{
	const struct lang_function known = {
		.bytecode = q->bytecode,
		.n_lines = q->n_lines,
		.first_line = q->first_line,
	};

	return q->is_known && lang->is_still &&
	       lang->is_still(p, VM_FRAME_ADDR(q->words[0]), &known, q->words[1] >> 32);
}

static int read_function(const struct lang *lang, const struct vm_tables *tables,
			 const struct lang_process *p, const struct lang_question *q,
			 struct lang_function *out)
{
	int r = lang->read(tables, VM_FRAME_INDEX(q->words[0]), p, VM_FRAME_ADDR(q->words[0]),
			   (uint32_t)q->words[1], out);

	return r == 0 && (!out->name || !out->file) ? -ENOMEM : r;
}

static int list_calls(const struct lang *lang, const struct vm_tables *tables,
		      const struct lang_process *p, const struct lang_question *q,
		      struct lang_call calls[LANG_CALLS_MAX])
{
	return lang->expand ? lang->expand(tables, VM_FRAME_INDEX(q->words[0]), p, q->words, calls)
			    : 0;
}

void lang_answer(const struct vm_tables *tables, const struct lang_process *p,
		 const struct lang_question *q, struct lang_answer *out)
{
	const struct lang *lang = lang_get(tables->codes[VM_FRAME_INDEX(q->words[0])].lang);
	struct lang_process process = *p;

	process.caller = q->has_caller ? q->caller : NULL;
	out->is_still = false;
	out->function = (struct lang_function){ .place = q->words[1] >> 32 };
	if (!lang)
		out->result = -ENOENT;
	else if (q->kind == LANG_ASK_CALLS)
		out->result = list_calls(lang, tables, &process, q, out->calls);
	else if (is_still(lang, &process, q))
		out->is_still = !(out->result = 0);
	else
		out->result = read_function(lang, tables, &process, q, &out->function);
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Copies what detect() found, whose texts are static. */
static void keep(struct lang_detection *out, const struct lang_detected *d, int r)
{
	out->result = r;
	out->loop_vaddr = d->loop_vaddr;
	out->code = d->code;
	snprintf(out->runtime, sizeof(out->runtime), "%s", d->runtime);
	snprintf(out->version, sizeof(out->version), "%s", d->version);
	snprintf(out->problem, sizeof(out->problem), "%s",
		 r == -ENOTSUP && d->problem ? d->problem : "");
}

void lang_detect(const struct elf_image *img, bool fold, struct lang_detection *out)
{
	struct lang_detected d;
	struct vm_tables tables;
	struct vm_code code;
	int r;

	memset(out, 0, sizeof(*out));
	out->result = -ENOENT;
	(void)context_detect(img, &out->context, &out->context_off, &out->context_vaddr);
	lang_tables_of(&tables, &code, &out->entry);
	for (uint32_t i = LANG_NONE + 1; i < LANG_MAX && out->result != 0; i++) {
		d = (struct lang_detected){ .code = { .lang = i, .fold = fold } };
		r = lang_get(i)->detect(img, &tables, 0, &d);
		if (r == 0 && !ARCH_HAS_LANGUAGES && !lang_get(i)->is_portable) {
			d.problem = "its frames cannot be read on " ARCH_NAME;
			r = -ENOTSUP;
		}
		if (r == 0 || r == -ENOTSUP)
			keep(out, &d, r);
	}
	if (out->result != -ENOENT)
		return;
	d = (struct lang_detected){ .runtime = "Go",
				    .problem = "its table of functions was not recognized" };
	r = golang_detect(img, d.version);
	if (r == 0 || r == -ENOTSUP)
		keep(out, &d, r);
}

/* ---- generated code ------------------------------------------------------------------------- */

void lang_find_regions(const struct vm_tables *tables, uint32_t vm, uint64_t bias,
		       const struct lang_process *p, struct lang_regions *out)
{
	const struct lang *lang = lang_get(tables->codes[vm].lang);
	struct vm_tables own;
	struct vm_code code;

	memset(out, 0, sizeof(*out));
	lang_tables_of(&own, &code, &out->entry);
	out->result = lang && lang->attach ? lang->attach(tables, vm, bias, p, &own, out->regions)
					   : -ENOENT;
}
