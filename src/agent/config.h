/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the agent is told: by flags and by one file of KEY = VALUE lines, with
 * the same names in both. config.def has them all.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/vec.h"

struct buf;
struct err;

struct config_texts {
	VEC(char *);
};

/* The kinds of config.def, and what holds their values. */
#define CONFIG_TYPE_TEXT     char *              /* NULL: not said */
#define CONFIG_TYPE_TEXTS    struct config_texts /* every time it is said adds one */
#define CONFIG_TYPE_FLAG     bool
#define CONFIG_TYPE_NUMBER   uint64_t
#define CONFIG_TYPE_DURATION uint64_t /* ns */
#define CONFIG_TYPE_BYTES    uint64_t

struct agent_config {
#define GROUP(title)
#define X(kind, field, ...) CONFIG_TYPE_##kind field;
#define ONCE(...)           X(__VA_ARGS__)
#include "agent/config.def"
#undef ONCE
#undef X
#undef GROUP
};

enum { CONFIG_FILE_MAX = 1 << 20, CONFIG_TEXTS_MAX = 1000, CONFIG_VALUE_MAX = 8192 };

/* With the defaults. 0 or -ENOMEM. */
int agent_config_new(struct agent_config **out);
void agent_config_free(struct agent_config *c);

DEFINE_FREEP(struct agent_config, agent_config_free)

/* 0; -EINVAL for an unknown key or a value that is none, and @err says why. */
int agent_config_set(struct agent_config *c, const char *key, const char *value, struct err *err);

/* Lines KEY = VALUE; blank ones and those that begin with # or ; say nothing. @name: for messages.
 */
int agent_config_text(struct agent_config *c, const char *name, const char *text, size_t len,
		      struct err *err);

/* The same from a file. */
int agent_config_file(struct agent_config *c, const char *path, struct err *err);

/*
 * --KEY VALUE, --KEY=VALUE; a yes|no may stand alone. argv[0] is skipped. "config"
 * names a file that is read before all flags.
 */
int agent_config_flags(struct agent_config *c, int argc, char *const *argv, struct err *err);

/*
 * Of an agent that runs: what can't change stays as @old has it, and the names of those
 * keys are added to @out_kept, with blanks between them. 0 or -ENOMEM.
 */
int agent_config_keep(struct agent_config *c, const struct agent_config *old, struct buf *out_kept);

/* What does not go together. 0 or -EINVAL. */
int agent_config_check(const struct agent_config *c, struct err *err);

/* The flags for people; the same for man(7). */
void agent_config_help(FILE *to);
void agent_config_man(FILE *to);
