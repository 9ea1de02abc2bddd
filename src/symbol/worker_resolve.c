/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A DWARF function without a linkage name (in C, but also in C++ anonymous namespaces) gets the
 * name of the symbol if that is mangled, because it includes the namespace and parameters.
 * Otherwise DWARF's name is used, which has no clone suffix such as ".part.0" or ".cold", wherever
 * the symbol table is: in the file or in its debug file.
 */
#include "symbol/worker_resolve.h"

#include <dwarf.h>
#include <string.h>

#include "base/alias.h"
#include "dwarf/dwarf.h"
#include "elf/gopclntab.h"
#include "elf/symtab.h"
#include "symbol/demangle.h"
#include "symbol/file.h"
#include "symbol/source.h"
#include "symbol/worker_files.h"

_Static_assert((int)DWARF_FRAMES_MAX <= (int)PROTOCOL_FRAMES_MAX, "a response holds the frames");
_Static_assert((int)GOPCLNTAB_FRAMES_MAX <= (int)PROTOCOL_FRAMES_MAX,
	       "a response holds the frames");

/* Arrays have one element per address. */
struct batch {
	const struct worker_resolve_opts *opts;
	struct worker_file *f;
	struct symbol_file *own;
	const uint64_t *vaddrs;
	size_t n;
	enum demangle_scheme scheme;
	bool done[PROTOCOL_ADDRS_MAX];
	const char *names[PROTOCOL_ADDRS_MAX];   /* raw symbols of .symtab; NULL if there is none */
	const char *dynamic[PROTOCOL_ADDRS_MAX]; /* raw symbols of .dynsym, where names has none */
	uint64_t pending[PROTOCOL_ADDRS_MAX];
	struct protocol_response response;
};

/* Every address is reported once: later steps skip those that are done. */
static void report(struct batch *b, size_t i, enum symbolizer_source source, size_t n)
{
	b->done[i] = true;
	b->response.index = (uint32_t)i;
	b->response.source = source;
	b->response.n = n;
	b->opts->put(b->opts->ctx, &b->response);
}

static void report_symbol(struct batch *b, size_t i, enum symbolizer_source source, const char *raw)
{
	b->response.frames[0] = (struct protocol_frame){
		.name = demangle_get(b->opts->demangle, raw, b->scheme),
		.system_name = raw,
		.file = "",
	};
	report(b, i, source, 1);
}

static void resolve_go(struct batch *b, size_t i)
{
	struct gopclntab_frame go[GOPCLNTAB_FRAMES_MAX];
	int n = symbol_file_go_frames(b->own, b->vaddrs[i], go, GOPCLNTAB_FRAMES_MAX);

	if (n <= 0)
		return;
	for (int k = 0; k < n; k++)
		b->response.frames[k] = (struct protocol_frame){
			.name = go[k].function,
			.system_name = go[k].function,
			.file = go[k].file,
			.line = go[k].line,
			.start_line = go[k].start_line,
		};
	report(b, i, SYMBOLIZER_GO, (size_t)n);
}

/* Looks up the addresses that are not done, and have no name in @known if it is not NULL. */
static void find_names(struct batch *b, enum symbol_table which, const char **known,
		       const char **names)
{
	for (size_t i = 0; i < b->n; i++)
		b->pending[i] = b->done[i] || (known && known[i]) ? UINT64_MAX : b->vaddrs[i];
	symbol_file_find_names(b->own, which, b->pending, b->n, names);
}

/* ---- debug information ------------------------------------------------------------- */

static bool is_mangled(const char *raw)
{
	return raw && raw[0] == '_' && (raw[1] == 'Z' || raw[1] == 'R' || raw[1] == 'D');
}

static bool is_ada(uint32_t lang)
{
	return lang == DW_LANG_Ada83 || lang == DW_LANG_Ada95;
}

/* True if @symbol is the public name of a C function that debug information calls @internal. */
static bool is_public_name(const char *symbol, const char *internal)
{
	const struct alias_name a = { symbol, strlen(symbol) }, b = { internal, strlen(internal) };

	return internal[0] == '_' && !is_mangled(internal) && alias_name_is_better(&a, &b);
}

/*
 * Returns the raw name of a frame. @symbol is from the file's own symbol tables; NULL for inlined
 * functions. Debug information has internal names of functions that a C library exports
 * (__GI___libc_malloc): the file's own name wins.
 */
static const char *raw_name(const struct dwarf_frame *f, const char *symbol)
{
	const char *name = *f->linkage ? f->linkage : f->name;

	if (!symbol)
		return name;
	if (!*name || is_public_name(symbol, name) || (!*f->linkage && is_mangled(symbol)))
		return symbol;
	return name;
}

/* True if the compiler made @symbol of the function that debug information calls @name. */
static bool is_clone(const char *symbol, const char *name)
{
	size_t len = strlen(name);

	return len && !strncmp(symbol, name, len) && symbol[len] == '.';
}

/*
 * Writes what debug information has for an address. Returns the number of frames. *@out_has_dwarf
 * is false if they come from a symbol table alone.
 */
static int debug_frames(struct batch *b, uint64_t vaddr, struct dwarf_frame *out,
			bool *out_has_dwarf)
{
	int n = worker_file_dwarf_frames(b->f, vaddr, out, DWARF_FRAMES_MAX);
	struct elf_symbol sym;

	*out_has_dwarf = n > 0;
	if (!worker_file_debug_symbol(b->f, vaddr, &sym))
		return n;
	if (n == 0) {
		out[0] = (struct dwarf_frame){ .name = "", .linkage = sym.name, .file = "" };
		return 1;
	}
	/* The last frame is the function itself; functions inlined into it have no symbol. */
	if (!*out[n - 1].linkage && !is_clone(sym.name, out[n - 1].name))
		out[n - 1].linkage = sym.name;
	return n;
}

static void resolve_debug(struct batch *b, size_t i)
{
	struct dwarf_frame frames[DWARF_FRAMES_MAX];
	bool has_dwarf;
	int n = debug_frames(b, b->vaddrs[i], frames, &has_dwarf);

	for (int k = 0; k < n; k++) {
		const char *own = b->names[i] ? b->names[i] : b->dynamic[i];
		const char *raw = raw_name(&frames[k], k + 1 == n ? own : NULL);

		if (!*raw)
			return; /* DWARF has a line here but no function. */
		b->response.frames[k] = (struct protocol_frame){
			.name = demangle_get(b->opts->demangle, raw,
					     is_ada(frames[k].lang) ? DEMANGLE_ADA : b->scheme),
			.system_name = raw,
			.file = frames[k].file,
			.line = frames[k].line,
			.start_line = frames[k].decl_line,
			.discriminator = frames[k].discriminator,
			.md5 = frames[k].md5,
		};
	}
	if (n)
		report(b, i, has_dwarf ? SYMBOLIZER_DWARF : SYMBOLIZER_DEBUG_SYMTAB, (size_t)n);
}

/* ---- all sources ------------------------------------------------------------------- */

/* Names a function that is known by its position only, or reports where it begins. */
static void report_unnamed(struct batch *b, size_t i)
{
	const char *root = symbol_file_function(b->own, b->vaddrs[i], &b->response.start);

	if (root)
		b->response.frames[0] =
			(struct protocol_frame){ .name = root, .system_name = root, .file = "" };
	report(b, i, SYMBOLIZER_UNNAMED, root != NULL);
}

static void resolve_remaining(struct batch *b, size_t i)
{
	if (b->names[i])
		report_symbol(b, i, SYMBOLIZER_SYMTAB, b->names[i]);
	else if (b->dynamic[i])
		report_symbol(b, i, SYMBOLIZER_DYNSYM, b->dynamic[i]);
	else if (b->opts->name_all)
		report_unnamed(b, i);
}

void worker_resolve(const struct worker_resolve_opts *opts, struct worker_file *f,
		    const uint64_t *vaddrs, size_t n)
{
	static struct batch b; /* too large for the stack; the process has one thread */

	b.opts = opts;
	b.f = f;
	b.own = worker_file_own(f);
	b.vaddrs = vaddrs;
	b.n = n < PROTOCOL_ADDRS_MAX ? n : PROTOCOL_ADDRS_MAX;
	memset(b.done, 0, b.n * sizeof(*b.done));
	b.scheme = symbol_file_scheme(b.own);
	for (size_t i = 0; i < b.n; i++)
		resolve_go(&b, i);
	find_names(&b, SYMBOL_TABLE_SYMTAB, NULL, b.names);
	find_names(&b, SYMBOL_TABLE_DYNSYM, b.names, b.dynamic);
	if (!opts->tables_only && worker_file_open_debug(opts->files, f, opts->debug_version))
		for (size_t i = 0; i < b.n; i++)
			if (!b.done[i])
				resolve_debug(&b, i);
	for (size_t i = 0; i < b.n; i++)
		if (!b.done[i])
			resolve_remaining(&b, i);
}
