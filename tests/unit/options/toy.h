/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A table with an option of every kind, which the tests of this folder share. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "options/option.h"

struct toy {
	bool loud, inherit, idle;
	char *name;
	struct option_texts tags;
	uint64_t count, freq, window, memory, lazy;
	double share;
	unsigned int mode, pace;
	int colour;
};

static inline int parse_colour(void *field, const char *text, struct err *why)
{
	if (strcmp(text, "red") != 0)
		return err_set(why, -EINVAL, "expected red");
	*(int *)field = 7;
	return 0;
}

static inline const char *toy_colours(void)
{
	return "red, infrared";
}

#define TOY(kind_, field, name_)                                                                   \
	.kind = OPTION_##kind_, .name = name_, .offset = offsetof(struct toy, field), .help = name_

static const struct option_spec toy_options[] = {
	{ .kind = OPTION_HEADING, .help = "Toys" },
	{ TOY(FLAG, loud, "loud"), .letter = 'l' },
	{ TOY(FLAG, inherit, "no-inherit"), .flags = OPTION_CLEARS },
	{ TOY(BOOL, idle, "idle"), .arg = "yes|no", .preset = "no", .flags = OPTION_FIXED },
	{ TOY(TEXT, name, "name"), .letter = 'n', .arg = "NAME", .preset = "x" },
	{ TOY(TEXTS, tags, "tag"), .arg = "TAG", .flags = OPTION_FIXED },
	{ TOY(NUMBER, count, "count"), .letter = 'c', .arg = "N", .min = 1 },
	{ TOY(FREQUENCY, freq, "freq"), .letter = 'F', .arg = "HZ", .preset = "19", .min = 1,
	  .max = 10000, .flags = OPTION_FIXED },
	{ TOY(DURATION, window, "window"), .arg = "TIME", .preset = "15s", .min = 1000000000,
	  .max = 3600000000000 },
	{ TOY(SIZE, memory, "memory"), .arg = "SIZE", .unit = "M", .min = 1 << 20, .max = 1 << 30 },
	{ TOY(NUMBER, lazy, "lazy"), .arg = "N", .preset = "5", .flags = OPTION_LAZY_PRESET },
	{ TOY(PERCENT, share, "share"), .arg = "PERCENT", .max = 100 },
	{ TOY(CHOICE, mode, "mode"), .arg = "full|short|no", .preset = "short" },
	{ TOY(CHOICE, pace, "pace"), .arg = "slow|fast", .preset = "fast",
	  .flags = OPTION_OPTIONAL_VALUE },
	{ TOY(CUSTOM, colour, "colour"), .arg = "COLOUR", .parse = parse_colour,
	  .list = toy_colours },
	{ 0 },
};
