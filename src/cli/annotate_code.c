/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine code of the functions: each function of the executables that has one of their
 * addresses is disassembled once. Where a function was inlined into another one, only its own
 * instructions are shown.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cli/annotate_view.h"
#include "cli/text.h"
#include "disasm/disasm.h"
#include "profile/profile.h"
#include "symbol/symbolizer.h"

enum { POSITION_MAX = 240, CODE_COLUMNS = 8 }; /* bytes of code that are shown */

/* The place in the source to which an instruction belongs. */
struct insn_place {
	char position[POSITION_MAX]; /* "a.c:7 inner < b.c:12 outer"; "": unknown */
	bool is_shown;               /* one of the functions is there, or it is unknown */
	bool is_target;              /* a jump of the function leads here */
	char callee[120];            /* function that is called; "": none or unknown */
};

/* One function of an executable while it is printed. */
struct code {
	struct annotate_view *v;
	struct annotate_binary *b;
	struct disasm_code insns;
	struct insn_place *places; /* by instruction */
	size_t *of;                /* indices of the instructions that are looked up */
	size_t address;            /* the next of the function's addresses */
};

static void code_fini(struct code *c)
{
	disasm_code_fini(&c->insns);
	free(c->places);
	free(c->of);
}

/* ---- places in the source ---------------------------------------------------------------- */

/* Appends to a text of fixed size, which may truncate it. */
static void append(char *text, size_t cap, const char *part)
{
	size_t len = strlen(text);

	snprintf(text + len, cap - len, "%s", part);
}

static int on_place(void *ctx, size_t cookie, const struct symbol_frame *frames, size_t n)
{
	struct code *c = ctx;
	struct insn_place *place = &c->places[cookie];

	place->is_shown = false;
	for (size_t k = 0; k < n; k++) {
		char line[32];

		place->is_shown |= annotate_is_function(c->v, frames[k].name) ||
				   annotate_is_function(c->v, frames[k].system_name);
		append(place->position, POSITION_MAX, k ? " < " : "");
		if (*frames[k].file) {
			snprintf(line, sizeof(line), ":%u ", frames[k].line);
			append(place->position, POSITION_MAX, text_base_name(frames[k].file));
			append(place->position, POSITION_MAX, line);
		}
		append(place->position, POSITION_MAX, frames[k].name);
	}
	return 0;
}

static int on_callee(void *ctx, size_t cookie, const struct symbol_frame *frames, size_t n)
{
	struct code *c = ctx;
	struct insn_place *place = &c->places[c->of[cookie]];

	snprintf(place->callee, sizeof(place->callee), "%s", frames[n - 1].name);
	return 0;
}

static const struct disasm_insn *insn_at(const struct code *c, size_t i)
{
	return &c->insns.insns.data[i];
}

/* The index of the instruction that contains @vaddr, or SIZE_MAX. */
static size_t find_insn(const struct code *c, uint64_t vaddr)
{
	size_t lo = 0, hi = c->insns.insns.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (insn_at(c, mid)->addr <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || vaddr - insn_at(c, lo - 1)->addr >= insn_at(c, lo - 1)->len)
		return SIZE_MAX;
	return lo - 1;
}

/* Finds the places of all instructions, and the functions that they call. */
static int find_places(struct code *c)
{
	size_t n = c->insns.insns.len, n_callees = 0;
	_cleanup_(freep) uint64_t *addrs = calloc(n + 1, sizeof(*addrs));
	int r;

	c->places = calloc(n + 1, sizeof(*c->places));
	c->of = calloc(n + 1, sizeof(*c->of));
	if (!addrs || !c->places || !c->of)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		addrs[i] = insn_at(c, i)->addr;
		c->places[i].is_shown = true;
	}
	r = recorded_file_resolve(c->b->file, addrs, n, on_place, c);
	for (size_t i = 0; i < n; i++) {
		uint64_t target = insn_at(c, i)->target;
		size_t to = target ? find_insn(c, target) : SIZE_MAX;

		if (to != SIZE_MAX && !insn_at(c, i)->is_call)
			c->places[to].is_target = true;
		if (!target || to != SIZE_MAX)
			continue;
		c->of[n_callees] = i;
		addrs[n_callees++] = target;
	}
	if (r == 0 && n_callees)
		r = recorded_file_resolve(c->b->file, addrs, n_callees, on_callee, c);
	return r;
}

/* ---- lines ------------------------------------------------------------------------------- */

/* The values of the samples in an instruction. Their addresses ascend, as instructions do. */
static void take_values(struct code *c, const struct disasm_insn *insn, int64_t *self,
			int64_t *total)
{
	*self = *total = 0;
	for (; c->address < function_lines_n_addresses(c->v->lines); c->address++) {
		const struct function_address *a = function_lines_address(c->v->lines, c->address);
		uint64_t vaddr;

		if (a->mapping != c->b->mapping)
			return;
		if (recorded_file_vaddr(c->b->file, a->address, &vaddr) < 0)
			continue;
		if (vaddr >= insn->addr + insn->len)
			return;
		if (vaddr < insn->addr)
			continue;
		*self += a->self;
		*total += a->total;
	}
}

static void put_bytes(struct annotate_view *v, const struct disasm_insn *insn)
{
	for (int i = 0; i < CODE_COLUMNS; i++) {
		if (i < insn->len)
			buf_printf(&v->out, "%02x ", insn->code[i]);
		else
			buf_put_str(&v->out, "   ");
	}
	buf_put_str(&v->out, insn->len > CODE_COLUMNS ? "+ " : "  ");
}

static void put_insn(struct code *c, size_t i)
{
	const struct disasm_insn *insn = insn_at(c, i);
	struct annotate_view *v = c->v;
	int64_t self, total;

	take_values(c, insn, &self, &total);
	if (!c->places[i].is_shown)
		return;
	annotate_put_numbers(v, self, total);
	buf_printf(&v->out, "  %s %8" PRIx64 ":  ", c->places[i].is_target ? ">" : " ", insn->addr);
	put_bytes(v, insn);
	buf_put_str(&v->out, insn->text);
	if (*c->places[i].callee) {
		buf_put_str(&v->out, "  # ");
		text_put_safe(&v->out, c->places[i].callee);
	}
	buf_put_byte(&v->out, '\n');
}

static void put_function(struct code *c, const char *name)
{
	struct annotate_view *v = c->v;
	const char *position = "";
	bool skipped = false;

	buf_put_byte(&v->out, '\n');
	text_put_safe(&v->out, recorded_file_path(c->b->file));
	buf_printf(&v->out, ", 0x%" PRIx64 " to 0x%" PRIx64 "%s", c->insns.start, c->insns.end,
		   *name ? ", " : "");
	text_put_safe(&v->out, name);
	buf_put_byte(&v->out, '\n');
	annotate_put_columns(v, "      address  code");
	for (size_t i = 0; i < c->insns.insns.len; i++) {
		const struct insn_place *place = &c->places[i];

		if (place->is_shown && (skipped || strcmp(place->position, position) != 0)) {
			buf_printf(&v->out, "%*s%s", 43, "", skipped ? "... " : "");
			text_put_safe(&v->out, place->position);
			buf_put_byte(&v->out, '\n');
			position = place->position;
		}
		skipped = !place->is_shown;
		put_insn(c, i);
	}
	if (c->insns.is_cut)
		buf_printf(&v->out, "note: the function is longer than %d bytes\n",
			   DISASM_BYTES_MAX);
}

/* ---- functions --------------------------------------------------------------------------- */

/*
 * Prints the function that contains address @i, whose address as linked is @vaddr. *@out_end is the
 * function's end.
 */
static int put_code_at(struct annotate_view *v, struct annotate_binary *b, size_t i, uint64_t vaddr,
		       uint64_t *out_end, struct err *err)
{
	_cleanup_(code_fini) struct code c = { .v = v, .b = b, .address = i };
	const char *position;
	struct err why = { 0 };
	int r = disasm_function(recorded_file_fd(b->file), vaddr, &c.insns, &why);

	if (r < 0)
		return err_set(err, r, "cannot disassemble \"%.80s\" at 0x%" PRIx64 ": %.80s",
			       recorded_file_path(b->file), vaddr, why.msg);
	r = find_places(&c);
	if (r < 0)
		return err_set(err, r, "\"%.120s\": %s", recorded_file_path(b->file), strerror(-r));
	*out_end = c.insns.end > vaddr ? c.insns.end : vaddr + 1;
	/* the function itself is the outermost of the first instruction's functions */
	position = c.insns.insns.len ? strrchr(c.places[0].position, ' ') : NULL;
	put_function(&c, position ? position + 1 : (c.insns.insns.len ? c.places[0].position : ""));
	return 0;
}

static int put_binary(struct annotate_view *v, struct annotate_binary *b, struct err *err)
{
	uint64_t end = 0;
	int r = 0;

	if (!b->file) {
		buf_put_str(&v->out, "\nnote: no machine code: ");
		text_put_safe(&v->out, b->why);
		buf_put_byte(&v->out, '\n');
		return 0;
	}
	for (size_t i = b->first; r == 0 && i < function_lines_n_addresses(v->lines); i++) {
		const struct function_address *a = function_lines_address(v->lines, i);
		uint64_t vaddr;

		if (a->mapping != b->mapping)
			break;
		if (!a->total || recorded_file_vaddr(b->file, a->address, &vaddr) < 0 ||
		    vaddr < end)
			continue;
		r = put_code_at(v, b, i, vaddr, &end, err);
	}
	return r;
}

/* Without any executable there is nothing to print, which is an error. */
int annotate_put_code(struct annotate_view *v, struct err *err)
{
	size_t n_readable = 0;
	int r = 0;

	for (size_t i = 0; i < v->binaries.len; i++)
		n_readable += v->binaries.data[i].file != NULL;
	if (!n_readable)
		return err_set(err, -ENOENT, "--asm: %s",
			       v->binaries.len ? v->binaries.data[0].why
					       : "the profile has no addresses of this function");
	buf_put_str(&v->out, "\nA sample is often at an instruction after the one that used the "
			     "time (skid). \">\" marks targets of jumps.\n");
	for (size_t i = 0; r == 0 && i < v->binaries.len; i++)
		r = put_binary(v, &v->binaries.data[i], err);
	return r;
}
