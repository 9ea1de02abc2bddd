/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detection of HotSpot and attachment to its processes. A file is HotSpot if it exports the
 * tables that structs.c reads. The layout of a process and its code ranges come from its
 * memory: the CodeCache has one or more CodeHeaps, each with a fixed address range reserved at
 * startup and a segment map that leads from an address to the code block around it. The
 * interpreter is inside of one of them. As the whole reserved range is registered, a heap that
 * grows requires no update.
 *
 * CodeHeap and StubQueue are declared in HotSpot's memory/heap.hpp and code/stubs.hpp. Versions
 * 8 to 26 are supported.
 */
#include <errno.h>
#include <string.h>

#include "elf/gnuhash.h"
#include "elf/image.h"
#include "lang/find.h"
#include "lang/jvm/jvm.h"

enum {
	HEAPS_MAX = 4,
	ENTRIES_MAX = 4,
	TRIMMED_MAJOR = 11,
	ZERO_FREE_MAJOR = 20, /* first version with zero-free UNSIGNED5 (packed.c) */
	CODELETS_MAX = 4096,
	CODELET_BYTES_MAX = 1 << 20,
};

#define CODE_BYTES_MAX (1ULL << 32)
/* ContinuationEntry::_return_pc, which the tables of JDK 21 to 24 do not list */
#define RETURN_PC  "_ZN17ContinuationEntry10_return_pcE"
#define ENTRY_NAME "method entry point"

static const char *const symbol_names[JVM_SYMBOL_MAX] = {
#define X(sym, name) #name,
	JVM_SYMBOLS(X)
#undef X
};

/* Copies the JDK's version from the text that `java -Xinternalversion` prints. */
static void find_version(const struct elf_image *img, struct lang_detected *out)
{
	if (lang_find_text(img, " for linux-amd64 JRE (", out->version, sizeof(out->version)) < 0)
		out->version[0] = '\0';
	out->version[strspn(out->version, "0123456789._")] = '\0';
}

int jvm_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
	       struct lang_detected *out)
{
	struct jvm_vm jvm = { 0 };
	struct elf_rawsym sym;
	uint64_t off;

	for (size_t i = 0; i < JVM_SYMBOL_ROUTINES; i++) {
		if (elf_gnuhash_lookup(img, symbol_names[i], &sym) < 0)
			return -ENOENT;
		jvm.symbols[i] = sym.vaddr;
	}
	if (elf_symbol_lookup(img, ELF_SYMTAB, symbol_names[JVM_SYMBOL_ROUTINES], &sym) == 0)
		jvm.symbols[JVM_SYMBOL_ROUTINES] = sym.vaddr;
	if (elf_symbol_lookup(img, ELF_SYMTAB, RETURN_PC, &sym) == 0)
		jvm.entry_pc = sym.vaddr;
	/* Any symbol in code serves to compute the load address of a mapping. */
	if (elf_gnuhash_lookup(img, "JNI_CreateJavaVM", &sym) < 0 ||
	    elf_image_offset_of(img, sym.vaddr, &off) < 0)
		return -ENOENT;
	out->code.loop[0] = (struct vm_range){ off, off };
	out->loop_vaddr = sym.vaddr;
	out->runtime = "HotSpot";
	find_version(img, out);
	tables->jvm[vm] = jvm;
	return 0;
}

/* ---- reading ---------------------------------------------------------------- */

struct job {
	const struct lang_process *p;
	struct jvm_found facts[JVM_FACT_MAX];
	struct jvm_vm vm;
	struct unwind_mapping *out;
	int n;
};

static uint64_t fact(const struct job *j, enum jvm_fact f)
{
	return j->facts[f].value;
}

static bool has_required_facts(const struct job *j)
{
	static const enum jvm_fact needed[] = {
		JVM_FACT_HEAP_MEMORY,
		JVM_FACT_HEAP_SEGMAP,
		JVM_FACT_HEAP_SHIFT,
		JVM_FACT_SPACE_LOW_BOUNDARY,
		JVM_FACT_SPACE_HIGH_BOUNDARY,
		JVM_FACT_SPACE_LOW,
		JVM_FACT_INTERPRETER_CODE,
		JVM_FACT_QUEUE_BUFFER,
		JVM_FACT_QUEUE_BEGIN,
		JVM_FACT_QUEUE_END,
		JVM_FACT_CODELET_SIZE,
		JVM_FACT_CODELET_DESCRIPTION,
		JVM_FACT_THREADS,
	};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!j->facts[needed[i]].found)
			return false;
	return true;
}

static int read_u32(const struct job *j, uint64_t addr, uint32_t *out)
{
	return j->p->read(j->p->ctx, addr, out, sizeof(*out)) ? -EAGAIN : 0;
}

static int read_u64(const struct job *j, uint64_t addr, uint64_t *out)
{
	return j->p->read(j->p->ctx, addr, out, sizeof(*out)) ? -EAGAIN : 0;
}

/*
 * Returns whether the VM has started a thread. Until version 20 the interpreter is complete by
 * then; has_interpreter() covers later versions.
 */
static bool is_running(const struct job *j)
{
	uint32_t n_threads;

	return read_u32(j, fact(j, JVM_FACT_THREADS), &n_threads) == 0 && n_threads;
}

static int read_major(const struct job *j, uint32_t *out)
{
	uint8_t major;
	int r;

	if (j->facts[JVM_FACT_JDK_VERSION].found) {
		r = j->p->read(j->p->ctx, fact(j, JVM_FACT_JDK_VERSION), &major, 1);
		*out = major;
		return r ? -EAGAIN : 0;
	}
	return j->facts[JVM_FACT_VM_MAJOR].found ? read_u32(j, fact(j, JVM_FACT_VM_MAJOR), out)
						 : -ENOENT;
}

static void put_region(struct job *j, uint32_t kind, uint64_t start, uint64_t end,
		       const struct unwind_mapping *heap)
{
	if (j->n >= LANG_REGIONS_MAX)
		return;
	j->out[j->n] = heap ? *heap : (struct unwind_mapping){ 0 };
	j->out[j->n].start = start;
	j->out[j->n].end = end;
	j->out[j->n++].kind = kind;
}

/* ---- heaps ------------------------------------------------------------------ */

/*
 * Registers the reserved range of the CodeHeap at @heap. The mapping's file_off is the address of
 * the segment map less the number of segments before the range, so that the walk can index it with
 * an address shifted by the logarithm of the segment size.
 */
static int put_heap(struct job *j, uint64_t heap)
{
	uint64_t memory = heap + fact(j, JVM_FACT_HEAP_MEMORY), low, high, segmap;
	uint32_t shift;

	if (read_u64(j, memory + fact(j, JVM_FACT_SPACE_LOW_BOUNDARY), &low) < 0 ||
	    read_u64(j, memory + fact(j, JVM_FACT_SPACE_HIGH_BOUNDARY), &high) < 0 ||
	    read_u64(j, heap + fact(j, JVM_FACT_HEAP_SEGMAP) + fact(j, JVM_FACT_SPACE_LOW),
		     &segmap) < 0 ||
	    read_u32(j, heap + fact(j, JVM_FACT_HEAP_SHIFT), &shift) < 0)
		return -EAGAIN;
	if (!low || high <= low || high - low > CODE_BYTES_MAX || !segmap || shift < 4 ||
	    shift > 16 || low & ((1ULL << shift) - 1))
		return -EAGAIN;
	put_region(j, MAPPING_LANG_KIND(LANG_JVM, JVM_PART_CODE), low, high,
		   &(struct unwind_mapping){
			   .file_off = segmap - (low >> shift),
			   .file = MAPPING_LANG_FILE(0, shift),
		   });
	return 0;
}

/*
 * Registers all CodeHeaps. Version 8 has one; later ones have an array of one for each kind of
 * code. Returns 0, -ENOENT if facts are missing, or -EAGAIN if the VM has not created them yet.
 */
static int put_heaps(struct job *j)
{
	enum jvm_fact len_fact =
		j->facts[JVM_FACT_ARRAY_LEN].found ? JVM_FACT_ARRAY_LEN : JVM_FACT_ARRAY_LEN_8;
	uint64_t array, data, heap;
	uint32_t n;
	int r;

	if (!j->facts[JVM_FACT_HEAPS].found) {
		if (!j->facts[JVM_FACT_HEAP].found)
			return -ENOENT;
		r = read_u64(j, fact(j, JVM_FACT_HEAP), &heap);
		return r < 0 || !heap ? -EAGAIN : put_heap(j, heap);
	}
	if (!j->facts[len_fact].found || !j->facts[JVM_FACT_ARRAY_DATA].found)
		return -ENOENT;
	if (read_u64(j, fact(j, JVM_FACT_HEAPS), &array) < 0 || !array ||
	    read_u32(j, array + fact(j, len_fact), &n) < 0 || !n || n > HEAPS_MAX ||
	    read_u64(j, array + fact(j, JVM_FACT_ARRAY_DATA), &data) < 0)
		return -EAGAIN;
	for (uint32_t i = 0; i < n; i++) {
		r = read_u64(j, data + i * sizeof(heap), &heap);
		if (r == 0)
			r = put_heap(j, heap);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- the interpreter -------------------------------------------------------- */

static bool is_method_entry(const struct job *j, uint64_t codelet)
{
	char name[sizeof(ENTRY_NAME)] = "";
	uint64_t text;

	if (read_u64(j, codelet + fact(j, JVM_FACT_CODELET_DESCRIPTION), &text) < 0 || !text ||
	    j->p->read(j->p->ctx, text, name, sizeof(name) - 1))
		return false;
	return !strcmp(name, ENTRY_NAME);
}

/*
 * Registers the codelets that build the frame of an interpreted method. They are adjacent, in a
 * few groups.
 */
static void put_entries(struct job *j, uint64_t at, uint64_t end, const struct unwind_mapping *heap)
{
	uint64_t from = 0;
	int first = j->n;
	uint32_t size;

	for (int i = 0; i < CODELETS_MAX && at < end; i++, at += size) {
		bool entry = is_method_entry(j, at);

		if (entry && !from)
			from = at;
		if (!entry && from && j->n - first < ENTRIES_MAX)
			put_region(j,
				   MAPPING_LANG_KIND(LANG_JVM, JVM_PART_ENTRY) |
					   MAPPING_ENTERED_BY_JUMP,
				   from, at, heap);
		if (!entry)
			from = 0;
		if (read_u32(j, at + fact(j, JVM_FACT_CODELET_SIZE), &size) < 0 || !size ||
		    size > CODELET_BYTES_MAX)
			return;
	}
}

/*
 * Returns whether the interpreter is complete. Since version 21 a thread exists while its
 * codelets are still being generated. HotSpot releases the unused end of the buffer when it has
 * generated all of them, so that limit and end become equal. Version 8 does not release it, but
 * generates the interpreter before its first thread.
 */
static bool has_interpreter(const struct job *j, uint32_t major)
{
	uint64_t queue;
	uint32_t end, limit;

	if (major < TRIMMED_MAJOR || !j->facts[JVM_FACT_QUEUE_LIMIT].found)
		return true;
	return read_u64(j, fact(j, JVM_FACT_INTERPRETER_CODE), &queue) == 0 && queue &&
	       read_u32(j, queue + fact(j, JVM_FACT_QUEUE_END), &end) == 0 &&
	       read_u32(j, queue + fact(j, JVM_FACT_QUEUE_LIMIT), &limit) == 0 && end == limit;
}

/* Registers the interpreter's range, as part of the CodeHeap that contains it. */
static int put_interpreter(struct job *j)
{
	const struct unwind_mapping *heap = NULL;
	uint64_t queue, buffer;
	uint32_t begin, end;

	if (read_u64(j, fact(j, JVM_FACT_INTERPRETER_CODE), &queue) < 0 || !queue ||
	    read_u64(j, queue + fact(j, JVM_FACT_QUEUE_BUFFER), &buffer) < 0 ||
	    read_u32(j, queue + fact(j, JVM_FACT_QUEUE_BEGIN), &begin) < 0 ||
	    read_u32(j, queue + fact(j, JVM_FACT_QUEUE_END), &end) < 0 || begin >= end)
		return -EAGAIN;
	for (int i = 0; i < j->n && !heap; i++)
		if (buffer + begin >= j->out[i].start && buffer + end <= j->out[i].end &&
		    buffer + begin < buffer + end)
			heap = &j->out[i];
	if (!heap)
		return -EAGAIN;
	put_region(j, MAPPING_LANG_KIND(LANG_JVM, JVM_PART_INTERPRETER) | MAPPING_ENTERED_BY_JUMP,
		   buffer + begin, buffer + end, heap);
	put_entries(j, buffer + begin, buffer + end, heap);
	return 0;
}

/* ---- all of it -------------------------------------------------------------- */

int jvm_attach(const struct vm_tables *tables, uint32_t vm, uint64_t bias,
	       const struct lang_process *p, const struct vm_tables *own,
	       struct unwind_mapping *out)
{
	struct job j = { .p = p, .out = out };
	uint32_t major = 0;
	bool running;
	int r = jvm_structs_read(&tables->jvm[vm], bias, p, j.facts);

	if (r < 0)
		return r;
	if (!has_required_facts(&j))
		return -ENOENT;
	memcpy(&j.vm, &tables->jvm[vm], sizeof(j.vm));
	r = jvm_layout(j.facts, &j.vm);
	if (r == 0)
		r = read_major(&j, &major);
	if (r < 0)
		return r;
	j.vm.zero_free = major >= ZERO_FREE_MAJOR;
	j.vm.file_vm = vm;
	running = is_running(&j) && has_interpreter(&j, major);
	if (running)
		jvm_chunks_read(j.facts, bias, p, &j.vm);
	r = put_heaps(&j);
	if (r == 0 && running)
		r = put_interpreter(&j);
	if (r < 0)
		return r;
	memcpy(&own->jvm[0], &j.vm, sizeof(j.vm));
	return running ? j.n : j.n | LANG_ATTACH_PARTIAL;
}
