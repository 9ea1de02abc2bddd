/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The agent's configuration: built-in defaults, then the file named by --config, then the command
 * line. All options are listed in config.def. A struct agent_config does not change once it was
 * read, so threads may share it; SIGHUP makes a new one.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "options/option.h"

struct buf;
struct err;

/* The types of the fields by their kinds in config.def; see enum option_kind. */
#define CONFIG_TYPE_BOOL      bool
#define CONFIG_TYPE_CHOICE    unsigned int
#define CONFIG_TYPE_DURATION  uint64_t
#define CONFIG_TYPE_FREQUENCY uint64_t
#define CONFIG_TYPE_NUMBER    uint64_t
#define CONFIG_TYPE_SIZE      uint64_t
#define CONFIG_TYPE_TEXT      char *
#define CONFIG_TYPE_TEXTS     struct option_texts

struct agent_config {
#define HEADING(title)
#define X(kind, field, ...)             CONFIG_TYPE_##kind field;
#define FIXED(...)                      X(__VA_ARGS__)
#define CHECKED(check, ...)             X(__VA_ARGS__)
#define CHECKED_WITH(flags, check, ...) X(__VA_ARGS__)
#include "agent/config.def"
#undef CHECKED_WITH
#undef CHECKED
#undef FIXED
#undef X
#undef HEADING
};

/*
 * Values of native_frames, in the order of config.def. The field demangle is an enum demangle_mode.
 */
enum native_frames { NATIVE_FRAMES_SOME, NATIVE_FRAMES_ALL };

/* The table of config.def, whose values struct is struct agent_config. */
extern const struct option_spec agent_config_options[];

/* Options that exist on the command line only: --config. */
extern const struct option_spec agent_config_flags[];

/* The source of a configuration; on SIGHUP the same source is read again. */
struct agent_config_source {
	int argc;
	char *const *argv; /* argv[0] is skipped */
	/* Further options that the command line may contain; NULL: none. Values are overwritten. */
	const struct option_set *others;
	const char *defaults; /* KEY = VALUE lines that replace built-in defaults; NULL: none */
};

/* With the built-in defaults. Returns 0 or -ENOMEM. */
int agent_config_new(struct agent_config **out);
void agent_config_free(struct agent_config *c);

DEFINE_FREEP(struct agent_config, agent_config_free)

/**
 * agent_config_read() - read and check a configuration
 *
 * Return: 0 and a new configuration; ARGUMENTS_HELP if the command line has --help; -EINVAL,
 * -ENOMEM or the error of reading the file, with the reason in @err.
 */
int agent_config_read(struct agent_config **out, const struct agent_config_source *source,
		      struct err *err);

/*
 * Checks what option tables cannot express: combinations, CPU lists, the symbol cache. Returns 0,
 * -EINVAL.
 */
int agent_config_check(const struct agent_config *c, struct err *err);

/*
 * Restores the options that a running agent cannot change to their values in @old, and appends
 * their names to @out_kept, separated by spaces. Returns 0 or -ENOMEM.
 */
int agent_config_keep(struct agent_config *c, const struct agent_config *old, struct buf *out_kept);
