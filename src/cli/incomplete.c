/* SPDX-License-Identifier: Apache-2.0 */
/* A stack that ends early has the frame [incomplete: REASON] at its root. */
#include "cli/incomplete.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/text.h"
#include "profile/profile.h"
#include "tables/top.h"

static const struct {
	const char *reason, *text;
} explanations[] = {
	{ "pc not in a mapping",
	  "A return address is in no executable mapping: a corrupt frame, or code that a program "
	  "generated and unmapped. Report it with a capture if it is frequent." },
	{ "no unwind rule",
	  "The file has unwind information, but none for this address, and none could be inferred "
	  "from the code. Report it with a capture if it is frequent." },
	{ "stack not readable",
	  "The memory of the stack was not resident, or the stack pointer is wrong. Nothing to do "
	  "if it is rare." },
	{ "stack pointer does not advance",
	  "The unwind information leads to a lower or the same address, which would be a loop. "
	  "Report it with a capture." },
	{ "more than 1024 frames",
	  "Deep recursion: the 1024 frames from the leaf are recorded. Reduce the recursion to see "
	  "its callers." },
	{ "32-bit process", "Only the stacks of 64-bit processes are walked." },
	{ "frame address register not saved",
	  "The unwind information refers to a register that callees did not save, as hand-written "
	  "assembly does. Report it with a capture." },
	{ "user registers not readable",
	  "The thread was in the kernel in a way that does not expose its user registers. Nothing "
	  "to do; this is rare." },
	{ "process ended before it was known",
	  "A process that lived for milliseconds ended before its mappings were read. Record with "
	  "-- COMMAND or -p to follow children from their start." },
	{ "stack changed before it was read",
	  "A stack was walked from a copy that lacks a part of it, which had changed meanwhile. "
	  "This affects the first samples of a program; a longer recording has few." },
	{ "no unwind table and no frame pointer",
	  "Generated code, or a file without .eh_frame, that does not keep a frame pointer. Build "
	  "with -fasynchronous-unwind-tables, or let the runtime keep frame pointers." },
	{ "unwind tables over their memory limit",
	  "The agent's memory is too small for all programs of the machine. Raise its key "
	  "\"memory\"." },
	{ "unwind table inconsistent",
	  "A table changed while it was read. Report it if it repeats." },
	{ "no room for more frames in this window",
	  "The agent's window is nearly full, so deep stacks are cut before samples are dropped. "
	  "Raise \"memory\", shorten \"window\", or lower \"freq\"." },
	{ "the stack was being switched",
	  "greenlet or gevent was copying the stack of a coroutine at this instant. Nothing to "
	  "do." },
	{ "no time to build an unwind table",
	  "More new programs started at once than unwind tables could be built in time. Nothing to "
	  "do if it stops; otherwise lower the frequency." },
	{ "the unwind table could not be read",
	  "The reader of this file crashed or took too long. It is tried again. Report it, with "
	  "the file." },
	{ "implausible root",
	  "A return address of zero was read although return addresses follow on the stack: the "
	  "unwind information of the file is wrong there. Report it with a capture if it is "
	  "frequent." },
};

static const char prefix[] = "[incomplete: ";

const char *incomplete_explanation(const char *reason)
{
	for (size_t i = 0; i < sizeof(explanations) / sizeof(*explanations); i++)
		if (!strcmp(explanations[i].reason, reason))
			return explanations[i].text;
	return NULL;
}

/* Copies the reason of the frame @name. Returns false if it is not such a frame. */
static bool get_reason(const char *name, char *out, size_t cap)
{
	size_t len = strlen(name), head = strlen(prefix);

	if (strncmp(name, prefix, head) != 0 || name[len - 1] != ']')
		return false;
	snprintf(out, cap, "%.*s", (int)(len - head - 1 < cap ? len - head - 1 : cap), name + head);
	return true;
}

static void put_reason(struct buf *out, const char *unit, const char *reason, int64_t value,
		       int64_t sum)
{
	const char *text = incomplete_explanation(reason);
	char amount[TEXT_VALUE_LEN];

	buf_printf(out, "%s (%.2f%%): ", text_value(value, unit, amount), text_percent(value, sum));
	text_put_safe(out, reason);
	buf_printf(out, ". %s\n", text ? text : "This reason is not known to this version.");
}

int incomplete_put(const struct profile *p, size_t value_num, struct buf *out, struct err *err)
{
	const char *unit = profile_string(p, profile_sample_type(p, value_num).unit);
	const struct top_options opt = { .value_num = value_num };
	_cleanup_(top_freep) struct top *t = NULL;
	char reason[120];
	size_t n = 0;
	int r = top_build(&t, p, &opt);

	if (r < 0)
		return err_set(err, r, "out of memory");
	for (size_t i = 0; i < top_n_rows(t); i++) {
		const struct top_row *row = top_row(t, i);

		if (!get_reason(top_entry(t, row).name, reason, sizeof(reason)))
			continue;
		if (!n++)
			buf_put_str(out,
				    "An incomplete stack has the frame [incomplete: REASON] at "
				    "its root. Its frames are right; the callers beyond them are "
				    "missing.\n");
		put_reason(out, unit, reason, row->total, top_sum(t));
	}
	if (!n)
		buf_put_str(out, "All stacks of this profile are complete.\n");
	return 0;
}
