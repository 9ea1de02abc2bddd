/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the sweep of code with the compiler's CFI for the same code: the text of files with CFI
 * is swept as if it had none, and both must yield the same CFA at each instruction. The sweep may
 * be unsure but is hardly ever wrong, and rows must begin at the start of an instruction.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "elf/image.h"
#include "elf/x86_insn.h"
#include "unwind/file_rows.h"
#include "unwind/sweep.h"
#include "unwind/sweep_step.h"

enum { SHOWN = 12, WRONG_PER_MILLION = 10000, UNSURE_PER_CENT = 6 };

struct oracle {
	const struct unwind_rows *rows;
	size_t row;
	unsigned long n_insns, n_unsure, n_wrong, n_wrong_rbp, n_split;
};

/* The rule from CFI at @off; calls come with ascending offsets. */
static const struct unwind_rule *theirs_at(struct oracle *o, uint64_t off)
{
	static const struct unwind_rule none = { .cfa = UNWIND_CFA_NONE };

	while (o->row < o->rows->len && o->rows->data[o->row].file_off <= off)
		o->row++;
	return o->row ? unwind_rows_rule(o->rows, o->row - 1) : &none;
}

/* False if the CFAs are computed from different registers, and so may be equal or not. */
static bool comparable(const struct unwind_sweep_state *s, const struct unwind_rule *r)
{
	const struct unwind_rule ours = unwind_sweep_rule(s);

	return ours.cfa == r->cfa || (r->cfa <= UNWIND_CFA_FP_OFF && ours.cfa <= UNWIND_CFA_FP_OFF);
}

static bool same_cfa(const struct unwind_sweep_state *s, const struct unwind_rule *r)
{
	const struct unwind_rule ours = unwind_sweep_rule(s);

	if (r->cfa == UNWIND_CFA_SP_OFF)
		return !s->rsp_moved && ((int)s->depth + 1) * 8 == r->cfa_off;
	return ours.cfa == r->cfa && ours.cfa_off == r->cfa_off &&
	       (r->cfa != UNWIND_CFA_REG || ours.cfa_reg == r->cfa_reg);
}

/* Registers that were popped may still be read below rsp, as compilers declare. */
static bool same_rbp(const struct unwind_sweep_state *s, const struct unwind_rule *r)
{
	if (!s->rbp)
		return r->fp == UNWIND_SAVED_SAME ||
		       (r->fp == UNWIND_SAVED_CFA && -r->fp_off / 8 > (int)s->depth + 1);
	return r->fp == UNWIND_SAVED_CFA && -r->fp_off == (int)s->rbp * 8;
}

static void compare(struct oracle *o, uint64_t vaddr, uint64_t off,
		    const struct unwind_sweep_state *s)
{
	const struct unwind_rule *r = theirs_at(o, off);

	if (r->cfa < UNWIND_CFA_SP_OFF || r->cfa > UNWIND_CFA_REG)
		return;
	o->n_insns++;
	if (!s->seen || s->lost) {
		o->n_unsure++;
		return;
	}
	if (!comparable(s, r))
		return;
	if (!same_cfa(s, r)) {
		if (o->n_wrong++ < SHOWN)
			printf("  at %#lx: depth %u frame %u moved %u, CFI: %u + %d\n", vaddr,
			       s->depth * 8u + 8, s->frame, s->rsp_moved, r->cfa, r->cfa_off);
	} else if (!same_rbp(s, r)) {
		if (o->n_wrong_rbp++ < SHOWN)
			printf("  at %#lx: rbp %d, CFI: %u %d\n", vaddr, -8 * (int)s->rbp, r->fp,
			       r->fp_off);
	}
}

/* Counts the rows that begin within an instruction of @len bytes at @off. */
static void count_split(struct oracle *o, uint64_t off, uint8_t len)
{
	for (size_t i = o->row; i < o->rows->len && o->rows->data[i].file_off < off + len; i++)
		o->n_split += unwind_rows_rule(o->rows, i)->cfa > UNWIND_CFA_END;
}

static void compare_text(struct oracle *o, const struct unwind_sweep *sw)
{
	const struct unwind_sweep_gap *g = sw->gaps.data;

	for (size_t at = 0; at < g->len;) {
		struct x86_insn insn = { .len = 1 };

		if (theirs_at(o, g->file_off + at)->cfa <= UNWIND_CFA_END) {
			at++;
			continue;
		}
		x86_decode(g->code + at, g->len - at, &insn);
		compare(o, g->vaddr + at, g->file_off + at, &sw->states[g->first + at]);
		count_split(o, g->file_off + at, insn.len);
		at += insn.len;
	}
}

static int judge(const char *path, const struct oracle *o)
{
	printf("%s: %lu instructions, %.3f %% unsure, %lu wrong (%.4f %%), %lu wrong rbp, "
	       "%lu rows inside of instructions\n",
	       path, o->n_insns, 100.0 * (double)o->n_unsure / (double)o->n_insns, o->n_wrong,
	       100.0 * (double)o->n_wrong / (double)o->n_insns, o->n_wrong_rbp, o->n_split);
	return !o->n_insns || o->n_wrong * 1000000 > o->n_insns * WRONG_PER_MILLION ||
	       o->n_wrong_rbp * 1000000 > o->n_insns * WRONG_PER_MILLION ||
	       o->n_unsure * 100 > o->n_insns * UNSURE_PER_CENT || o->n_split;
}

static int check_file(const char *path)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	_cleanup_(unwind_sweep_fini) struct unwind_sweep sw = { 0 };
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct oracle o = { .rows = &rows };
	struct err err = { 0 };
	struct elf_span text;

	if (fd < 0 || elf_image_open(&img, fd, &err) < 0 ||
	    unwind_rows_from_file(&rows, img, &err) < 0 ||
	    elf_image_section(img, ".text", &text) < 0) {
		printf("%s: %s\n", path, fd < 0 ? strerror(errno) : err.msg);
		return 1;
	}
	if (unwind_sweep_add_gap(&sw, img, text.file_off, text.len, true) < 0 ||
	    unwind_sweep_run(&sw, img) < 0 || !sw.gaps.len) {
		printf("%s: not swept\n", path);
		return 1;
	}
	compare_text(&o, &sw);
	return judge(path, &o);
}

static const char *const known_files[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/bin/bash",
	"/usr/bin/python3",
};

int main(int argc, char **argv)
{
	int r = 0;

	for (int i = 1; i < argc; i++)
		r |= check_file(argv[i]);
	for (size_t i = 0; argc < 2 && i < sizeof(known_files) / sizeof(known_files[0]); i++) {
		if (i < 2 || access(known_files[i], R_OK) == 0)
			r |= check_file(known_files[i]);
	}
	return r;
}
