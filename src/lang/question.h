/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The questions that the registry (lang.h) has about a file or a process. Answering one means
 * interpreting bytes that another program chose, which could exploit a defect of the code that does
 * so. The functions here run in the process that calls them. The registry calls them through a
 * struct lang_source, which may forward the questions to another process.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lang/context/process_context.h"
#include "lang/language.h"
#include "lang/languages.h"

/* ---- functions ------------------------------------------------------------------------------ */

enum lang_question_kind {
	LANG_ASK_FUNCTION = 1, /* the function of the frame @words */
	LANG_ASK_CALLS,        /* the calls that the frame @words of generated code stands for */
};

/* No padding: it is sent unchanged. */
struct lang_question {
	uint32_t kind;
	uint32_t has_caller; /* LANG_ASK_FUNCTION: @caller is what struct lang_process says */
	uint64_t words[2];   /* of the frame; the first has the index of the VM */
	uint64_t caller[2];
	/*
	 * LANG_ASK_FUNCTION: with @is_known, the function is read again only if another one with
	 * other properties (struct lang_function) has replaced it.
	 */
	uint32_t is_known, bytecode, n_lines, first_line;
};

struct lang_answer {
	int result;    /* what read() or expand() of struct lang returned */
	bool is_still; /* the known function is still there, so @function is empty */
	struct lang_function function;
	struct lang_call calls[LANG_CALLS_MAX]; /* as many as @result */
};

/* Answers one question. The caller calls lang_function_fini(), whatever the result. */
void lang_answer(const struct vm_tables *tables, const struct lang_process *p,
		 const struct lang_question *q, struct lang_answer *out);

/* Frees what @f owns. */
void lang_function_fini(struct lang_function *f);

/* ---- files ---------------------------------------------------------------------------------- */

/* The result of detection for a file. No pointers: it is sent unchanged. */
struct lang_detection {
	int32_t result; /* 0; -ENOTSUP: an unsupported runtime; -ENOENT: not a runtime */
	uint32_t reserved;
	uint64_t loop_vaddr;
	struct vm_code code;    /* lang: LANG_NONE for Go */
	union lang_entry entry; /* for the table of code.lang; valid with result 0 */
	char runtime[24], version[24];
	char problem[64]; /* with -ENOTSUP; "" if the version is the reason */
	/* Whatever the result is: contexts that the file publishes (context/context.h). */
	struct context_layout context; /* kind: CONTEXT_NONE if it publishes none */
	uint64_t context_off, context_vaddr;
};

/* Determines whether @img is a runtime. Call it under sigbus_run(). */
void lang_detect(const struct elf_image *img, bool fold, struct lang_detection *out);

/* ---- generated code ------------------------------------------------------------------------- */

/* The code that a process's virtual machine generates; see attach() of struct lang. */
struct lang_regions {
	int32_t result; /* what attach() returned: the number of regions, whose VM is 0 */
	uint32_t reserved;
	union lang_entry entry; /* describes the code */
	struct unwind_mapping regions[LANG_REGIONS_MAX];
};

/* @tables has the entry @vm of the file, which the process has mapped at @bias. */
void lang_find_regions(const struct vm_tables *tables, uint32_t vm, uint64_t bias,
		       const struct lang_process *p, struct lang_regions *out);

/* ---- sources -------------------------------------------------------------------------------- */

/* A batch of questions about one process. */
struct lang_batch {
	const struct vm_tables *tables;
	const uint32_t *file_vms; /* for each VM, the VM of its file, to which a bias belongs */
	const struct lang_process *process;
	const struct lang_question *questions;
	size_t n;
	/* Receives each answer; it may move answer->function away, and then clears it. */
	void (*answer)(void *ctx, size_t question, struct lang_answer *answer);
	void *ctx;
};

/* Answers the registry's questions, in this process or in another one. */
struct lang_source {
	/*
	 * Answers questions in order, from the first on. Return: the number of answered ones; the
	 * others cannot be answered now, and may be repeated with another stack.
	 */
	size_t (*ask)(void *ctx, const struct lang_batch *batch);
	/*
	 * Does what lang_detect() does, for the file @fd. *@out is all 0 with result -errno if that
	 * failed.
	 */
	void (*detect)(void *ctx, int fd, bool fold, struct lang_detection *out);
	/* Does what lang_find_regions() does. */
	void (*find_regions)(void *ctx, const struct vm_tables *tables, uint32_t vm, uint64_t bias,
			     const struct lang_process *p, struct lang_regions *out);
	/* Does what process_context_read() does. */
	void (*read_context)(void *ctx, const struct lang_process *p, uint64_t at,
			     struct process_context *out);
	void *ctx;
};
