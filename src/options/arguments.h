/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parser of command lines: --name VALUE, --name=VALUE, -x VALUE, -xVALUE and grouped flags
 * (-abc). A name may be shortened as long as it stays unique. Operands may stand anywhere unless
 * ARGUMENTS_STOP_AT_OPERAND is given; "--" ends the options.
 */
#include "base/vec.h"

struct err;
struct option_set;

enum arguments_flags {
	ARGUMENTS_STOP_AT_OPERAND = 1u << 0, /* the first operand ends the options, as for sudo */
	ARGUMENTS_NO_OPERANDS = 1u << 1,
};

/* Positive result: --help or -h was given, and what follows it was not read. */
enum { ARGUMENTS_HELP = 1 };

struct operands {
	VEC(char *); /* borrowed from argv */
};

/**
 * arguments_parse() - read the options and operands of a command
 *
 * @sets ends with a set whose specs are NULL; the first that has an option gets it. argv[0] is
 * skipped. @out receives the operands, to be freed with vec_fini() in every case; it may be NULL
 * with ARGUMENTS_NO_OPERANDS.
 *
 * Return: 0; ARGUMENTS_HELP; -EINVAL with the reason; -ENOMEM.
 */
int arguments_parse(const struct option_set *sets, unsigned int flags, int argc, char *const *argv,
		    struct operands *out, struct err *err);
