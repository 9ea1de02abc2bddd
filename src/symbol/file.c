/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments, build id, debuglink and the presence of sections are read once, at the first use.
 * Tables are loaded on first use and may be dropped between uses. All code that reads the mapped
 * file runs under sigbus_run(), because its owner may truncate the file.
 *
 * A process with few samples in a file looks up few addresses. One pass over the unsorted table
 * (elf_symtab_scan()) is then cheaper than sorting it, and leaves no table in memory.
 *
 * The file is mapped when a use first reads it, and unmapped after the use. Go's table and the
 * extents of functions refer to the mapping, which therefore lasts as long as they do.
 */
#include "symbol/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/buf.h"
#include "base/sigbus.h"
#include "elf/debuglink.h"
#include "elf/function_extents.h"
#include "elf/gopclntab.h"
#include "elf/image.h"
#include "elf/info_table.h"
#include "elf/program_main.h"
#include "elf/symtab.h"
#include "elf/symtab_scan.h"
#include "elf/thread_start.h"
#include "symbol/protocol.h"
#include "symbol/table_cache.h"

struct symbol_file {
	int fd; /* -1 between uses */
	const struct table_cache *cache;
	struct elf_image *img; /* NULL: not mapped at the moment */

	bool has_facts, is_elf;
	struct elf_build_id build_id;
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t n_segments;
	bool has_link;
	struct elf_debuglink link;
	bool has_dwarf, has_minidebug;

	struct elf_symtab *tables[SYMBOL_TABLE_MAX];
	bool table_failed[SYMBOL_TABLE_MAX];
	bool scheme_checked;
	enum demangle_scheme scheme;
	struct buf scan_names[SYMBOL_TABLE_MAX]; /* results of the last scan */

	bool go_tried;
	struct gopclntab *go; /* borrows from img */

	/* valid once a function without a symbol was met, else extents is NULL */
	struct function_extents *extents; /* borrows from img */
	uint64_t entry;                   /* where the program begins; 0 in libraries */
	uint64_t main;                    /* main(); 0: unknown */
	bool has_haskell;
	struct elf_thread_start threads[ELF_THREAD_STARTS_MAX];
	size_t n_threads;
};

int symbol_file_new(struct symbol_file **out)
{
	struct symbol_file *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->fd = -1;
	*out = f;
	return 0;
}

void symbol_file_free(struct symbol_file *f)
{
	if (!f)
		return;
	symbol_file_trim(f);
	free(f);
}

/* ---- the file ---------------------------------------------------------------------- */

int symbol_file_fd(const struct symbol_file *f)
{
	return f->fd;
}

/* Maps the file unless it is. Runs under sigbus_run(). Returns 0 or -errno. */
static int map(struct symbol_file *f)
{
	return f->img ? 0 : elf_image_open(&f->img, f->fd, NULL);
}

/* A compressed section exists, although it cannot be read in place. */
static bool has_section(const struct elf_image *img, const char *name)
{
	struct elf_span s;
	int r = elf_image_section(img, name, &s);

	return r == 0 || r == -ENOTSUP;
}

static int read_facts(void *ctx)
{
	struct symbol_file *f = ctx;
	const struct elf_segment *segments;
	int r = map(f);

	if (r < 0)
		return r;
	f->is_elf = true;
	f->n_segments = elf_image_segments(f->img, &segments);
	memcpy(f->segments, segments, f->n_segments * sizeof(*segments));
	elf_note_gnu_build_id(f->img, &f->build_id);
	f->has_link = elf_debuglink(f->img, &f->link) == 0;
	f->has_dwarf = has_section(f->img, ".debug_info") || has_section(f->img, ".zdebug_info");
	f->has_minidebug = has_section(f->img, ".gnu_debugdata");
	return 0;
}

/*
 * A file that cannot be read has no symbols, which is not an error: its frames get the name of the
 * file.
 */
void symbol_file_use(struct symbol_file *f, int fd, const struct table_cache *cache)
{
	f->fd = fd;
	f->cache = cache;
	if (!f->has_facts)
		(void)sigbus_run(read_facts, f);
	f->has_facts = true;
}

static void unmap(struct symbol_file *f)
{
	elf_image_free(f->img);
	f->img = NULL;
}

void symbol_file_idle(struct symbol_file *f)
{
	f->fd = -1;
	f->cache = NULL;
	if (f->go || f->extents)
		elf_image_release_pages(f->img);
	else
		unmap(f);
}

void symbol_file_facts(const struct symbol_file *f, struct protocol_facts *out)
{
	memset(out, 0, sizeof(*out));
	out->build_id = f->build_id;
	out->is_elf = f->is_elf;
	out->n_segments = (uint32_t)f->n_segments;
	memcpy(out->segments, f->segments, f->n_segments * sizeof(*f->segments));
}

const struct elf_build_id *symbol_file_build_id(const struct symbol_file *f)
{
	return &f->build_id;
}

const char *symbol_file_debuglink(const struct symbol_file *f, uint32_t *out_crc)
{
	*out_crc = f->link.crc;
	return f->has_link ? f->link.name : NULL;
}

bool symbol_file_has_dwarf(const struct symbol_file *f)
{
	return f->has_dwarf;
}

bool symbol_file_has_minidebug(const struct symbol_file *f)
{
	return f->has_minidebug;
}

/* ---- symbol tables ------------------------------------------------------------------ */

struct load {
	struct symbol_file *f;
	enum symbol_table which;
};

static int load_table(void *ctx)
{
	static const unsigned int sources[] = {
		[SYMBOL_TABLE_SYMTAB] = ELF_SYMTAB,
		[SYMBOL_TABLE_DYNSYM] = ELF_DYNSYM,
	};
	struct load *l = ctx;
	int r = map(l->f);

	if (r < 0)
		return r;
	return table_cache_load(l->f->cache, l->f->img, sources[l->which], &l->f->tables[l->which]);
}

/* A failure is remembered, so that a damaged file is not parsed for each of its addresses. */
static struct elf_symtab *table(struct symbol_file *f, enum symbol_table which)
{
	struct load l = { f, which };

	if (f->tables[which] || f->table_failed[which])
		return f->tables[which];
	if (sigbus_run(load_table, &l) < 0) {
		f->table_failed[which] = true;
		elf_symtab_free(f->tables[which]);
		f->tables[which] = NULL;
	}
	return f->tables[which];
}

static const char *find_in_table(struct symbol_file *f, enum symbol_table which, uint64_t vaddr)
{
	struct elf_symtab *t = table(f, which);
	struct elf_symbol sym;

	return t && elf_symtab_find(t, vaddr, &sym) == 0 ? sym.name : NULL;
}

/* A scan of one table: ascending addresses, and the index of each in the request. */
struct scan {
	struct symbol_file *f;
	enum symbol_table which;
	size_t n;
	uint64_t vaddrs[ELF_SCAN_MAX];
	size_t at[ELF_SCAN_MAX];
	struct elf_scan_result results[ELF_SCAN_MAX];
};

/* Insertion sort: there are at most ELF_SCAN_MAX addresses. */
static void scan_add(struct scan *scan, uint64_t vaddr, size_t at)
{
	size_t i = scan->n++;

	for (; i && scan->vaddrs[i - 1] > vaddr; i--) {
		scan->vaddrs[i] = scan->vaddrs[i - 1];
		scan->at[i] = scan->at[i - 1];
	}
	scan->vaddrs[i] = vaddr;
	scan->at[i] = at;
}

static int scan_file(void *ctx)
{
	static const enum elf_symtab_source sources[] = {
		[SYMBOL_TABLE_SYMTAB] = ELF_SYMTAB,
		[SYMBOL_TABLE_DYNSYM] = ELF_DYNSYM,
	};
	struct scan *scan = ctx;
	int r = map(scan->f);

	return r < 0 ? r
		     : elf_symtab_scan(scan->f->img, sources[scan->which], scan->vaddrs, scan->n,
				       scan->results, &scan->f->scan_names[scan->which]);
}

/*
 * Fills @names for the addresses that a scan decides and sets their entries in @pending to
 * UINT64_MAX. The others remain for the sorted table.
 */
static void scan_for_names(struct scan *scan, const char **names, uint64_t *pending)
{
	struct buf *text = &scan->f->scan_names[scan->which];
	int r;

	text->len = 0;
	r = sigbus_run(scan_file, scan);
	for (size_t i = 0; i < scan->n; i++) {
		const struct elf_scan_result *a = &scan->results[i];

		if (r < 0 || a->verdict == ELF_SCAN_UNKNOWN)
			continue;
		pending[scan->at[i]] = UINT64_MAX;
		if (a->verdict == ELF_SCAN_FOUND)
			names[scan->at[i]] = (const char *)text->data + a->name;
	}
}

static size_t count_pending(const uint64_t *vaddrs, size_t n)
{
	size_t n_pending = 0;

	for (size_t i = 0; i < n; i++)
		n_pending += vaddrs[i] != UINT64_MAX;
	return n_pending;
}

/*
 * A few addresses are looked up by reading the table once, which needs no memory; only more of them
 * justify a sorted copy.
 */
void symbol_file_find_names(struct symbol_file *f, enum symbol_table which, uint64_t *vaddrs,
			    size_t n, const char **names)
{
	struct scan scan = { .f = f, .which = which };
	size_t n_pending = count_pending(vaddrs, n);

	memset(names, 0, n * sizeof(*names));
	if (!f->tables[which] && !f->table_failed[which] && n_pending &&
	    n_pending <= ELF_SCAN_MAX) {
		for (size_t i = 0; i < n; i++)
			if (vaddrs[i] != UINT64_MAX)
				scan_add(&scan, vaddrs[i], i);
		scan_for_names(&scan, names, vaddrs);
	}
	for (size_t i = 0; i < n; i++)
		if (vaddrs[i] != UINT64_MAX)
			names[i] = find_in_table(f, which, vaddrs[i]);
}

static bool has_text(const struct elf_span *s, const char *text)
{
	return memmem(s->data, s->len, text, strlen(text) + 1) != NULL;
}

/*
 * Main programs built by GNAT define these two functions. Ada libraries are recognized only by the
 * language in their DWARF.
 */
static bool is_ada(const struct symbol_file *f, const struct elf_rawsyms *syms)
{
	struct elf_rawsym sym;

	return has_text(&syms->strs, "adainit") && has_text(&syms->strs, "adafinal") &&
	       elf_symbol_lookup(f->img, ELF_SYMTAB, "adainit", &sym) == 0 &&
	       elf_symbol_lookup(f->img, ELF_SYMTAB, "adafinal", &sym) == 0;
}

/* Returns true if the file has a symbol to which the code of each lazy value of Haskell refers. */
static bool is_haskell(const struct elf_rawsyms *syms)
{
	return has_text(&syms->strs, "stg_upd_frame_info");
}

static int look_for_scheme(void *ctx)
{
	struct symbol_file *f = ctx;
	struct elf_rawsyms syms;
	int r = map(f);

	if (r < 0)
		return r;
	if (elf_rawsyms_open(f->img, ELF_SYMTAB, &syms) == 0 && is_ada(f, &syms))
		f->scheme = DEMANGLE_ADA;
	else if ((elf_rawsyms_open(f->img, ELF_SYMTAB, &syms) == 0 && is_haskell(&syms)) ||
		 (elf_rawsyms_open(f->img, ELF_DYNSYM, &syms) == 0 && is_haskell(&syms)))
		f->scheme = DEMANGLE_HASKELL;
	return 0;
}

enum demangle_scheme symbol_file_scheme(struct symbol_file *f)
{
	if (!f->scheme_checked)
		(void)sigbus_run(look_for_scheme, f);
	f->scheme_checked = true;
	return f->scheme;
}

/* ---- Go, and functions without a symbol ---------------------------------------------- */

static int open_go(void *ctx)
{
	struct symbol_file *f = ctx;
	int r = map(f);

	return r < 0 ? r : gopclntab_open(&f->go, f->img, NULL);
}

static void close_go(struct symbol_file *f)
{
	gopclntab_free(f->go);
	f->go = NULL;
}

int symbol_file_go_frames(struct symbol_file *f, uint64_t vaddr, struct gopclntab_frame *out,
			  size_t cap)
{
	if (!f->go_tried) {
		f->go_tried = true;
		if (sigbus_run(open_go, f) < 0)
			close_go(f);
	}
	return f->go ? gopclntab_frames(f->go, vaddr, out, cap) : -ENOENT;
}

/*
 * True if makecontext()'s trampoline begins at @vaddr. A context begins with a return to it, and
 * return addresses are looked up one byte before them.
 */
static bool is_context_end(const struct symbol_file *f, uint64_t vaddr)
{
	struct elf_span code;

	return elf_image_at_vaddr(f->img, vaddr, ARCH_CONTEXT_END_MIN, &code) == 0 &&
	       arch_is_context_end(code.data, code.len);
}

struct start_job {
	struct symbol_file *file;
	uint64_t vaddr, start;
	bool ends_contexts;
};

/* Returns true for code of Haskell: it has no CFI, unlike GHC's runtime, which is written in C. */
static bool is_haskell_code(struct symbol_file *f, uint64_t vaddr)
{
	return f->has_haskell && !function_extents_in_eh_frame(f->extents, vaddr);
}

/*
 * Where the entry point or main() is between the start that was found and @vaddr, a function begins
 * there: musl's start-up code has neither CFI nor alignment.
 */
static uint64_t after_known(const struct symbol_file *f, uint64_t vaddr, uint64_t start)
{
	const uint64_t known[] = { f->entry, f->main };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i] && known[i] <= vaddr && known[i] > start)
			start = known[i];
	return start;
}

static int find_start(void *ctx)
{
	struct start_job *job = ctx;
	struct symbol_file *f = job->file;
	int r = map(f);

	if (r == 0 && !f->extents) {
		r = function_extents_new(&f->extents, f->img);
		f->main = elf_program_main(f->img);
		f->entry = f->main || elf_entry_is_start(f->img) ? elf_image_entry(f->img) : 0;
		f->n_threads = elf_thread_starts(f->img, f->threads);
		f->has_haskell =
			symbol_file_scheme(f) == DEMANGLE_HASKELL || elf_has_stg_run(f->img);
	}
	if (r < 0)
		return r;
	job->ends_contexts = is_context_end(f, job->vaddr + 1);
	if (is_haskell_code(f, job->vaddr) && elf_info_table_start(f->img, job->vaddr, &job->start))
		return 0;
	r = function_extents_start(f->extents, job->vaddr, &job->start);
	job->start = r == 0 ? after_known(f, job->vaddr, job->start) : 0;
	job->ends_contexts = job->ends_contexts || (r == 0 && is_context_end(f, job->start));
	return r;
}

/* The name of functions that are known without a symbol; NULL for others. */
static const char *root_name(const struct symbol_file *f, uint64_t vaddr, uint64_t start,
			     bool ends_contexts)
{
	if (f->entry && start == f->entry)
		return "_start";
	if (f->main && start == f->main)
		return "main";
	if (ends_contexts)
		return "[context start]";
	for (size_t i = 0; i < f->n_threads; i++)
		if (vaddr >= f->threads[i].start && vaddr < f->threads[i].end)
			return "[thread start]";
	return NULL;
}

const char *symbol_file_function(struct symbol_file *f, uint64_t vaddr, uint64_t *out_start)
{
	struct start_job job = { .file = f, .vaddr = vaddr };
	bool found = f->is_elf && sigbus_run(find_start, &job) == 0;

	*out_start = found ? job.start : vaddr;
	if (!found && !job.ends_contexts)
		return NULL;
	return root_name(f, vaddr, job.start, job.ends_contexts);
}

/* ---- memory ------------------------------------------------------------------------- */

size_t symbol_file_bytes(const struct symbol_file *f)
{
	size_t n = 0;

	for (int i = 0; i < SYMBOL_TABLE_MAX; i++)
		if (f->tables[i])
			n += elf_symtab_bytes(f->tables[i]);
	return n + (f->extents ? function_extents_bytes(f->extents) : 0);
}

size_t symbol_file_mapped(const struct symbol_file *f)
{
	return f->img ? elf_image_len(f->img) : 0;
}

/* Everything freed here is loaded again when it is needed. */
void symbol_file_trim(struct symbol_file *f)
{
	for (int i = 0; i < SYMBOL_TABLE_MAX; i++) {
		elf_symtab_free(f->tables[i]);
		f->tables[i] = NULL;
		buf_fini(&f->scan_names[i]);
	}
	close_go(f);
	f->go_tried = false;
	function_extents_free(f->extents);
	f->extents = NULL;
	unmap(f);
}
