/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry of languages and what was read of their functions. A function
 * is known by its process, its address and its cookie, and read when it is
 * first seen on a stack: later it, or its process, may be gone. Nothing is
 * read twice, but what langs_window() has forgotten.
 */
#include "lang/lang.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "lang/functions.h"
#include "lang/memo.h"

#define X(sym, name) extern const struct lang name##_lang;
#include "bpf/shared/langs.def"
#undef X

static const struct lang *const all[LANG_MAX] = {
#define X(sym, name) [LANG_##sym] = &name##_lang,
#include "bpf/shared/langs.def"
#undef X
};

struct key {
	uint32_t pid, cookie;
	uint64_t start_ns, head;
};

enum { UNSUPPORTED_MAX = 16 };

struct lang_unsupported {
	char name[sizeof(((struct lang_detected *)NULL)->name)];
};

/* What a frame of generated code was found to show. */
struct expansion {
	struct key key;
	uint64_t place;    /* the frame's second word */
	uint32_t first, n; /* words */
};

struct langs {
	struct vm_tables tables;
	bool fold, signatures;
	uint32_t n_vms; /* [0] is none */
	struct lang_memo *memo;
	struct {
		VEC(struct lang_unsupported);
	} unsupported;
	struct {
		VEC(struct lang_function);
	} functions;
	struct {
		VEC(struct key);
	} keys; /* of functions */
	struct index by_key;
	size_t text_bytes; /* of the functions' names and lines */
	struct {
		VEC(uint32_t);
	} free_ids;      /* numbers of forgotten functions */
	uint32_t window; /* the one that runs */
	struct {
		VEC(struct expansion);
	} expansions;
	struct {
		VEC(uint64_t);
	} expanded; /* words of all of them */
	struct index by_place;
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

void langs_want_signatures(struct langs *l)
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
	vec_fini(&l->unsupported);
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

static void add_unsupported(struct langs *l, const struct lang_detected *d)
{
	struct lang_unsupported u;

	memcpy(u.name, d->name, sizeof(u.name));
	for (size_t i = 0; i < l->unsupported.len; i++)
		if (!strcmp(l->unsupported.data[i].name, u.name))
			return;
	if (l->unsupported.len < UNSUPPORTED_MAX)
		(void)vec_push(&l->unsupported, u); /* only not told of */
}

const char *langs_unsupported(const struct langs *l, size_t i)
{
	return i < l->unsupported.len ? l->unsupported.data[i].name : NULL;
}

void langs_detect(struct langs *l, const struct elf_image *img, struct lang_file *out)
{
	*out = (struct lang_file){ 0 };
	for (uint32_t i = LANG_NONE + 1; i < LANG_MAX && l->n_vms < VM_TABLE_MAX; i++) {
		struct lang_detected d = { .code = { .lang = i, .fold = l->fold } };
		int r = all[i]->detect(img, &l->tables, l->n_vms, &d);

		if (r == -ENOTSUP)
			add_unsupported(l, &d);
		if (r < 0)
			continue;
		out->loop_vaddr = d.loop_vaddr;
		out->loop_off = d.code.loop[0].lo;
		out->attaches = all[i]->attach;
		out->vm = l->n_vms++;
		l->tables.codes[out->vm] = d.code;
		return;
	}
}

int langs_attach(struct langs *l, const struct lang_file *file, uint64_t bias,
		 const struct lang_process *p, struct unwind_mapping *out)
{
	struct vm_code *code = &l->tables.codes[file->vm];
	int n = all[code->lang]->attach(&l->tables, file->vm, l->n_vms, bias, p, out);
	uint32_t used = 0;

	for (int i = 0; n > 0 && i < (n & ~LANG_ATTACH_PARTLY); i++)
		used |= JVM_MAPPING_VM(out[i].file) == l->n_vms;
	if (used)
		l->tables.codes[l->n_vms++] = *code;
	return n;
}

/* ---- functions ------------------------------------------------------------ */

struct find {
	const struct langs *l;
	struct key key;
};

static bool same_key(const void *ctx, uint32_t id)
{
	const struct find *f = ctx;
	const struct key *k = &f->l->keys.data[id];

	return k->pid == f->key.pid && k->cookie == f->key.cookie &&
	       k->start_ns == f->key.start_ns && k->head == f->key.head;
}

static uint32_t lang_of(const struct langs *l, uint64_t head)
{
	uint32_t lang = l->tables.codes[VM_FRAME_INDEX(head)].lang;

	return lang < LANG_MAX ? lang : LANG_NONE;
}

static struct lang_function function_read(struct langs *l, const struct lang_process *p,
					  const uint64_t words[2])
{
	uint64_t head = words[0];
	uint32_t lang = lang_of(l, head), cookie = (uint32_t)words[1];
	struct lang_function f = { .lang = (uint8_t)lang, .place = words[1] >> 32 };
	struct lang_process of = *p;
	int r;

	if (lang == LANG_NONE)
		return f;
	of.signatures = l->signatures;
	of.memo = l->memo;
	r = all[lang]->read(&l->tables, VM_FRAME_INDEX(head), &of, VM_FRAME_ADDR(head), cookie, &f);
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

/* Under a number that was free, or a new one. */
static int function_add(struct langs *l, const struct key *key, const struct lang_function *f,
			uint32_t *out_id)
{
	bool again = l->free_ids.len > 0;
	uint32_t id = again ? l->free_ids.data[l->free_ids.len - 1] : (uint32_t)l->functions.len;
	int r = id < LANG_FUNCTIONS_MAX ? 0 : -ENOSPC;

	if (r == 0 && !again)
		r = vec_reserve(&l->functions, l->functions.len + 1);
	if (r == 0 && !again)
		r = vec_reserve(&l->keys, l->keys.len + 1);
	if (r == 0)
		r = index_add(&l->by_key, f->hash, id);
	if (r < 0)
		return r;
	if (again)
		l->free_ids.len--;
	else
		l->keys.len = ++l->functions.len;
	l->functions.data[id] = *f;
	l->keys.data[id] = *key;
	l->text_bytes += text_bytes(f);
	*out_id = id;
	return 0;
}

/* Another copy of a function that could not be read: perhaps this one can. */
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

/* Another caller may have a name for it; that is asked a few times. */
static void function_rename(struct langs *l, const struct lang_process *p, uint32_t id,
			    const uint64_t words[2])
{
	uint8_t left = l->functions.data[id].unnamed - 1;

	function_retry(l, p, id, words);
	if (l->functions.data[id].unnamed)
		l->functions.data[id].unnamed = left;
}

/* Another one has its place: who looks for it finds that from now on. */
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

/* Its number; LANG_FUNCTIONS_MAX: there is no room for it. */
static uint32_t function_of(struct langs *l, const struct lang_process *p, const uint64_t words[2])
{
	struct find find = { l, { p->pid, (uint32_t)words[1], p->start_ns, 0 } };
	const struct lang *lang = all[lang_of(l, words[0])];
	/* no cookie: nothing could be read, and nothing is alike */
	bool by_cookie = lang && lang->by_cookie && find.key.cookie;
	uint64_t addr = by_cookie ? 0 : VM_FRAME_ADDR(words[0]);
	struct lang_function f;
	uint32_t hash, id;

	find.key.head = FRAME_WORD(FRAME_VM, (words[0] & ~VM_FRAME_ADDR(UINT64_MAX)) | addr);
	hash = hash_u64(find.key.head ^ p->start_ns ^ (uint64_t)find.key.cookie << 20 ^ p->pid);
	if (index_find(&l->by_key, hash, same_key, &find, &id) &&
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
	if (function_add(l, &find.key, &f, &id) == 0)
		return id;
	function_fini(&f);
	return LANG_FUNCTIONS_MAX;
}

static void function_forget(struct langs *l, uint32_t id)
{
	struct lang_function *f = &l->functions.data[id];

	if (vec_push(&l->free_ids, id) < 0)
		return; /* it stays */
	index_remove(&l->by_key, f->hash, id);
	l->text_bytes -= text_bytes(f);
	function_fini(f);
	*f = (struct lang_function){ .state = LANG_FUNCTION_FORGOTTEN };
}

void langs_window(struct langs *l, size_t text_max)
{
	l->window++;
	if (l->functions.len - l->free_ids.len <= LANG_FUNCTIONS_KEPT && l->text_bytes <= text_max)
		return;
	/* made again when wanted: they refer to functions */
	index_fini(&l->by_place);
	l->by_place = (struct index){ 0 };
	l->expansions.len = 0;
	l->expanded.len = 0;
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

	return lang < LANG_MAX ? all[lang] : NULL;
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

struct find_place {
	const struct langs *l;
	const struct key *key;
	uint64_t place;
};

static bool same_place(const void *ctx, uint32_t id)
{
	const struct find_place *f = ctx;
	const struct expansion *e = &f->l->expansions.data[id];

	return e->place == f->place && !memcmp(&e->key, f->key, sizeof(e->key));
}

static int expansion_add(struct langs *l, const struct lang_process *p, struct expansion *e,
			 uint32_t hash)
{
	uint32_t vm = VM_FRAME_INDEX(e->key.head), lang = l->tables.codes[vm].lang;
	uint64_t words[2] = { e->key.head, e->place };
	struct lang_call calls[LANG_CALLS_MAX];
	struct lang_process of = *p;
	int n = 0, r = 0;

	of.memo = l->memo;
	if (lang != LANG_NONE && lang < LANG_MAX && all[lang]->expand)
		n = all[lang]->expand(&l->tables, vm, &of, words, calls);
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

static void function_use(struct langs *l, uint64_t word)
{
	uint64_t n = (word & FRAME_PAYLOAD_MASK) >> 32;

	if (n < l->functions.len)
		l->functions.data[n].used = l->window;
}

size_t langs_expand(struct langs *l, const struct lang_process *p, const uint64_t words[2],
		    const uint64_t **out)
{
	struct expansion e = { .place = words[1] };
	struct find_place find = { l, &e.key, e.place };
	uint32_t hash, id;

	e.key = (struct key){ p->pid, (uint32_t)words[1], p->start_ns, words[0] };
	hash = hash_u64(e.key.head ^ e.place << 7 ^ p->start_ns ^ p->pid);
	if (index_find(&l->by_place, hash, same_place, &find, &id))
		e = l->expansions.data[id];
	else if (l->expansions.len >= LANG_FUNCTIONS_MAX || expansion_add(l, p, &e, hash) < 0)
		return 0;
	*out = l->expanded.data + e.first;
	for (uint32_t i = 0; i < e.n; i++)
		function_use(l, l->expanded.data[e.first + i]);
	return e.n;
}

enum vm_lang langs_name(const struct langs *l, uint64_t word, struct symbol_frame *out)
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
		place = all[f->lang]->expand ? (uint32_t)word & ~LANG_PLACE_NEAR : (uint32_t)word;
		out->line = all[f->lang]->line(f, place);
		if (all[f->lang]->column)
			out->column = all[f->lang]->column(f, place);
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
