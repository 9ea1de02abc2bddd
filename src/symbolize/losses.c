/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each table and the switch include losses.def, which undefines its macros at the end, so that each
 * inclusion defines only the macro that it uses.
 */
#include "symbolize/losses.h"

#include "profiler/session.h"
#include "symbolize/symbolize.h"

static const struct {
	const char *metric, *help, *one, *several;
} kinds[] = {
#define LOSS_KIND(kind, metric, help, one, several) { metric, help, one, several },
#include "symbolize/losses.def"
};

static const struct {
	enum loss_kind kind;
	const char *reason, *text;
} losses[] = {
#define LOSS(kind, symbol, reason, value, text) { LOSS_##kind, reason, text },
#include "symbolize/losses.def"
};

uint64_t losses_value(enum loss loss, const struct loss_sources *in)
{
	switch (loss) {
#define LOSS(kind, symbol, reason, value, text)                                                    \
	case LOSS_##symbol:                                                                        \
		return value;
#include "symbolize/losses.def"
	case LOSS_MAX:
		break;
	}
	return 0;
}

enum loss_kind losses_kind(enum loss loss)
{
	return losses[loss].kind;
}

const char *losses_reason(enum loss loss)
{
	return losses[loss].reason;
}

const char *losses_text(enum loss loss)
{
	return losses[loss].text;
}

const char *losses_metric(enum loss_kind kind)
{
	return kinds[kind].metric;
}

const char *losses_help(enum loss_kind kind)
{
	return kinds[kind].help;
}

const char *losses_noun(enum loss_kind kind, uint64_t n)
{
	return n == 1 ? kinds[kind].one : kinds[kind].several;
}
