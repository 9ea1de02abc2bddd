/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The part of the registry that langs_weave() uses: it turns the frames that a walk recorded into
 * FRAME_SCRIPT words and reports how the language of a virtual machine weaves. lang.c implements
 * these functions; nothing outside of src/lang calls them.
 *
 * A frame of a virtual machine is two words, VM_FRAME_WORD() and then the place and the cookie.
 * @vm is an index into the VM tables.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lang_process;
struct langs;

/*
 * Begins a stack of @p: langs_script_word() and langs_expand() now only collect questions, until
 * langs_ask_collected(), which returns true if the stack has to be woven again, now with the
 * answers.
 */
void langs_begin_stack(struct langs *l);
bool langs_ask_collected(struct langs *l, const struct lang_process *p);
void langs_end_stack(struct langs *l);

/* Returns the FRAME_SCRIPT word of a frame; requests its function if that is new. */
uint64_t langs_script_word(struct langs *l, const struct lang_process *p, const uint64_t words[2]);

/* Returns the word of a frame of generated code that nobody could translate. */
uint64_t langs_unread_word(struct langs *l, const struct lang_process *p, uint64_t head);

/* Returns the word of an activation whose frames are not known; see VM_FRAME_LATE. */
uint64_t langs_late_word(struct langs *l, uint64_t head);

/* Returns true if generated code that calls the loop of @vm is a trampoline, which stacks omit. */
bool langs_is_trampoline(const struct langs *l, uint32_t vm);

/* Returns true if functions in generated code of @vm are named as their callers name them. */
bool langs_is_named_by_caller(const struct langs *l, uint32_t vm);

/* Returns true if a native stack may contain loops that do not belong to the running coroutine. */
bool langs_may_hold_foreign(const struct langs *l, uint32_t vm);

/*
 * Translates a frame of generated code into the FRAME_SCRIPT words of the functions inlined there,
 * innermost first. @p->caller is the frame outside of it, or NULL. *@out is borrowed until the next
 * call. Return: the number of words; 0 if the
 * frame could not be translated.
 */
size_t langs_expand(struct langs *l, const struct lang_process *p, const uint64_t words[2],
		    const uint64_t **out);

/* Returns true if the function of the FRAME_SCRIPT word is part of its caller, which is omitted. */
bool langs_covers_caller(const struct langs *l, uint64_t word);

/* Returns true if native frames of virtual machines are omitted from stacks. */
bool langs_fold(const struct langs *l);
