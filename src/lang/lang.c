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
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "lang/functions.h"
#include "lang/memo.h"
#include "lang/registry.h"

enum {
	LAYOUTS_MAX = 8,   /* per file, in case that processes report false values */
	CALLERS_TRIED = 16 /* until a function keeps a doubtful name */
};

static const char unknown_version[] = "unknown version";
static const char unknown_structures[] = "its structures were not recognized";

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
	l->n_contexts = 1;
	*out = l;
	return 0;
}

void langs_enable_signatures(struct langs *l)
{
	l->signatures = true;
}

void langs_set_source(struct langs *l, const struct lang_source *source)
{
	l->source = *source;
}

void langs_free(struct langs *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->functions.len; i++)
		lang_function_fini(&l->functions.data[i]);
	vec_fini(&l->free_ids);
	vec_fini(&l->functions);
	vec_fini(&l->keys);
	index_fini(&l->by_key);
	expansions_forget(l);
	vec_fini(&l->needs);
	vec_fini(&l->calls_needed);
	lang_memo_free(l->memo);
	free(l);
}

/* ---- detection -------------------------------------------------------------- */

const struct lang_runtimes *langs_runtimes(const struct langs *l)
{
	return &l->runtimes;
}

static void add_runtime(struct langs *l, const struct lang_detection *d, struct lang_file *out)
{
	const char *problem = d->result != -ENOTSUP ? NULL
			      : d->problem[0]       ? d->problem
						    : unknown_version;
	const struct lang *lang = lang_get(d->code.lang);
	bool compiles = !lang || lang->attach;

	out->runtime = lang_runtimes_add(
		&l->runtimes, d->runtime, d->version, problem,
		compiles ? "its stacks may be incomplete and its functions without names"
			 : "its stacks show functions of the interpreter instead of the program");
	if (!compiles)
		memcpy(out->runs, d->code.loop, sizeof(out->runs));
}

uint32_t langs_guess(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	uint32_t languages = 0;

	for (uint32_t i = LANG_NONE + 1; i < LANG_MAX; i++) {
		const struct lang *lang = lang_get(i);

		if (lang && lang->name_part && strstr(name, lang->name_part))
			languages |= 1U << i;
	}
	return languages;
}

void langs_detect(struct langs *l, const struct elf_image *img, int fd, struct lang_file *out)
{
	struct lang_detection d;
	const struct lang *lang;

	*out = (struct lang_file){ 0 };
	if (l->source.detect)
		l->source.detect(l->source.ctx, fd, l->fold, &d);
	else
		lang_detect(img, l->fold, &d);
	if (d.result == 0 || d.result == -ENOTSUP)
		add_runtime(l, &d, out);
	langs_add_context(l, &d, out);
	lang = d.result == 0 ? lang_get(d.code.lang) : NULL;
	if (lang) {
		d.code.by_cookie = lang->by_cookie;
		out->vm = langs_add_vm(l, &d.code, &d.entry);
	}
	if (!out->vm)
		return;
	out->loop_vaddr = d.loop_vaddr;
	out->loop_off = d.code.loop[0].lo;
	out->language = 1U << d.code.lang;
	out->attaches = lang->attach;
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

/*
 * Returns the index of the entry that describes the code of a process: an equal entry of the same
 * file, or a new one; 0 if the processes of this file report too many different ones.
 */
static uint32_t layout_of(struct langs *l, uint32_t file_vm, const union lang_entry *entry)
{
	const struct vm_code *code = &l->tables.codes[file_vm];
	uint32_t n = 0, vm;

	for (uint32_t i = 1; i < l->n_vms; i++) {
		size_t len;
		const void *known = lang_entry(&l->tables, code->lang, i, &len);

		if (i == file_vm || l->file_vms[i] != file_vm)
			continue;
		if (!memcmp(known, entry, len))
			return i;
		n++;
	}
	vm = n < LAYOUTS_MAX ? langs_add_vm(l, code, entry) : 0;
	l->n_vms_full += n >= LAYOUTS_MAX;
	l->file_vms[vm] = file_vm;
	return vm;
}

static void find_regions(struct langs *l, uint32_t vm, uint64_t bias, const struct lang_process *p,
			 struct lang_regions *out)
{
	if (l->source.find_regions)
		l->source.find_regions(l->source.ctx, &l->tables, vm, bias, p, out);
	else
		lang_find_regions(&l->tables, vm, bias, p, out);
}

int langs_attach(struct langs *l, const struct lang_file *file, uint64_t bias,
		 const struct lang_process *p, struct unwind_mapping *out)
{
	struct lang_regions found;
	uint32_t vm = 0;

	find_regions(l, file->vm, bias, p, &found);
	if (found.result > 0) {
		vm = layout_of(l, file->vm, &found.entry);
		found.result = vm ? found.result : -ENOSPC;
	}
	for (int i = 0; i < (found.result & ~LANG_ATTACH_PARTIAL) && vm; i++) {
		out[i] = found.regions[i];
		out[i].file = MAPPING_LANG_FILE(vm, MAPPING_LANG_DATA(out[i].file));
	}
	if (found.result == -ENOENT)
		langs_give_up(l, file);
	return found.result;
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

/* Replaces the function @id; words that refer to it remain valid. Takes ownership of *@f. */
static void function_replace(struct langs *l, uint32_t id, const struct lang_function *f)
{
	struct lang_function *old = &l->functions.data[id];
	struct lang_function fresh = *f;

	fresh.used = old->used;
	l->text_bytes += text_bytes(&fresh) - text_bytes(old);
	lang_function_fini(old);
	*old = fresh;
}

static void make_key(const struct langs *l, const struct lang_process *p, const uint64_t words[2],
		     struct function_need *out)
{
	const struct lang *lang = lang_get(lang_of(l, words[0]));
	uint32_t cookie = (uint32_t)words[1];
	/* without a cookie, the walk could not read the function, and only its address remains */
	bool by_cookie = lang && lang->by_cookie && cookie;
	uint64_t addr = by_cookie ? 0 : VM_FRAME_ADDR(words[0]);
	uint64_t head = FRAME_WORD(FRAME_VM, (words[0] & ~VM_FRAME_ADDR(UINT64_MAX)) | addr);

	out->lang = lang;
	out->by_cookie = by_cookie;
	out->key = (struct key){ p->pid, cookie, p->start_ns, head };
	out->hash = hash_bytes(&out->key, sizeof(out->key));
}

static bool find_by_key(const struct langs *l, const struct function_need *n, uint32_t *out_id)
{
	const struct key_query query = { l, n->key };

	return index_find(&l->by_key, n->hash, same_key, &query, out_id);
}

/* Returns true if there is a question about the known function @f. */
static bool is_uncertain(const struct langs *l, const struct lang_function *f,
			 const struct lang_process *p, struct function_need *n)
{
	const uint64_t *words = n->question.words;

	if (l->stack && f->asked == l->stack)
		return false;
	n->question.is_known = n->lang && n->lang->is_suspect && f->state == LANG_FUNCTION_READ &&
			       n->lang->is_suspect(VM_FRAME_ADDR(words[0]), f, words[1] >> 32);
	n->question.bytecode = f->bytecode;
	n->question.n_lines = f->n_lines;
	n->question.first_line = f->first_line;
	return n->question.is_known || f->is_missing ||
	       (n->by_cookie && f->state != LANG_FUNCTION_READ) || (f->n_tries && p->caller);
}

bool langs_need_function(struct langs *l, const struct lang_process *p, const uint64_t words[2],
			 struct function_need *out)
{
	*out = (struct function_need){
		.question = { .kind = LANG_ASK_FUNCTION, .words = { words[0], words[1] } },
	};
	if (p->caller) {
		out->question.has_caller = 1;
		memcpy(out->question.caller, p->caller, sizeof(out->question.caller));
	}
	make_key(l, p, words, out);
	if (!find_by_key(l, out, &out->id))
		return l->free_ids.len || l->functions.len < LANG_FUNCTIONS_MAX;
	l->functions.data[out->id].used = l->window;
	return is_uncertain(l, &l->functions.data[out->id], p, out);
}

/* Turns the answer into a function. Its state records the failure if it could not be read. */
static struct lang_function function_of_answer(const struct langs *l, const struct function_need *n,
					       struct lang_answer *answer)
{
	struct lang_function f = answer ? answer->function : (struct lang_function){ 0 };
	int r = answer ? answer->result : -EAGAIN;

	if (answer)
		answer->function = (struct lang_function){ 0 };
	f.lang = (uint8_t)lang_of(l, n->question.words[0]);
	f.is_missing = !answer;
	f.hash = n->hash;
	f.used = l->window;
	f.asked = l->stack;
	f.n_tries = f.doubt ? CALLERS_TRIED : 0;
	f.state = r == 0         ? LANG_FUNCTION_READ
		  : r == -ESTALE ? LANG_FUNCTION_STALE
		  : r == -ETIME  ? LANG_FUNCTION_LATE
				 : LANG_FUNCTION_UNREADABLE;
	return f;
}

/* Handles the answer about the known function @id. Takes ownership of *@f. */
static void function_update(struct langs *l, const struct function_need *n, uint32_t id,
			    struct lang_function *f)
{
	struct lang_function *old = &l->functions.data[id];
	bool was_read = old->state == LANG_FUNCTION_READ;

	/* a function is read again for each of some callers that may have a better name for it */
	if (was_read && old->n_tries && n->question.has_caller)
		f->n_tries = f->doubt ? --old->n_tries : 0;
	/* the known function remains if it cannot be read now, or if the new name is no better */
	if (was_read && (f->state != LANG_FUNCTION_READ || f->doubt >= old->doubt)) {
		old->asked = l->stack;
		lang_function_fini(f);
		return;
	}
	function_replace(l, id, f);
}

void langs_take_function(struct langs *l, const struct function_need *n, struct lang_answer *answer)
{
	struct lang_function f;
	uint32_t id;
	bool is_known = find_by_key(l, n, &id);

	if (is_known && answer && answer->is_still) {
		l->functions.data[id].asked = l->stack;
		return;
	}
	f = function_of_answer(l, n, answer);
	/*
	 * Another function has replaced the known one in the process. The known one loses its key,
	 * but words that refer to its id remain valid.
	 */
	if (is_known && answer && n->question.is_known) {
		index_remove(&l->by_key, n->hash, id);
		is_known = false;
	}
	if (is_known)
		function_update(l, n, id, &f);
	else if (function_add(l, &n->key, &f, &id) < 0)
		lang_function_fini(&f);
}

static void function_forget(struct langs *l, uint32_t id)
{
	struct lang_function *f = &l->functions.data[id];

	if (vec_push(&l->free_ids, id) < 0)
		return; /* without memory for the free id, the function stays */
	index_remove(&l->by_key, f->hash, id);
	l->text_bytes -= text_bytes(f);
	lang_function_fini(f);
	*f = (struct lang_function){ .state = LANG_FUNCTION_FORGOTTEN };
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
	       l->text_bytes + expansions_bytes(l) + lang_memo_bytes(l->memo);
}

size_t langs_ask(struct langs *l, const struct lang_process *p, const struct lang_question *q,
		 size_t n, void (*answer)(void *ctx, size_t question, struct lang_answer *answer),
		 void *ctx)
{
	struct lang_process process = *p;
	const struct lang_batch batch = { &l->tables, l->file_vms, &process, q, n, answer, ctx };
	struct lang_answer a;

	process.signatures = l->signatures;
	process.memo = l->memo;
	if (l->source.ask)
		return l->source.ask(l->source.ctx, &batch);
	for (size_t i = 0; i < n; i++) {
		lang_answer(&l->tables, &process, &q[i], &a);
		answer(ctx, i, &a);
		lang_function_fini(&a.function);
	}
	return n;
}

static uint64_t script_word(uint32_t id, uint64_t place)
{
	return FRAME_WORD(FRAME_SCRIPT, (uint64_t)id << 32 | place >> 32);
}

uint64_t langs_script_word(struct langs *l, const struct lang_process *p, const uint64_t words[2])
{
	struct function_need need;
	uint32_t id;

	if (langs_need_function(l, p, words, &need))
		langs_need(l, p, &need);
	return script_word(find_by_key(l, &need, &id) ? id : LANG_FUNCTIONS_MAX, words[1]);
}

uint64_t langs_unread_word(struct langs *l, const struct lang_process *p, uint64_t head)
{
	const uint64_t words[2] = { VM_FRAME_WORD(0, VM_FRAME_INDEX(head), 0), 0 };
	struct function_need need;
	uint32_t id;

	if (langs_need_function(l, p, words, &need))
		langs_take_function(l, &need, NULL);
	return script_word(find_by_key(l, &need, &id) ? id : LANG_FUNCTIONS_MAX, 0);
}

uint64_t langs_late_word(struct langs *l, uint64_t head)
{
	const uint64_t words[2] = { VM_FRAME_WORD(0, VM_FRAME_INDEX(head), 0), VM_FRAME_LATE };
	const struct lang_process nobody = { 0 };
	struct lang_answer answer = { .result = -ETIME };
	struct function_need need;
	uint32_t id;

	if (langs_need_function(l, &nobody, words, &need))
		langs_take_function(l, &need, &answer);
	return script_word(find_by_key(l, &need, &id) ? id : LANG_FUNCTIONS_MAX, 0);
}

static const struct lang *lang_of_vm(const struct langs *l, uint32_t vm)
{
	uint32_t lang = vm < VM_TABLE_MAX ? l->tables.codes[vm].lang : LANG_NONE;

	return lang_get(lang);
}

bool langs_is_trampoline(const struct langs *l, uint32_t vm)
{
	const struct lang *lang = lang_of_vm(l, vm);

	return l->fold && lang && lang->trampolines;
}

bool langs_is_named_by_caller(const struct langs *l, uint32_t vm)
{
	const struct lang *lang = lang_of_vm(l, vm);

	return lang && lang->named_by_caller;
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

enum lang_function_state langs_function_state(const struct langs *l, uint64_t word)
{
	uint64_t id = (word & FRAME_PAYLOAD_MASK) >> 32;

	return id < l->functions.len ? l->functions.data[id].state : LANG_FUNCTION_FORGOTTEN;
}

enum vm_lang langs_symbolize(const struct langs *l, uint64_t word, struct symbol_frame *out)
{
	uint64_t id = (word & FRAME_PAYLOAD_MASK) >> 32;
	const struct lang_function *f;
	const struct lang *lang;
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
		lang = lang_get(f->lang);
		place = lang->expand ? (uint32_t)word & ~LANG_PLACE_NEAR : (uint32_t)word;
		out->line = lang->line(f, place);
		if (lang->column)
			out->column = lang->column(f, place);
		if (lang->address)
			out->address = lang->address(f, place);
		break;
	case LANG_FUNCTION_STALE:
		out->name = "[stale function]";
		break;
	case LANG_FUNCTION_LATE:
		out->name = "[functions not read in time]";
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
