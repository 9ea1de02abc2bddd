/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves event names. Patterns are refused, because every event becomes a sample type of
 * the profile: a few chosen names are useful there, a whole group is not.
 */
#include "sampler/events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "bpf/shared/abi.h"
#include "sampler/tracepoint.h"
#include "sampler/uprobe.h"

struct known {
	const char *name, *alias; /* perf's second name for the event, or NULL */
	uint32_t type;
	uint64_t config, period;
	bool is_clock;
};

#define SOFTWARE(name, alias, config)                                                              \
	{                                                                                          \
		name, alias, PERF_TYPE_SOFTWARE, config, 1, false                                  \
	}
#define HARDWARE(name, alias, config, period)                                                      \
	{                                                                                          \
		name, alias, PERF_TYPE_HARDWARE, config, period, false                             \
	}

/* Periods are chosen so that a busy CPU takes a few hundred samples per second. */
static const struct known known_events[] = {
	{ "cpu-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0, true },
	SOFTWARE("page-faults", "faults", PERF_COUNT_SW_PAGE_FAULTS),
	SOFTWARE("minor-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MIN),
	SOFTWARE("major-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MAJ),
	SOFTWARE("context-switches", "cs", PERF_COUNT_SW_CONTEXT_SWITCHES),
	SOFTWARE("cpu-migrations", "migrations", PERF_COUNT_SW_CPU_MIGRATIONS),
	HARDWARE("cycles", "cpu-cycles", PERF_COUNT_HW_CPU_CYCLES, 10000019),
	HARDWARE("instructions", NULL, PERF_COUNT_HW_INSTRUCTIONS, 10000019),
	HARDWARE("cache-references", NULL, PERF_COUNT_HW_CACHE_REFERENCES, 100003),
	HARDWARE("cache-misses", NULL, PERF_COUNT_HW_CACHE_MISSES, 10007),
	HARDWARE("branches", "branch-instructions", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 1000003),
	HARDWARE("branch-misses", NULL, PERF_COUNT_HW_BRANCH_MISSES, 10007),
};

const char *event_list_names(void)
{
	return "cpu-clock, page-faults, minor-faults, major-faults, context-switches, "
	       "cpu-migrations, cycles, instructions, cache-references, cache-misses, branches, "
	       "branch-misses";
}

static int find_known(const char *name, struct event *out)
{
	for (size_t i = 0; i < sizeof(known_events) / sizeof(known_events[0]); i++) {
		const struct known *k = &known_events[i];

		if (strcmp(name, k->name) != 0 && (!k->alias || strcmp(name, k->alias) != 0))
			continue;
		*out = (struct event){ .kind = EVENT_PERF,
				       .type = k->type,
				       .config = k->config,
				       .period = k->period,
				       .is_clock = k->is_clock,
				       .is_hardware = k->type == PERF_TYPE_HARDWARE };
		out->name = strdup(k->name);
		return out->name ? 0 : -ENOMEM;
	}
	return -ENOENT;
}

static bool is_uprobe(const char *text)
{
	return !strncmp(text, "uprobe:", 7) || !strncmp(text, "uretprobe:", 10);
}

static int parse_one(const char *text, const struct event_query *q, struct event *out,
		     struct err *err)
{
	int r = find_known(text, out);

	if (r != -ENOENT)
		return r;
	if (strpbrk(text, "*?["))
		return err_set(err, -EINVAL,
			       "--event \"%.60s\": patterns are not supported: name each event",
			       text);
	if (is_uprobe(text))
		return uprobe_parse(text, q, out, err);
	if (strchr(text, ':'))
		return tracepoint_parse(text, out, err);
	return err_set(err, -EINVAL, "--event \"%.24s\": unknown event; expected one of %s", text,
		       event_list_names());
}

static void event_fini(struct event *e)
{
	free(e->name);
	free(e->path);
}

static int add_one(const char *text, const struct event_query *q, struct event_list *out,
		   struct err *err)
{
	struct event e = { 0 };
	int r;

	if (out->len == EVENTS_MAX)
		return err_set(err, -E2BIG, "--event: expected at most %d events", EVENTS_MAX);
	r = parse_one(text, q, &e, err);
	for (size_t i = 0; i < out->len && r == 0; i++)
		if (!strcmp(out->data[i].name, e.name))
			r = err_set(err, -EINVAL, "--event \"%.80s\": the event is already listed",
				    e.name);
	if (r == 0)
		r = vec_push(out, e);
	if (r < 0)
		event_fini(&e);
	return r;
}

int event_list_parse(const char *text, const struct event_query *q, struct event_list *out,
		     struct err *err)
{
	_cleanup_(freep) char *copy = strdup(text);
	char *rest = copy, *one;
	int r = 0;

	if (!copy)
		return -ENOMEM;
	if (is_uprobe(text)) /* file and function names may contain commas */
		return add_one(text, q, out, err);
	while (r == 0 && (one = strsep(&rest, ",")))
		r = add_one(one, q, out, err);
	return r;
}

void event_list_fini(struct event_list *l)
{
	for (size_t i = 0; i < l->len; i++)
		event_fini(&l->data[i]);
	vec_fini(l);
}
