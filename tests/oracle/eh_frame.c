/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares our unwind rows with libdw's: at the first and the last byte of every row of a file, and
 * throughout the gaps, both must give the same rule. The files are those on the command line, or
 * those that most machines have. libdw's results are translated here by code that shares nothing
 * with src/unwind.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "elf/gnuhash.h"
#include "elf/image.h"
#include "unwind/file_rows.h"

enum {
	MISMATCHES_SHOWN = 10,
	GAP_STEP = 16,
	GAP_PROBES_MAX = 4096,
	ENTRY_LEN = 64,
	CONTEXT_END_LEN = 26,
};

/* Code for which we have rules although it has no CFI. */
struct range {
	uint64_t lo, hi;
};

struct oracle {
	Dwarf_CFI *cfi;
	struct range known[4];
	uint64_t bottom; /* the byte before abort(), where libcoro's stacks begin; 0: none */
	unsigned long n_rows, n_probes, n_none, n_wrong;
};

static bool is_breg(const Dwarf_Op *op, unsigned int reg, int64_t *off)
{
	if (op->atom == DW_OP_bregx && op->number == reg) {
		*off = (int64_t)op->number2;
		return true;
	}
	if (op->atom == DW_OP_breg0 + reg) {
		*off = (int64_t)op->number;
		return true;
	}
	return false;
}

static bool any_breg(const Dwarf_Op *op, unsigned int *reg, int64_t *off)
{
	for (*reg = 0; *reg < 17; ++*reg) {
		if (is_breg(op, *reg, off))
			return true;
	}
	return false;
}

static bool ops_match(const Dwarf_Op *ops, size_t n, const uint8_t *atoms)
{
	for (size_t i = 0; i < n; i++) {
		if (atoms[i] && ops[i].atom != atoms[i])
			return false;
	}
	return true;
}

static bool plain_cfa(unsigned int reg, int64_t off, struct unwind_rule *out)
{
	static const uint8_t kind[17] = {
		[3] = UNWIND_CFA_AUX_OFF, [6] = UNWIND_CFA_FP_OFF, [7] = UNWIND_CFA_SP_OFF
	};

	out->cfa = kind[reg] ? kind[reg] : UNWIND_CFA_REG;
	out->cfa_reg = kind[reg] ? 0 : (uint8_t)reg;
	out->cfa_off = (int32_t)off;
	return true;
}

/* breg7, deref [, plus_uconst], deref [, plus_uconst]; @out has the first offset. */
static bool their_deref_twice(const Dwarf_Op *ops, size_t n, struct unwind_rule *out)
{
	Dwarf_Word added[2] = { 0 };
	size_t at = 1;

	for (int i = 0; i < 2; i++) {
		if (at >= n || ops[at++].atom != DW_OP_deref)
			return false;
		if (at < n && ops[at].atom == DW_OP_plus_uconst)
			added[i] = ops[at++].number;
	}
	if (at != n || added[0] > UINT8_MAX || added[1] > INT16_MAX)
		return false;
	out->cfa = UNWIND_CFA_SP_DEREF_TWICE;
	out->cfa_reg = (uint8_t)added[0];
	out->cfa_add = (int16_t)added[1];
	return true;
}

/* Translates libdw's operations for the CFA into a rule; false if the walk cannot express them. */
static bool their_cfa(const Dwarf_Op *ops, size_t n, struct unwind_rule *out)
{
	static const uint8_t plt[] = { DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0,
				       DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,   DW_OP_plus };
	static const uint8_t index[] = { DW_OP_breg7, 0,           DW_OP_lit8,       DW_OP_mul,
					 DW_OP_plus,  DW_OP_deref, DW_OP_plus_uconst };
	unsigned int reg, index_reg;
	int64_t off, zero;

	if (n == sizeof(plt) && ops_match(ops, n, plt)) {
		out->cfa = UNWIND_CFA_PLT;
		out->cfa_off = ops[4].atom - DW_OP_lit0;
		return true;
	}
	if (!n || !any_breg(&ops[0], &reg, &off))
		return false;
	if (n == 1)
		return plain_cfa(reg, off, out);
	out->cfa_off = (int32_t)off;
	if (n == sizeof(index) && ops_match(ops, n, index) &&
	    any_breg(&ops[1], &index_reg, &zero)) {
		out->cfa = UNWIND_CFA_SP_INDEX;
		out->cfa_reg = (uint8_t)index_reg;
		out->cfa_add = (int16_t)ops[6].number;
		return true;
	}
	if (reg == 7 && their_deref_twice(ops, n, out))
		return true;
	if (n > 3 || ops[1].atom != DW_OP_deref || (reg != 6 && reg != 7) ||
	    (n == 3 && ops[2].atom != DW_OP_plus_uconst))
		return false;
	out->cfa = reg == 7 ? UNWIND_CFA_SP_DEREF : UNWIND_CFA_FP_DEREF;
	out->cfa_add = n == 3 ? (int16_t)ops[2].number : 0;
	return true;
}

/* DW_OP_call_frame_cfa [plus_uconst off]: the offset at which a register is saved in the frame. */
static bool at_cfa(const Dwarf_Op *ops, size_t n, int64_t *off)
{
	if (!n || n > 2 || ops[0].atom != DW_OP_call_frame_cfa ||
	    (n == 2 && ops[1].atom != DW_OP_plus_uconst))
		return false;
	*off = n == 2 ? (int64_t)ops[1].number : 0;
	return true;
}

static bool their_saved(Dwarf_Frame *frame, int reg, uint8_t *how, int16_t *at)
{
	Dwarf_Op mem[3], *ops;
	size_t n;
	int64_t off;

	if (dwarf_frame_register(frame, reg, mem, &ops, &n) < 0)
		return false;
	if (!n) {
		*how = ops ? UNWIND_SAVED_UNDEF : UNWIND_SAVED_SAME;
		return true;
	}
	if (at_cfa(ops, n, &off)) {
		*how = UNWIND_SAVED_CFA;
	} else if (n == 1 && ops[0].atom == DW_OP_regx) {
		*how = UNWIND_SAVED_REG;
		off = (int64_t)ops[0].number;
	} else if (n == 2 && ops[0].atom == DW_OP_call_frame_cfa && is_breg(&ops[1], 6, &off)) {
		*how = UNWIND_SAVED_FP; /* libdw pushes the CFA before every expression */
	} else if (n == 1 && is_breg(&ops[0], 6, &off)) {
		*how = UNWIND_SAVED_FP;
	} else {
		return false;
	}
	*at = (int16_t)off;
	return *at == off;
}

/* Checks the caller's rsp: it must be the CFA, or in the ucontext of a signal frame. */
static bool their_rsp(Dwarf_Frame *frame, bool signal, int64_t *ucontext)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	if (dwarf_frame_register(frame, 7, mem, &ops, &n) < 0)
		return false;
	if (signal)
		return n && is_breg(&ops[n - 1], 7, ucontext);
	return n == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_stack_value;
}

static bool their_return_address(Dwarf_Frame *frame, int ra_reg, struct unwind_rule *out)
{
	Dwarf_Op mem[3], *ops;
	int64_t off;
	size_t n;

	if (dwarf_frame_register(frame, ra_reg, mem, &ops, &n) < 0)
		return false;
	if (at_cfa(ops, n, &off)) {
		out->ra_off = (int16_t)off;
		return true;
	}
	if (n != 1 || ops[0].atom != DW_OP_regx || out->cfa != UNWIND_CFA_SP_OFF)
		return false;
	out->cfa = UNWIND_CFA_SP_RA_REG;
	out->cfa_reg = (uint8_t)ops[0].number;
	return true;
}

/* Functions save the first register of exception handlers only if they return to one. */
static bool returns_to_handler(Dwarf_Frame *frame)
{
	uint8_t how = 0;
	int16_t at;

	return their_saved(frame, 0, &how, &at) && how == UNWIND_SAVED_CFA;
}

static bool their_rule(Dwarf_Frame *frame, struct unwind_rule *out)
{
	Dwarf_Op mem[3], *ops;
	int64_t off = 0;
	size_t n;
	bool signal;
	int ra_reg = dwarf_frame_info(frame, NULL, NULL, &signal);

	if (dwarf_frame_register(frame, ra_reg, mem, &ops, &n) < 0)
		return false;
	if (!n && ops) {
		out->cfa = UNWIND_CFA_END;
		return true;
	}
	if (signal && their_rsp(frame, true, &off)) {
		*out = (struct unwind_rule){ .cfa = UNWIND_CFA_SIGNAL,
					     .cfa_off = (int32_t)off - 160 };
		return true;
	}
	if (!their_rsp(frame, false, NULL) || !their_saved(frame, 6, &out->fp, &out->fp_off))
		return false;
	/*
	 * libdw's defaults for x86-64 omit that rbx is callee-saved, so it is undefined unless an
	 * instruction sets it. No compiler declares it so.
	 */
	if (!their_saved(frame, 3, &out->aux, &out->aux_off)) {
		out->aux = UNWIND_SAVED_UNDEF; /* the walk continues without it */
		out->aux_off = 0;
	} else if (out->aux == UNWIND_SAVED_UNDEF) {
		out->aux = UNWIND_SAVED_SAME;
	}
	if (dwarf_frame_cfa(frame, &ops, &n) != 0 || !their_cfa(ops, n, out) ||
	    !their_return_address(frame, ra_reg, out))
		return false;
	if ((out->cfa == UNWIND_CFA_SP_OFF || out->cfa == UNWIND_CFA_FP_OFF) &&
	    returns_to_handler(frame))
		out->cfa_reg = UNWIND_EH_RETURN;
	return true;
}

static void show(const char *who, const struct unwind_rule *r)
{
	printf("    %-6s cfa %u reg %u off %d add %d  rbp %u %d  rbx %u %d  ra %d\n", who, r->cfa,
	       r->cfa_reg, r->cfa_off, r->cfa_add, r->fp, r->fp_off, r->aux, r->aux_off, r->ra_off);
}

static bool is_known(const struct oracle *o, uint64_t vaddr)
{
	for (size_t i = 0; i < sizeof(o->known) / sizeof(o->known[0]); i++) {
		if (vaddr >= o->known[i].lo && vaddr < o->known[i].hi)
			return true;
	}
	return false;
}

static void find_known(struct oracle *o, const struct elf_image *img)
{
	static const char *const sections[] = { ".init", ".fini" };
	static const uint8_t context_end[] = { 0x48, 0x89, 0xdc, 0x48, 0x8b,
					       0x3c, 0x24, 0x48, 0x85, 0xff };
	const uint8_t *at = NULL;
	struct elf_rawsym abort;
	struct elf_span s;

	for (size_t i = 0; i < 2; i++) {
		if (elf_image_section(img, sections[i], &s) == 0)
			o->known[i] = (struct range){ s.vaddr, s.vaddr + s.len };
	}
	o->known[2] = (struct range){ elf_image_entry(img), elf_image_entry(img) + ENTRY_LEN };
	/* glibc's __start_context, to which functions return, but which is never called */
	if (elf_image_section(img, ".text", &s) == 0)
		at = memmem(s.data, s.len, context_end, sizeof(context_end));
	if (at)
		o->known[3] = (struct range){ s.vaddr + (uint64_t)(at - s.data) - 1,
					      s.vaddr + (uint64_t)(at - s.data) + CONTEXT_END_LEN };
	if (at && elf_gnuhash_lookup(img, "abort", &abort) == 0)
		o->bottom = abort.vaddr - 1;
}

/*
 * The rule at a return address applies to the frame of its caller; a call may precede the address.
 */
static bool is_bottom(const struct oracle *o, uint64_t vaddr, const struct unwind_rule *r)
{
	return vaddr == o->bottom && r->cfa == UNWIND_CFA_END && r->cfa_reg == UNWIND_NO_FRAME;
}

/* True in glibc's __start_context, where a walk ends. */
static bool is_context_end(const struct oracle *o, uint64_t vaddr, const struct unwind_rule *r)
{
	return r->cfa == UNWIND_CFA_END && vaddr >= o->known[3].lo && vaddr < o->known[3].hi;
}

/* True for rules of code without CFI: tests/oracle/sweep.c checks those. */
static bool is_swept(const struct unwind_rule *r)
{
	return r->cfa == UNWIND_CFA_SP_OFF || (r->cfa == UNWIND_CFA_FP_OFF && r->cfa_off == 16);
}

static void probe(struct oracle *o, uint64_t vaddr, const struct unwind_rule *ours)
{
	struct unwind_rule theirs = { 0 };
	Dwarf_Frame *frame = NULL;

	bool no_cfi = dwarf_cfi_addrframe(o->cfi, vaddr, &frame) != 0;

	o->n_probes++;
	if (!no_cfi && !their_rule(frame, &theirs))
		theirs = (struct unwind_rule){ .cfa = UNWIND_CFA_NONE };
	free(frame);
	o->n_none += theirs.cfa == UNWIND_CFA_NONE;
	if (!memcmp(&theirs, ours, sizeof(theirs)) ||
	    (theirs.cfa == UNWIND_CFA_NONE && is_known(o, vaddr)) || (no_cfi && is_swept(ours)) ||
	    is_bottom(o, vaddr, ours) || is_context_end(o, vaddr, ours))
		return;
	if (o->n_wrong++ < MISMATCHES_SHOWN) {
		printf("  at %#lx\n", vaddr);
		show("ours", ours);
		show("libdw", &theirs);
	}
}

static void probe_gap(struct oracle *o, uint64_t start, uint64_t len)
{
	static const struct unwind_rule none = { .cfa = UNWIND_CFA_NONE };

	for (uint64_t at = GAP_STEP; at < len && at < GAP_STEP * GAP_PROBES_MAX; at += GAP_STEP)
		probe(o, ((start + at) & ~(uint64_t)(GAP_STEP - 1)), &none);
}

static void probe_rows(struct oracle *o, const struct elf_image *img,
		       const struct unwind_rows *rows)
{
	for (size_t i = 0; i < rows->len; i++) {
		const struct unwind_full_row *row = &rows->data[i];
		uint64_t len = i + 1 < rows->len ? row[1].file_off - row->file_off : 1;
		const struct unwind_rule *rule = unwind_rows_rule(rows, i);
		uint64_t start;

		if (elf_image_vaddr_of(img, row->file_off, &start) < 0)
			continue;
		o->n_rows++;
		probe(o, start, rule);
		if (len > 1)
			probe(o, start + len - 1, rule);
		if (row->rule == UNWIND_RULE_NONE)
			probe_gap(o, start, len);
	}
}

static int check_file(const char *path)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct oracle o = { 0 };
	struct err err = { 0 };
	Elf *elf;

	if (fd < 0 || elf_image_open(&img, fd, &err) < 0) {
		printf("%s: %s\n", path, fd < 0 ? strerror(errno) : err.msg);
		return 1;
	}
	if (unwind_rows_from_file(&rows, img, &err) < 0) {
		printf("%s: %s\n", path, err.msg);
		return 1;
	}
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	o.cfi = dwarf_getcfi_elf(elf);
	find_known(&o, img);
	if (o.cfi)
		probe_rows(&o, img, &rows);
	printf("%s: %lu rows, %lu probes, %lu without a rule in libdw, %lu differ\n", path,
	       o.n_rows, o.n_probes, o.n_none, o.n_wrong);
	dwarf_cfi_end(o.cfi);
	elf_end(elf);
	return o.n_wrong || !o.n_rows;
}

/* Compiled and hand-written code of all kinds; the first two files are on every machine. */
static const char *const known_files[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/lib64/ld-linux-x86-64.so.2",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/bin/python3",
	"/usr/lib/x86_64-linux-gnu/libpython3.*.so.1.0",
	"/usr/bin/node",
	"/usr/lib/jvm/*/lib/server/libjvm.so",
	"/usr/lib/x86_64-linux-gnu/libLLVM-1[0-9].so.1",
};

static int check_known_files(void)
{
	int n = 0, r = 0;

	for (size_t i = 0; i < sizeof(known_files) / sizeof(known_files[0]); i++) {
		glob_t g;

		if (glob(known_files[i], 0, NULL, &g) == 0) {
			for (size_t j = 0; j < g.gl_pathc; j++, n++)
				r |= check_file(g.gl_pathv[j]);
			globfree(&g);
		} else if (i < 2) {
			printf("%s is missing\n", known_files[i]);
			r = 1;
		}
	}
	printf("%d files\n", n);
	return r;
}

int main(int argc, char **argv)
{
	int r = 0;

	elf_version(EV_CURRENT);
	if (argc < 2)
		return check_known_files();
	for (int i = 1; i < argc; i++)
		r |= check_file(argv[i]);
	return r;
}
