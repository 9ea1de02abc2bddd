/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The table of a command's options, from which everything else about them is derived: the
 * parser of the command line (arguments.h), the keys of a config file (config_file.h), --help
 * (help.h), the man page (man.h) and shell completion (completion.h).
 *
 * A table is an array of struct option_spec that ends with an OPTION_END. Each entry names a
 * field of the command's own values struct by its offset. option_set_init() writes the defaults
 * there, the parsers overwrite them, option_set_fini() frees what they allocated. Values are not
 * shared between threads; tables are constant.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct err;

/* The type of a value, followed by the type of the field that holds it. */
enum option_kind {
	OPTION_END,       /* ends the table */
	OPTION_HEADING,   /* no option: @help is a heading over those that follow */
	OPTION_FLAG,      /* bool; without a value; sets it, or clears it with OPTION_CLEARS */
	OPTION_BOOL,      /* bool; accepts yes or no; without a value it means yes */
	OPTION_TEXT,      /* char *, allocated; NULL: not given */
	OPTION_TEXTS,     /* struct option_texts; every occurrence adds one, an empty one clears */
	OPTION_NUMBER,    /* uint64_t */
	OPTION_FREQUENCY, /* uint64_t, samples per second */
	OPTION_DURATION,  /* uint64_t, ns */
	OPTION_SIZE,      /* uint64_t, bytes */
	OPTION_PERCENT,   /* double */
	OPTION_CHOICE,    /* unsigned int: the position among the words of @arg, "full|short|no" */
	OPTION_CUSTOM,    /* any type, which @parse writes; the command owns its memory */
};

enum option_flags {
	OPTION_CLEARS = 1u << 0, /* of an OPTION_FLAG: clears the field */
	/* @preset is only displayed: the field stays 0 or NULL until the option is given. */
	OPTION_LAZY_PRESET = 1u << 1,
	OPTION_FIXED = 1u << 2, /* a running process cannot change it; see option_set_keep() */
	OPTION_OPTIONAL_VALUE = 1u << 3, /* of an OPTION_CHOICE: without a value, the first word */
	OPTION_MAY_BE_SECRET = 1u << 4,  /* errors do not show a wrong value */
};

struct option_texts {
	VEC(char *);
};

struct option_spec {
	enum option_kind kind;
	char letter; /* '\0': none */
	const char *name;
	const char *arg;    /* placeholder of the value: "FILE"; NULL: the option has none */
	const char *preset; /* default; NULL: none */
	size_t offset;      /* of the field in the values struct */
	uint64_t min, max;  /* inclusive, in the field's unit; max 0: unlimited */
	const char *unit;   /* of a bare DURATION or SIZE; NULL: the text must name its unit */
	const char *expect; /* what a NUMBER or CUSTOM is, in errors; NULL: by its kind */
	/*
	 * The accepted values, separated by ", "; shown wherever the option is. NULL: not listed.
	 */
	const char *(*list)(void);
	unsigned int flags; /* enum option_flags */
	const char *help;   /* the effect, one sentence without a full stop */
	const char *
		details; /* further sentences, for the man page only; "\n\n" separates paragraphs */
	/*
	 * Required by a CUSTOM: converts @text into @field. Returns 0, or -errno with "expected
	 * ..." or another reason in @why, which the caller prefixes with the option and its value.
	 */
	int (*parse)(void *field, const char *text, struct err *why);
	/* Checks each value of TEXTS; returns as @parse does. NULL: any text is valid. */
	int (*check)(const char *text, struct err *why);
};

/*
 * The entries of a table. The file that has the table defines OPTION_VALUES, the type of the values
 * struct, in which @field_ is a member. Further members of the entry may follow the help.
 *
 * 	OPTION(DURATION, 'd', "duration", "TIME", duration_ns, "Stop after this time", .min = 1),
 */
#define OPTION_SECTION(title)                                                                      \
	{                                                                                          \
		.kind = OPTION_HEADING, .help = title                                              \
	}
#define OPTION(kind_, letter_, name_, arg_, field_, help_, ...)                                    \
	{                                                                                          \
		.kind = OPTION_##kind_, .letter = letter_, .name = name_, .arg = arg_,             \
		.offset = offsetof(OPTION_VALUES, field_), .help = help_, __VA_ARGS__              \
	}

/* A table together with the values struct that its offsets refer to. */
struct option_set {
	const struct option_spec *specs; /* NULL ends an array of sets */
	void *values;
};

enum { OPTION_TEXTS_MAX = 1000, OPTION_VALUE_MAX = 8192 };

/* Writes the defaults. The struct must be zeroed. Returns 0 or -ENOMEM. */
int option_set_init(const struct option_set *set);

/* Frees and zeroes TEXT and TEXTS. */
void option_set_fini(const struct option_set *set);

/* The option called @name, which has @len bytes; NULL: there is none. */
const struct option_spec *option_find(const struct option_spec *specs, const char *name,
				      size_t len);

/* The option with this letter; NULL: there is none. */
const struct option_spec *option_find_letter(const struct option_spec *specs, char letter);

/* Returns true if the option consumes the next argument when no value is attached with '='. */
bool option_takes_value(const struct option_spec *o);
/* Returns true if a value may be attached with '=' but is not required. */
bool option_value_is_optional(const struct option_spec *o);

/**
 * option_assign() - convert @text and store it in the option's field
 *
 * @label is the option as the user wrote it ("--freq", "-F" or the key "freq"), for the message.
 *
 * Return: 0; -EINVAL with a message such as `--freq "abc": expected a number of samples per
 * second between 1 and 10000`; -ENOMEM.
 */
int option_assign(const struct option_set *set, const struct option_spec *o, const char *label,
		  const char *text, struct err *err);

/**
 * option_set_keep() - carry the options that cannot change over to a new set of values
 *
 * Restores every OPTION_FIXED value that differs to that of @old, another values struct of the
 * same table, and appends the names of those options to @out_kept, separated by spaces.
 *
 * Return: 0 or -ENOMEM.
 */
struct buf;
int option_set_keep(const struct option_set *set, const void *old, struct buf *out_kept);
