/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The state of a registry (lang.h), which lang.c and expansions.c maintain. Nothing outside of
 * src/lang includes this.
 */
#include "base/index.h"
#include "base/vec.h"
#include "lang/language.h"
#include "lang/question.h"
#include "lang/runtime.h"

/* The identity of a function, or the first part of that of an expansion. */
struct key {
	uint32_t pid, cookie;
	uint64_t start_ns, head; /* head: the first word of a frame, without its slot and flags */
};

/* The FRAME_SCRIPT words that replace a frame of generated code. */
struct expansion {
	struct key key;
	uint64_t place;    /* the frame's second word */
	uint32_t first, n; /* range of langs.expanded */
};

/* A function that has to be requested. */
struct function_need {
	struct lang_question question;
	struct key key;
	uint32_t hash, id; /* id: that of the known function */
	const struct lang *lang;
	bool by_cookie;
};

struct lang_file;

struct langs {
	struct vm_tables tables;
	uint32_t file_vms[VM_TABLE_MAX]; /* for each VM, the VM of its file */
	bool fold, signatures;
	uint64_t n_vms_full; /* runtimes without an entry */
	uint32_t n_vms;      /* entries used in the tables so far; [0] stands for no VM */
	uint32_t n_contexts; /* the same for tables.contexts */
	uint64_t marked_vms[VM_TABLE_MAX / 64], is_free_vm[VM_TABLE_MAX / 64]; /* bits */
	uint16_t free_vms[VM_TABLE_MAX]; /* queue of entries that may be reused */
	uint32_t first_free, n_free;
	struct lang_source source;
	struct lang_memo *memo; /* of the source in this process */
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
	/*
	 * The number of the stack that is being woven, 0 between stacks: no function is requested
	 * twice in one stack. While questions are collected, frames with unknown functions have
	 * meaningless words.
	 */
	uint32_t stack, n_stacks;
	bool is_collecting;
	struct {
		VEC(struct function_need);
	} needs;
	struct {
		VEC(struct lang_question);
	} calls_needed;
	uint64_t unread_word; /* result of langs_expand() for a frame without an expansion */
};

/* Adds an entry to the walk's tables. Returns its index; 0 if they are full, which is counted. */
uint32_t langs_add_vm(struct langs *l, const struct vm_code *code, const union lang_entry *entry);

/* Lets the registry's source answer questions about a process. Returns the number of answers. */
size_t langs_ask(struct langs *l, const struct lang_process *p, const struct lang_question *q,
		 size_t n, void (*answer)(void *ctx, size_t question, struct lang_answer *answer),
		 void *ctx);

/* Requests the function, or collects the question while those of a stack are collected. */
void langs_need(struct langs *l, const struct lang_process *p, const struct function_need *need);

/* Returns true if the function of a frame has to be requested; @out describes it. */
bool langs_need_function(struct langs *l, const struct lang_process *p, const uint64_t words[2],
			 struct function_need *out);

/*
 * Records the answer about a function, and takes ownership of what it owns; NULL: there is no
 * answer at the moment.
 */
void langs_take_function(struct langs *l, const struct function_need *need,
			 struct lang_answer *answer);

/* Does what langs_need() does for the calls of the frame @words of generated code. */
void langs_need_calls(struct langs *l, const struct lang_process *p, const uint64_t words[2]);

/*
 * Returns the FRAME_SCRIPT word of call @i of the @n that a frame with the first word @head stands
 * for; requests its function when that is new. @p->caller is the caller of the last one.
 */
uint64_t langs_call_word(struct langs *l, const struct lang_process *p, uint64_t head,
			 const struct lang_call *calls, size_t n, size_t i);

/* Takes the calls of the frame @words of generated code. @p->caller is as above. */
void langs_take_calls(struct langs *l, const struct lang_process *p, const uint64_t words[2],
		      const struct lang_call *calls, size_t n);

void expansions_forget(struct langs *l);
size_t expansions_bytes(const struct langs *l);

/* Adds the context of a file to the table, in which files with equal layouts share an entry. */
void langs_add_context(struct langs *l, const struct lang_detection *d, struct lang_file *out);
