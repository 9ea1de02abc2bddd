/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The messages of the jobs that know language runtimes (lang/question.h):
 *
 *   READER_LANG_DETECT   what is the file, descriptor 0? The reply is a struct lang_detection.
 *   READER_LANG_REGIONS  where is the generated code of the process with the memory, descriptor 0?
 *                        The reply is a struct lang_regions.
 *   READER_LANG_CONTEXT  what is the process context of the process with the memory, descriptor 0?
 *                        The reply is a struct process_context.
 *   READER_LANG_ASK      questions about the process with the memory, descriptor 0. PARTs are
 *                        pieces of one stream of answers, in the order of the questions; the reply
 *                        has their number. A reader answers at least one, or needs a file first:
 *                        then the request is repeated with that, descriptor 1, or without.
 *
 * Pure functions. Checks do not trust the bytes.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lang/question.h"

enum {
	LANG_VMS_MAX = 4, /* entries of the VM tables in one request */
	LANG_QUESTIONS_MAX = 512,
	LANG_TEXT_MAX = 16 << 10,  /* bytes of a name or file; longer ones are truncated */
	LANG_STREAM_MAX = 1 << 20, /* bytes of answers after which a reader stops */
};

/* A runtime in the process. */
struct lang_vm {
	uint32_t vm, file_vm; /* indexes in the VM tables; file_vm: of its file */
	uint64_t bias;        /* of the file */
	struct vm_code code;
	union lang_entry entry; /* of the table of code.lang */
};

struct lang_detect_request {
	uint32_t fold, reserved;
};

struct lang_process_id {
	uint64_t start_ns;
	uint32_t pid, reserved;
};

struct lang_regions_request {
	struct lang_process_id process;
	struct lang_vm vm; /* bias: where the process has mapped the file */
};

struct lang_context_request {
	struct lang_process_id process;
	uint64_t at; /* address of the context's header */
};

/* The head of a request; @n_vms of struct lang_vm and @n of struct lang_question follow. */
struct lang_ask_request {
	struct lang_process_id process;
	uint32_t n_vms, n;
	uint32_t signatures;
	uint32_t has_side_file; /* the file that the reader needed is sent, or is missing */
	struct lang_side_file side_file; /* that */
};

struct lang_ask_reply {
	uint32_t n, wants_file; /* answers; without side_file the next question has none */
	struct lang_side_file side_file;
};

/* Returns true if the name is that of a file with debug information, in a directory. */
bool lang_side_file_is_valid(const struct lang_side_file *f);

/* Returns true if the entry can be used: by a reader, and by the walk. */
bool lang_vm_is_valid(const struct lang_vm *v);

/* Return the checked message, aligned to 8, or NULL. */
const struct lang_regions_request *lang_regions_request_check(const void *data, size_t len);
const struct lang_ask_request *lang_ask_request_check(const void *data, size_t len);

/* The parts of a checked request. */
const struct lang_vm *lang_ask_vms(const struct lang_ask_request *q);
const struct lang_question *lang_ask_questions(const struct lang_ask_request *q);

/*
 * Return 0, or -EBADMSG if a reader that works as intended would not send this: a language or a
 * range that does not exist, texts that are not printable ASCII, regions that are none or not of
 * @lang.
 */
int lang_detection_check(const struct lang_detection *d);
int lang_regions_check(const struct lang_regions *r, uint32_t lang);

/* Appends the answer to question number @question. */
void lang_answer_put(struct buf *b, uint32_t question, const struct lang_answer *a);

/**
 * lang_answer_next() - read the next answer of a stream
 *
 * Moves *@data and *@len after it. @question is its expected number, @kind that of the question.
 *
 * Return: 1 and *@out, whose function the caller frees; 0 at the end; -EBADMSG; -ENOMEM.
 */
int lang_answer_next(const uint8_t **data, size_t *len, uint32_t question, uint32_t kind,
		     struct lang_answer *out);
