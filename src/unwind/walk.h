/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The walk of bpf/lib/walk.h, built for the host: for the stack copies that the sampler sends while
 * a process or a file is not known yet, and for tests and fuzzers.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/shared/abi.h"
#include "bpf/shared/vms.h"

struct unwind_tables;
struct unwind_walker;

enum {
	UNWIND_WORDS_MAX = RAW_STACK_MAX / 8,
	UNWIND_ALIKE_BYTES = UNWIND_WORDS_MAX / 8,
};

/*
 * The stack above a copy, read soon after the copy was made. A walk that has to wait reads this
 * instead of the process, which changes meanwhile.
 */
struct unwind_rest {
	/* Bit i: word i of the copy still had the same content. */
	uint8_t alike[UNWIND_ALIKE_BYTES];
	const uint8_t *data; /* from the end of the copy on */
	size_t len;
	bool is_cut; /* the stack may be longer: what follows is not read at all */
};

/* Memory of the process at the instant of the sample. */
struct unwind_piece {
	uint64_t at;
	size_t len;
	const uint8_t *data;
};

struct unwind_walk_input {
	struct unwind_process process;
	uint64_t regs[UREG_COUNT];
	const uint8_t *stack; /* a copy of the stack from the address stack_at on */
	size_t stack_len;
	uint64_t stack_at;
	const struct unwind_piece *pieces; /* more of the stack, above the copy, ascending */
	size_t n_pieces;
	const struct unwind_rest *rest; /* NULL: @read has the memory above the copy */
	uint64_t thread_pointer;
	/* The process is stopped: what @read returns is as good as the copy of the stack. */
	bool is_stopped;
	/*
	 * The frames of runtimes' lists that were read with the sample. They are used if they are
	 * of the runtimes that the process has.
	 */
	const uint64_t *lists;
	size_t n_lists; /* words, at most RAW_VM_WORDS_MAX */
	/*
	 * The thread has run on since the copy was made: the lists of runtimes are not read, and
	 * each activation has one frame instead (VM_FRAME_LATE).
	 */
	bool lists_are_late;
	/*
	 * Reads memory that the copy does not hold; returns 0 or a negative number. NULL: there is
	 * none.
	 */
	int (*read)(void *ctx, uint64_t addr, void *dst, size_t len);
	/*
	 * Makes the table of a file. Returns true if that was done; false if it takes longer: the
	 * walk ends, and unwind_walk_missing() is that file. NULL: there is no time for tables, and
	 * the walk ends.
	 */
	bool (*need_file)(void *ctx, uint32_t file);
	void *ctx;
};

/* Returns 0 or -ENOMEM. Keeps a reference to @tables, which must outlive the walker. */
int unwind_walker_new(struct unwind_walker **out, struct unwind_tables *tables);
void unwind_walker_free(struct unwind_walker *w);

DEFINE_FREEP(struct unwind_walker, unwind_walker_free)

/*
 * Sets the tables of runtimes (the pointers are copied). Without them their frames are native ones.
 */
void unwind_walker_set_vms(struct unwind_walker *w, const struct vm_tables *vms);

/**
 * unwind_walk() - walk one stack
 *
 * Return: the number of words in *@out_words, which are borrowed until the next walk, leaf first.
 * *@out_complete is true if the outermost frame was reached; otherwise the last word is an error
 * frame.
 */
size_t unwind_walk(struct unwind_walker *w, const struct unwind_walk_input *in,
		   const uint64_t **out_words, bool *out_complete);

/*
 * The frames of runtimes' lists in the stack walked last, two words each (bpf/shared/vm.h).
 * *@out_truncated is true if outer ones are missing.
 */
size_t unwind_walk_vm_words(const struct unwind_walker *w, const uint64_t **out_words,
			    bool *out_truncated);

typedef void unwind_function_fn(void *ctx, const struct function_record *rec, size_t len);

/*
 * Copies the functions of interpreters in the stack walked last as the sampler does, except those
 * that earlier walks met recently; @fn is called with each. The memory of the last walk's input
 * must still be readable.
 */
void unwind_walk_copy(struct unwind_walker *w, unwind_function_fn *fn, void *ctx);

/* The file whose table is being made, which the stack walked last ends for; 0 if it does not. */
uint32_t unwind_walk_missing(const struct unwind_walker *w);

/* Notes in @out->alike which words of a copy of @len bytes are the same in @live. */
void unwind_rest_compare(struct unwind_rest *out, const void *copy, const void *live, size_t len);

/* True if a caller in the stack walked last was found by search rather than by rule. */
bool unwind_walk_searched(const struct unwind_walker *w);

/*
 * The rule in force at offset @off of file @file, borrowed until its table changes; NULL if the
 * file's table has none there.
 */
const struct unwind_rule *unwind_walk_rule(struct unwind_walker *w, uint32_t file, uint64_t off);

/* One step from @in's registers to the caller's, for oracles. Returns enum walk_step_result. */
int unwind_walk_step(struct unwind_walker *w, const struct unwind_walk_input *in,
		     uint64_t out_regs[UREG_COUNT]);

/* The text of an enum walk_error; "unknown reason" for other numbers. */
const char *unwind_error_text(uint64_t why);
