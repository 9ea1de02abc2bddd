/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The jobs of lang_message.h, in the parent: a struct lang_source (lang/question.h) that waits for
 * a reader, and checks what it answers. One thread.
 *
 * A reader that does not answer in time, dies or sends garbage is replaced. The process that it
 * read is then refused for a second, and for twice as long after each further failure. A twentieth
 * of the time may be lost to processes that no reader has read before; when it is used up, such
 * processes have to wait.
 */
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "lang/question.h"

struct err;
struct lang_client;
struct role_counters;

struct lang_client_opts {
	size_t reader_bytes;     /* limit of a reader's heap */
	unsigned int timeout_ms; /* of a batch of questions about a process */
	unsigned int detect_ms;  /* of the detection of a file */
};

/* Starts the reader, without waiting for it. Returns 0 or -errno. */
int lang_client_new(struct lang_client **out, const struct lang_client_opts *opts, struct err *err);
void lang_client_free(struct lang_client *c);

DEFINE_FREEP(struct lang_client, lang_client_free)

/* Sets *@out to functions that use @c. */
void lang_client_source(struct lang_client *c, struct lang_source *out);

/* Ends the reader if it had nothing to do for a while; call it every second or so. */
void lang_client_upkeep(struct lang_client *c);
/* Ends the reader unless it works, to release its memory. The next request starts another. */
void lang_client_stop_idle(struct lang_client *c);

/* Any thread may call these. */
void lang_client_counters(const struct lang_client *c, struct role_counters *out);
pid_t lang_client_pid(const struct lang_client *c);
