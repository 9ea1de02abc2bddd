/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the walker, language runtimes and unwind rules of the agent for a single stack. Files are
 * swept for rules (src/unwind/sweep.c) when the walk first meets code without any. Generated code
 * is looked for before the walk, as the process is stopped and will not generate more.
 */
#include "capture/stack_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "capture/process_image.h"
#include "elf/image.h"
#include "elf/symtab.h"
#include "lang/lang.h"
#include "lang/vm_memory.h"
#include "unwind/rule_text.h"
#include "unwind/tables.h"
#include "unwind/walk.h"

enum { NAME_MAX_BYTES = 4096 };

struct trace_file {
	char *path;                 /* owned */
	struct elf_symtab *symbols; /* loaded when a frame of the file is printed; or NULL */
	bool tried;
	bool swept;
	bool is_runtime;
};

struct stack_trace {
	struct process_image image;
	struct {
		VEC(struct trace_file);
	} files; /* indexed by file id of the image */
	struct vm_memory vms;
	struct langs *langs;
	struct lang_file generator; /* a runtime that generates code; vm 0: none */
	uint64_t generator_bias;
	uint64_t words[LANG_STACK_MAX];
	size_t n_words;
	bool complete;
};

int stack_trace_new(struct stack_trace **out)
{
	_cleanup_(stack_trace_freep) struct stack_trace *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	vm_memory_init(&t->vms);
	r = process_image_init(&t->image);
	if (r == 0)
		r = langs_new(&t->langs, &t->vms.tables, false);
	if (r < 0)
		return r;
	unwind_walker_set_vms(t->image.walker, &t->vms.tables);
	*out = steal_ptr(&t);
	return 0;
}

void stack_trace_free(struct stack_trace *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->files.len; i++) {
		elf_symtab_free(t->files.data[i].symbols);
		free(t->files.data[i].path);
	}
	vec_fini(&t->files);
	langs_free(t->langs);
	process_image_fini(&t->image);
	free(t);
}

/* ---- mappings ------------------------------------------------------------------ */

/* Stores the path under which file @id is shown. Ids are consecutive. */
static int add_trace_file(struct stack_trace *t, uint32_t id, const char *path)
{
	while (t->files.len <= id) {
		struct trace_file f = { .path = strdup(t->files.len == id ? path : "") };

		if (!f.path || vec_push(&t->files, f) < 0) {
			free(f.path);
			return -ENOMEM;
		}
	}
	return 0;
}

/*
 * Finds out whether the mapping's file is a language runtime. The bias follows from the interpreter
 * loop: its file offset lies in one executable mapping, and the distance of that to its address in
 * the file is the bias. A file whose loop lies in another mapping is checked again when that
 * mapping is added.
 */
static void detect_runtime(struct stack_trace *t, const struct unwind_mapping *m)
{
	const struct elf_image *elf = t->image.files.data[m->file].elf;
	struct vm_slot *slots = t->image.process.vms;
	struct lang_file file = { 0 };
	uint64_t bias;

	if (!elf)
		return;
	langs_detect(t->langs, elf, -1, &file);
	if (!file.vm || file.loop_off < m->file_off ||
	    file.loop_off - m->file_off >= m->end - m->start)
		return;
	bias = m->start + file.loop_off - m->file_off - file.loop_vaddr;
	t->files.data[m->file].is_runtime = true;
	if (file.attaches) {
		t->generator = file;
		t->generator_bias = bias;
		return;
	}
	for (int i = 0; i < VM_SLOTS_MAX; i++) {
		if (slots[i].vm)
			continue;
		slots[i] = (struct vm_slot){ .vm = file.vm, .file = m->file, .bias = bias };
		return;
	}
}

int stack_trace_add(struct stack_trace *t, const struct stack_trace_mapping *m)
{
	struct unwind_mapping map = { .start = m->start, .end = m->end, .file_off = m->file_off };
	const struct unwind_mapping *added;
	int r = process_image_add(&t->image, &map, m->open ? m->open : "", m->bytes,
				  m->bytes ? m->end - m->start : 0);

	if (r < 0)
		return r;
	added = &t->image.mappings.data[t->image.mappings.len - 1];
	if (added->kind != MAPPING_FILE)
		return 0;
	r = add_trace_file(t, added->file, m->path);
	if (r == 0)
		detect_runtime(t, added);
	return r;
}

/* Finds the code that the runtime of the process generates, and maps it. */
static int attach_generator(struct stack_trace *t, const struct lang_process *process)
{
	struct unwind_mapping regions[LANG_REGIONS_MAX];
	int r = 0, n;

	if (!t->generator.vm)
		return 0;
	n = langs_attach(t->langs, &t->generator, t->generator_bias, process, regions);
	n = n > 0 ? n & ~LANG_ATTACH_PARTIAL : 0;
	for (int i = 0; i < n && r == 0; i++)
		r = process_image_cover(&t->image, &regions[i]);
	return r;
}

/* ---- the walk -------------------------------------------------------------------- */

struct memory {
	const struct stack_trace_thread *thread;
	struct stack_trace *trace;
};

static int read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	const struct memory *m = ctx;

	return m->thread->read(m->thread->ctx, addr, dst, len);
}

/*
 * Called when the walk meets code without rules in @file. Infers rules from the code itself, once
 * per file.
 */
static bool need_file(void *ctx, uint32_t file)
{
	const struct memory *m = ctx;
	struct stack_trace *t = m->trace;

	if (file >= t->files.len || t->files.data[file].swept)
		return true;
	t->files.data[file].swept = true;
	process_image_sweep(&t->image, file);
	return true;
}

/*
 * Sealing overwrites the process structure, so the slots of runtimes, which were found before, are
 * saved across it.
 */
int stack_trace_walk(struct stack_trace *t, const struct stack_trace_thread *thread)
{
	struct memory memory = { thread, t };
	struct unwind_walk_input in = { .thread_pointer = thread->thread_pointer,
					.stack_at = thread->regs[UREG_SP],
					.is_stopped = true,
					.read = read_memory,
					.need_file = need_file,
					.ctx = &memory };
	struct lang_stack stack = { .process = { .pid = (uint32_t)thread->pid,
						 .read = thread->read,
						 .ctx = thread->ctx } };
	struct vm_slot slots[VM_SLOTS_MAX];
	int r = attach_generator(t, &stack.process);

	memcpy(slots, t->image.process.vms, sizeof(slots));
	if (r == 0)
		r = process_image_seal(&t->image);
	if (r < 0)
		return r;
	in.process = t->image.process;
	memcpy(in.process.vms, slots, sizeof(slots));
	in.process.reporting_bias = t->generator_bias;
	memcpy(in.regs, thread->regs, sizeof(in.regs));
	stack.n_words = unwind_walk(t->image.walker, &in, &stack.words, &t->complete);
	stack.n_vm_words = unwind_walk_vm_words(t->image.walker, &stack.vm_words, &stack.truncated);
	t->n_words = langs_weave(t->langs, &stack, t->words);
	return 0;
}

static uint32_t file_of(uint64_t word)
{
	return (uint32_t)((word & FRAME_PAYLOAD_MASK) >> FRAME_OFFSET_BITS);
}

bool stack_trace_has_file(const struct stack_trace *t, const char *path)
{
	for (size_t i = 0; i < t->n_words; i++)
		if (t->words[i] >> FRAME_KIND_SHIFT == FRAME_NATIVE &&
		    file_of(t->words[i]) < t->files.len &&
		    !strcmp(t->files.data[file_of(t->words[i])].path, path))
			return true;
	return false;
}

bool stack_trace_is_runtime(const struct stack_trace *t, const char *path)
{
	for (size_t i = 0; i < t->files.len; i++)
		if (t->files.data[i].is_runtime && !strcmp(t->files.data[i].path, path))
			return true;
	return false;
}

/* ---- printing --------------------------------------------------------------------- */

/* A file can be mapped twice; the first mapping that holds the offset is shown. */
static uint64_t address_of(const struct stack_trace *t, uint32_t file, uint64_t off)
{
	for (size_t i = 0; i < t->image.mappings.len; i++) {
		const struct unwind_mapping *m = &t->image.mappings.data[i];

		if (m->kind == MAPPING_FILE && m->file == file && off >= m->file_off &&
		    off - m->file_off < m->end - m->start)
			return m->start + off - m->file_off;
	}
	return 0;
}

/*
 * Symbols are loaded when the first frame of a file is printed; a failure is not repeated per
 * frame.
 */
static const struct elf_symtab *symbols_of(struct trace_file *f, const struct elf_image *elf)
{
	if (!f->tried && elf)
		(void)elf_symtab_load(&f->symbols, elf, ELF_SYMTAB | ELF_DYNSYM, NULL);
	f->tried = true;
	return f->symbols;
}

/* Appends a name that a process or a file has chosen. A symbol may be as long as its file. */
static void print_name(struct buf *out, const char *name)
{
	utf8_put_line(out, name, strnlen(name, NAME_MAX_BYTES));
}

static void print_function(struct stack_trace *t, uint32_t file, uint64_t off, struct buf *out)
{
	const struct elf_image *elf = t->image.files.data[file].elf;
	const struct elf_symtab *symbols = symbols_of(&t->files.data[file], elf);
	struct elf_symbol sym;
	uint64_t vaddr;

	if (symbols && elf_image_vaddr_of(elf, off, &vaddr) == 0 &&
	    elf_symtab_find(symbols, vaddr, &sym) == 0) {
		print_name(out, sym.name);
		buf_printf(out, "+0x%" PRIx64, vaddr - sym.vaddr);
	} else {
		buf_put_str(out, "[no symbol]");
	}
}

static void print_native(struct stack_trace *t, uint64_t word, struct buf *out)
{
	uint32_t file = file_of(word);
	uint64_t off = word & FRAME_OFFSET_MASK;
	const struct unwind_rule *rule;
	char text[UNWIND_RULE_TEXT_MAX];

	if (file >= t->files.len) {
		buf_put_str(out, "[unknown file]\n");
		return;
	}
	buf_printf(out, "0x%012" PRIx64 "  ", address_of(t, file, off));
	print_function(t, file, off, out);
	buf_put_str(out, "  ");
	print_name(out, t->files.data[file].path);
	buf_printf(out, "+0x%" PRIx64 "\n", off);
	rule = unwind_walk_rule(t->image.walker, file, off);
	if (rule) {
		unwind_rule_text(rule, text);
		buf_printf(out, "        cfa: %s\n", text);
	} else {
		buf_put_str(out, "        no unwind rule: the frame pointer is used\n");
	}
}

static void print_script(const struct stack_trace *t, uint64_t word, struct buf *out)
{
	struct symbol_frame f;

	langs_symbolize(t->langs, word, &f);
	print_name(out, f.name);
	buf_put_str(out, "  ");
	print_name(out, f.file);
	buf_printf(out, ":%u\n", f.line);
}

static void print_frame(struct stack_trace *t, uint64_t word, struct buf *out)
{
	switch (word >> FRAME_KIND_SHIFT) {
	case FRAME_NATIVE:
		print_native(t, word, out);
		break;
	case FRAME_SCRIPT:
		print_script(t, word, out);
		break;
	case FRAME_ERROR:
		buf_printf(out, "[incomplete: %s]\n", unwind_error_text(word & FRAME_PAYLOAD_MASK));
		break;
	default:
		buf_printf(out, "0x%012" PRIx64 "  [anonymous memory]\n",
			   (uint64_t)(word & FRAME_PAYLOAD_MASK));
		break;
	}
}

void stack_trace_print(struct stack_trace *t, struct buf *out)
{
	for (size_t i = 0; i < t->n_words; i++) {
		buf_printf(out, "#%-4zu ", i);
		print_frame(t, t->words[i], out);
	}
	buf_put_str(out, t->complete ? "The walk reached the outermost frame.\n"
				     : "The walk ended before the outermost frame.\n");
}
