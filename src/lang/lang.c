/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry of languages and the table of the functions that were read. A function is identified
 * by its process, its address and its cookie. It is read when a stack first contains it, because
 * the function or its process may be gone later, and is not read again until langs_window() has
 * forgotten it.
 *
 * The functions inlined at a place of generated code are recorded in the same way, as an expansion.
 */
#include "lang/lang.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "lang/functions.h"
#include "lang/golang.h"
#include "lang/memo.h"
#include "lang/runtime.h"

#define X(sym, name) extern const struct lang name##_lang;
#include "bpf/shared/langs.def"
#undef X

static const struct lang *const languages[LANG_MAX] = {
#define X(sym, name) [LANG_##sym] = &name##_lang,
#include "bpf/shared/langs.def"
#undef X
};

/* The identity of a function, or the first part of that of an expansion. */
struct key {
	uint32_t pid, cookie;
	uint64_t start_ns, head; /* head: the first word of a frame, without its slot and flags */
};

static const char unknown_version[] = "unknown version";
static const char unknown_structures[] = "its structures were not recognized";

/* The FRAME_SCRIPT words that replace a frame of generated code. */
struct expansion {
	struct key key;
	uint64_t place;    /* the frame's second word */
	uint32_t first, n; /* range of langs.expanded */
};

struct langs {
	struct vm_tables tables;
	bool fold, signatures;
	uint32_t n_vms; /* entries used in the tables; [0] stands for no VM */
	struct lang_memo *memo;
	struct lang_runtimes runtimes;
	struct {
		VEC(struct lang_function);
	} functions;
	struct {
		VEC(struct key);
	} keys;              /* parallel to functions */
	struct index by_key; /* ids of functions */
	size_t text_bytes;   /* memory of the functions' names and lines */
	struct {
		VEC(uint32_t);
	} free_ids;      /* ids of forgotten functions */
	uint32_t window; /* number of the current window */
	struct {
		VEC(struct expansion);
	} expansions;
	struct {
		VEC(uint64_t);
	} expanded;            /* words of all expansions */
	struct index by_place; /* positions in expansions */
};

int langs_new(struct langs **out, const struct vm_tables *tables, bool fold)
{
	struct langs *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	if (lang_memo_new(&l->memo) < 0) {
		free(l);
		return -ENOMEM;
	}
	l->tables = *tables;
	l->fold = fold;
	l->n_vms = 1;
	*out = l;
	return 0;
}

void langs_enable_signatures(struct langs *l)
{
	l->signatures = true;
}

static void function_fini(struct lang_function *f)
{
	free(f->name);
	free(f->file);
	free(f->near_name);
	free(f->lines);
}

void langs_free(struct langs *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->functions.len; i++)
		function_fini(&l->functions.data[i]);
	vec_fini(&l->free_ids);
	vec_fini(&l->functions);
	vec_fini(&l->keys);
	index_fini(&l->by_key);
	vec_fini(&l->expansions);
	vec_fini(&l->expanded);
	index_fini(&l->by_place);
	lang_memo_free(l->memo);
	free(l);
}

/* ---- detection -------------------------------------------------------------- */

const struct lang_runtimes *langs_runtimes(const struct langs *l)
{
	return &l->runtimes;
}

/* @r is the result of detection, which is not -ENOENT. */
static void add_runtime(struct langs *l, const struct lang_detected *d, int r,
			struct lang_file *out)
{
	const char *problem = r != -ENOTSUP ? NULL : d->problem ? d->problem : unknown_version;
	bool compiles = d->code.lang == LANG_NONE || languages[d->code.lang]->attach;

	out->runtime = lang_runtimes_add(
		&l->runtimes, d->runtime, d->version, problem,
		compiles ? "its stacks may be incomplete and its functions without names"
			 : "its stacks show functions of the interpreter instead of the program");
	if (!compiles)
		memcpy(out->runs, d->code.loop, sizeof(out->runs));
}

void langs_detect(struct langs *l, const struct elf_image *img, struct lang_file *out)
{
	struct lang_detected d = { 0 };
	int r;

	*out = (struct lang_file){ 0 };
	for (uint32_t i = LANG_NONE + 1; i < LANG_MAX && l->n_vms < VM_TABLE_MAX; i++) {
		d = (struct lang_detected){ .code = { .lang = i, .fold = l->fold } };
		r = languages[i]->detect(img, &l->tables, l->n_vms, &d);
		if (r == 0 || r == -ENOTSUP)
			add_runtime(l, &d, r, out);
		if (r < 0)
			continue;
		out->loop_vaddr = d.loop_vaddr;
		out->loop_off = d.code.loop[0].lo;
		out->attaches = languages[i]->attach;
		out->vm = l->n_vms++;
		l->tables.codes[out->vm] = d.code;
		return;
	}
	d = (struct lang_detected){ .runtime = "Go",
				    .problem = "its table of functions was not recognized" };
	r = out->runtime ? -ENOENT : golang_detect(img, d.version);
	if (r == 0 || r == -ENOTSUP)
		add_runtime(l, &d, r, out);
}

void langs_note_sample(struct langs *l, const struct lang_file *file, uint64_t off,
		       const char *path)
{
	bool is_run = !file->runs[0].hi;

	for (size_t i = 0; i < VM_RANGES_MAX; i++)
		is_run |= off >= file->runs[i].lo && off < file->runs[i].hi;
	if (is_run)
		lang_runtimes_note(&l->runtimes, file->runtime, path);
}

void langs_give_up(struct langs *l, const struct lang_file *file)
{
	if (file->runtime)
		atomic_store(&l->runtimes.all[file->runtime - 1].problem, unknown_structures);
}

int langs_attach(struct langs *l, const struct lang_file *file, uint64_t bias,
		 const struct lang_process *p, struct unwind_mapping *out)
{
	struct vm_code *code = &l->tables.codes[file->vm];
	int n = languages[code->lang]->attach(&l->tables, file->vm, l->n_vms, bias, p, out);
	uint32_t used = 0;

	for (int i = 0; n > 0 && i < (n & ~LANG_ATTACH_PARTIAL); i++)
		used |= MAPPING_LANG_VM(out[i].file) == l->n_vms;
	if (used)
		l->tables.codes[l->n_vms++] = *code;
	if (n == -ENOENT)
		langs_give_up(l, file);
	return n;
}

/* ---- functions ------------------------------------------------------------ */

struct key_query {
	const struct langs *l;
	struct key key;
};

static bool same_key(const void *ctx, uint32_t id)
{
	const struct key_query *q = ctx;
	const struct key *k = &q->l->keys.data[id];

	return k->pid == q->key.pid && k->cookie == q->key.cookie &&
	       k->start_ns == q->key.start_ns && k->head == q->key.head;
}

static uint32_t lang_of(const struct langs *l, uint64_t head)
{
	uint32_t lang = l->tables.codes[VM_FRAME_INDEX(head)].lang;

	return lang < LANG_MAX ? lang : LANG_NONE;
}

/* Reads a function; its state records the failure if it could not be read. */
static struct lang_function function_read(struct langs *l, const struct lang_process *p,
					  const uint64_t words[2])
{
	uint64_t head = words[0];
	uint32_t lang = lang_of(l, head), cookie = (uint32_t)words[1];
	struct lang_function f = { .lang = (uint8_t)lang,
				   .state = LANG_FUNCTION_UNREADABLE,
				   .place = words[1] >> 32 };
	struct lang_process process = *p;
	int r;

	if (lang == LANG_NONE)
		return f;
	process.signatures = l->signatures;
	process.memo = l->memo;
	r = languages[lang]->read(&l->tables, VM_FRAME_INDEX(head), &process, VM_FRAME_ADDR(head),
				  cookie, &f);
	f.state = r == 0         ? LANG_FUNCTION_READ
		  : r == -ESTALE ? LANG_FUNCTION_STALE
				 : LANG_FUNCTION_UNREADABLE;
	return f;
}

static size_t text_bytes(const struct lang_function *f)
{
	return f->n_lines + (f->name ? strlen(f->name) + 1 : 0) +
	       (f->file ? strlen(f->file) + 1 : 0) + (f->near_name ? strlen(f->near_name) + 1 : 0);
}

/* Adds a function under an id that is free, or else a new one. Takes ownership of *@f. */
static int function_add(struct langs *l, const struct key *key, const struct lang_function *f,
			uint32_t *out_id)
{
	bool reused = l->free_ids.len > 0;
	uint32_t id = reused ? l->free_ids.data[l->free_ids.len - 1] : (uint32_t)l->functions.len;
	int r = id < LANG_FUNCTIONS_MAX ? 0 : -ENOSPC;

	if (r == 0 && !reused)
		r = vec_reserve(&l->functions, l->functions.len + 1);
	if (r == 0 && !reused)
		r = vec_reserve(&l->keys, l->keys.len + 1);
	if (r == 0)
		r = index_add(&l->by_key, f->hash, id);
	if (r < 0)
		return r;
	if (reused)
		l->free_ids.len--;
	else
		l->keys.len = ++l->functions.len;
	l->functions.data[id] = *f;
	l->keys.data[id] = *key;
	l->text_bytes += text_bytes(f);
	*out_id = id;
	return 0;
}

/* Reads the function @id again, from the copy that the frame @words refers to. */
static void function_retry(struct langs *l, const struct lang_process *p, uint32_t id,
			   const uint64_t words[2])
{
	struct lang_function f = function_read(l, p, words), *old = &l->functions.data[id];

	f.hash = old->hash;
	f.used = old->used;
	l->text_bytes += text_bytes(&f) - text_bytes(old);
	function_fini(old);
	*old = f;
}

/* Reads an unnamed function again, as this caller may have a name for it; limits the attempts. */
static void function_rename(struct langs *l, const struct lang_process *p, uint32_t id,
			    const uint64_t words[2])
{
	uint8_t n_attempts = l->functions.data[id].unnamed - 1;

	function_retry(l, p, id, words);
	if (l->functions.data[id].unnamed)
		l->functions.data[id].unnamed = n_attempts;
}

/*
 * Returns true if another function has replaced the function @id in the process. Its key is then
 * removed, so that the new one is read; words that refer to @id remain valid.
 */
static bool function_is_gone(struct langs *l, const struct lang *lang, const struct lang_process *p,
			     uint32_t id, const uint64_t words[2])
{
	const struct lang_function *f = &l->functions.data[id];

	if (!lang || !lang->is_still || f->state != LANG_FUNCTION_READ ||
	    lang->is_still(p, VM_FRAME_ADDR(words[0]), f, words[1] >> 32))
		return false;
	index_remove(&l->by_key, f->hash, id);
	return true;
}

/* Returns the id of a frame's function; LANG_FUNCTIONS_MAX if the table is full. */
static uint32_t function_of(struct langs *l, const struct lang_process *p, const uint64_t words[2])
{
	struct key_query query = { l, { p->pid, (uint32_t)words[1], p->start_ns, 0 } };
	const struct lang *lang = languages[lang_of(l, words[0])];
	/* without a cookie, the walk could not read the function, and only its address remains */
	bool by_cookie = lang && lang->by_cookie && query.key.cookie;
	uint64_t addr = by_cookie ? 0 : VM_FRAME_ADDR(words[0]);
	struct lang_function f;
	uint32_t hash, id;

	query.key.head = FRAME_WORD(FRAME_VM, (words[0] & ~VM_FRAME_ADDR(UINT64_MAX)) | addr);
	hash = hash_u64(query.key.head ^ p->start_ns ^ (uint64_t)query.key.cookie << 20 ^ p->pid);
	if (index_find(&l->by_key, hash, same_key, &query, &id) &&
	    !function_is_gone(l, lang, p, id, words)) {
		if (by_cookie && l->functions.data[id].state != LANG_FUNCTION_READ)
			function_retry(l, p, id, words);
		else if (l->functions.data[id].unnamed && p->caller)
			function_rename(l, p, id, words);
		l->functions.data[id].used = l->window;
		return id;
	}
	f = function_read(l, p, words);
	f.hash = hash;
	f.used = l->window;
	if (function_add(l, &query.key, &f, &id) == 0)
		return id;
	function_fini(&f);
	return LANG_FUNCTIONS_MAX;
}

static void function_forget(struct langs *l, uint32_t id)
{
	struct lang_function *f = &l->functions.data[id];

	if (vec_push(&l->free_ids, id) < 0)
		return; /* without memory for the free id, the function stays */
	index_remove(&l->by_key, f->hash, id);
	l->text_bytes -= text_bytes(f);
	function_fini(f);
	*f = (struct lang_function){ .state = LANG_FUNCTION_FORGOTTEN };
}

static void expansions_forget(struct langs *l)
{
	index_fini(&l->by_place);
	l->by_place = (struct index){ 0 };
	vec_fini(&l->expansions);
	vec_fini(&l->expanded);
}

void langs_window(struct langs *l, size_t text_max)
{
	bool is_full = l->functions.len - l->free_ids.len > LANG_FUNCTIONS_RETAINED ||
		       l->text_bytes > text_max;

	l->window++;
	/* expansions refer to function ids; they are computed again when needed */
	if (is_full || l->expansions.len > LANG_FUNCTIONS_RETAINED)
		expansions_forget(l);
	if (!is_full)
		return;
	for (uint32_t i = 0; i < l->functions.len; i++)
		if (l->functions.data[i].state != LANG_FUNCTION_FORGOTTEN &&
		    l->functions.data[i].used + 1 < l->window)
			function_forget(l, i);
}

size_t langs_bytes(const struct langs *l)
{
	return l->functions.cap * sizeof(*l->functions.data) + l->keys.cap * sizeof(*l->keys.data) +
	       l->free_ids.cap * sizeof(uint32_t) + l->by_key.n_slots * sizeof(struct index_slot) +
	       l->text_bytes + l->expansions.cap * sizeof(struct expansion) +
	       l->expanded.cap * sizeof(uint64_t) +
	       l->by_place.n_slots * sizeof(struct index_slot) + lang_memo_bytes(l->memo);
}

uint64_t langs_script_word(struct langs *l, const struct lang_process *p, const uint64_t words[2])
{
	uint64_t id = function_of(l, p, words);

	return FRAME_WORD(FRAME_SCRIPT, id << 32 | words[1] >> 32);
}

static const struct lang *lang_of_vm(const struct langs *l, uint32_t vm)
{
	uint32_t lang = vm < VM_TABLE_MAX ? l->tables.codes[vm].lang : LANG_NONE;

	return lang < LANG_MAX ? languages[lang] : NULL;
}

bool langs_is_trampoline(const struct langs *l, uint32_t vm)
{
	const struct lang *lang = lang_of_vm(l, vm);

	return l->fold && lang && lang->trampolines;
}

bool langs_may_hold_foreign(const struct langs *l, uint32_t vm)
{
	const struct lang *lang = lang_of_vm(l, vm);

	return lang && lang->may_hold_foreign;
}

bool langs_covers_caller(const struct langs *l, uint64_t word)
{
	uint64_t id = (word & FRAME_PAYLOAD_MASK) >> 32;

	return id < l->functions.len && l->functions.data[id].covers_caller;
}

bool langs_fold(const struct langs *l)
{
	return l->fold;
}

/* ---- generated code --------------------------------------------------------- */

struct place_query {
	const struct langs *l;
	const struct key *key;
	uint64_t place;
};

static bool same_place(const void *ctx, uint32_t id)
{
	const struct place_query *q = ctx;
	const struct expansion *e = &q->l->expansions.data[id];

	return e->place == q->place && !memcmp(&e->key, q->key, sizeof(e->key));
}

/* Computes the expansion of the frame in @e and adds it; @e->first and @e->n are set. */
static int expansion_add(struct langs *l, const struct lang_process *p, struct expansion *e,
			 uint32_t hash)
{
	uint32_t vm = VM_FRAME_INDEX(e->key.head), lang = l->tables.codes[vm].lang;
	uint64_t words[2] = { e->key.head, e->place };
	struct lang_call calls[LANG_CALLS_MAX];
	struct lang_process process = *p;
	int n = 0, r = 0;

	process.memo = l->memo;
	if (lang != LANG_NONE && lang < LANG_MAX && languages[lang]->expand)
		n = languages[lang]->expand(&l->tables, vm, &process, words, calls);
	e->first = (uint32_t)l->expanded.len;
	for (int i = 0; i < n && r == 0; i++) {
		words[0] = VM_FRAME_WORD(0, vm, calls[i].addr);
		words[1] = (uint64_t)calls[i].place << 32 | calls[i].cookie;
		r = vec_push(&l->expanded, langs_script_word(l, p, words));
	}
	e->n = (uint32_t)l->expanded.len - e->first;
	if (r == 0)
		r = vec_push(&l->expansions, *e);
	return r < 0 ? r : index_add(&l->by_place, hash, (uint32_t)l->expansions.len - 1);
}

/* Protects the function of a FRAME_SCRIPT word from being forgotten in this window. */
static void function_use(struct langs *l, uint64_t word)
{
	uint64_t id = (word & FRAME_PAYLOAD_MASK) >> 32;

	if (id < l->functions.len)
		l->functions.data[id].used = l->window;
}

size_t langs_expand(struct langs *l, const struct lang_process *p, const uint64_t words[2],
		    const uint64_t **out)
{
	struct expansion e = { .place = words[1] };
	struct place_query query = { l, &e.key, e.place };
	uint32_t hash, id;

	e.key = (struct key){ p->pid, (uint32_t)words[1], p->start_ns, words[0] };
	hash = hash_u64(e.key.head ^ e.place << 7 ^ p->start_ns ^ p->pid);
	if (index_find(&l->by_place, hash, same_place, &query, &id))
		e = l->expansions.data[id];
	else if (l->expansions.len >= LANG_FUNCTIONS_MAX || expansion_add(l, p, &e, hash) < 0)
		return 0;
	*out = l->expanded.data + e.first;
	for (uint32_t i = 0; i < e.n; i++)
		function_use(l, l->expanded.data[e.first + i]);
	return e.n;
}

enum lang_function_state langs_function_state(const struct langs *l, uint64_t word)
{
	uint64_t id = (word & FRAME_PAYLOAD_MASK) >> 32;

	return id < l->functions.len ? l->functions.data[id].state : LANG_FUNCTION_FORGOTTEN;
}

enum vm_lang langs_symbolize(const struct langs *l, uint64_t word, struct symbol_frame *out)
{
	uint64_t id = (word & FRAME_PAYLOAD_MASK) >> 32;
	const struct lang_function *f;
	uint32_t place;

	*out = (struct symbol_frame){ .name = "[too many functions]", .file = "" };
	out->system_name = out->name;
	if (id >= l->functions.len)
		return LANG_NONE;
	f = &l->functions.data[id];
	switch (f->state) {
	case LANG_FUNCTION_READ:
		out->name = f->name;
		out->file = f->file;
		out->start_line = f->first_line;
		place = languages[f->lang]->expand ? (uint32_t)word & ~LANG_PLACE_NEAR
						   : (uint32_t)word;
		out->line = languages[f->lang]->line(f, place);
		if (languages[f->lang]->column)
			out->column = languages[f->lang]->column(f, place);
		break;
	case LANG_FUNCTION_STALE:
		out->name = "[stale function]";
		break;
	default:
		out->name = "[unreadable function]";
		break;
	}
	out->system_name = out->name;
	if (f->near_name && (uint32_t)word & LANG_PLACE_NEAR)
		out->system_name = f->near_name;
	return f->lang;
}
