/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/test.h"

static const struct event_query here;

/* A function to probe. */
__attribute__((noinline, used)) void a_place_in_this_program(void);
__attribute__((noinline, used)) void a_place_in_this_program(void)
{
	__asm__ volatile("nop; nop");
}

static void assert_refused(const char *text, int code, const char *why)
{
	struct event_list l = { 0 };
	struct err err = { 0 };

	assert_int_equal(event_list_parse(text, &here, &l, &err), code);
	if (!strstr(err.msg, why))
		fail_msg("%s: %s", text, err.msg);
	assert_int_equal(l.len, 0);
	event_list_fini(&l);
}

static void finds_events_by_our_names_and_those_of_perf(void **state)
{
	struct event_list l = { 0 };

	assert_int_equal(event_list_parse("page-faults,cs,cpu-clock", &here, &l, NULL), 0);
	assert_int_equal(event_list_parse("cycles", &here, &l, NULL), 0);
	assert_int_equal(l.len, 4);
	assert_int_equal(l.data[0].config, PERF_COUNT_SW_PAGE_FAULTS);
	assert_int_equal(l.data[0].period, 1);
	assert_string_equal(l.data[1].name, "context-switches");
	assert_true(l.data[2].is_clock);
	assert_int_equal(l.data[2].period, 0);
	assert_true(l.data[3].is_hardware);
	event_list_fini(&l);
}

static void refuses_unknown_events(void **state)
{
	assert_refused("colour", -EINVAL,
		       "--event \"colour\": unknown event; expected one of cpu-clock");
	assert_refused("", -EINVAL, "--event \"\": unknown event");
	assert_refused("sched:*", -EINVAL, "--event \"sched:*\": patterns are not supported");
	assert_refused("sched:", -EINVAL,
		       "--event \"sched:\": invalid tracepoint; expected GROUP:NAME");
	assert_refused(":x", -EINVAL, "GROUP:NAME");
	assert_refused("a:b:c", -EINVAL, "GROUP:NAME");
	assert_refused("../x:y", -EINVAL, "GROUP:NAME");
}

static void refuses_duplicate_and_too_many_events(void **state)
{
	struct event_list l = { 0 };
	struct err err = { 0 };

	assert_int_equal(event_list_parse("cs,faults,context-switches", &here, &l, &err), -EINVAL);
	assert_string_equal(err.msg, "--event \"context-switches\": the event is already listed");
	event_list_fini(&l);
	err = (struct err){ 0 };
	assert_int_equal(event_list_parse("cpu-clock,page-faults,minor-faults,major-faults,cs,"
					  "migrations,cycles,instructions,branches",
					  &here, &l, &err),
			 -E2BIG);
	assert_string_equal(err.msg, "--event: expected at most 8 events");
	event_list_fini(&l);
}

static void refuses_places_that_do_not_exist(void **state)
{
	assert_refused("uprobe:", -EINVAL, "uprobe:FILE:FUNCTION");
	assert_refused("uprobe:/bin/sh", -EINVAL, "uprobe:FILE:FUNCTION");
	assert_refused("uprobe::x", -EINVAL, "uprobe:FILE:FUNCTION");
	assert_refused("uprobe:/no/such/file:x", -ENOENT, "cannot open \"/no/such/file\"");
	assert_refused("uprobe:/proc/self/exe:nothing", -ENOENT,
		       "cannot find function \"nothing\" in");
	assert_refused("uprobe:/proc/self/exe:0xzz", -EINVAL, "expected hexadecimal digits");
	assert_refused("uprobe:/proc/self/exe:0xffffffffffff0000", -ENOENT,
		       "is outside of the code");
	assert_refused("uprobe:/proc/self/exe:a_place_in_this_program+0xfffffffffff", -ENOENT,
		       "is outside of the code");
	assert_refused("uretprobe:/proc/self/exe:x+1", -EINVAL, "cannot have an offset");
	assert_refused("uprobe:/etc/passwd:x", -ENOEXEC, "is not a program or library");
	assert_refused("uprobe:lib-that-is-not-there:x", -ENOENT, "use its path");
}

/* Returns the probe's offset in the file; -1 if the kernel has no uprobes. */
static int64_t offset_of(const char *text, uint32_t pid, const char *name)
{
	struct event_list l = { 0 };
	int64_t offset = -1;
	int r = event_list_parse(text, &(struct event_query){ .pid = pid }, &l, NULL);

	if (r == 0) {
		assert_int_equal(l.data[0].kind, EVENT_UPROBE);
		assert_string_equal(l.data[0].name, name);
		offset = (int64_t)l.data[0].offset;
	}
	assert_true(r == 0 || r == -ENOTSUP);
	event_list_fini(&l);
	return offset;
}

static void finds_functions_by_symbol_offset_and_address(void **state)
{
	int64_t at = offset_of("uprobe:/proc/self/exe:a_place_in_this_program", 0,
			       "uprobe:exe:a_place_in_this_program");
	int64_t on = offset_of("uprobe:/proc/self/exe:a_place_in_this_program+0x1", 0,
			       "uprobe:exe:a_place_in_this_program+0x1");

	if (at < 0)
		skip();
	assert_int_equal(on, at + 1);
	assert_true(offset_of("uretprobe:/proc/self/exe:a_place_in_this_program", 0,
			      "uretprobe:exe:a_place_in_this_program") == at);
}

static void finds_libraries_by_name_in_a_process_and_without(void **state)
{
	int64_t in_this_process =
		offset_of("uprobe:libc:malloc", (uint32_t)getpid(), "uprobe:libc:malloc");

	if (in_this_process < 0)
		skip();
	assert_true(in_this_process > 0);
	assert_int_equal(offset_of("uprobe:libc:malloc", 0, "uprobe:libc:malloc"), in_this_process);
}

TEST_GROUP(test_events, TEST(finds_events_by_our_names_and_those_of_perf),
	   TEST(refuses_unknown_events), TEST(refuses_duplicate_and_too_many_events),
	   TEST(refuses_places_that_do_not_exist),
	   TEST(finds_functions_by_symbol_offset_and_address),
	   TEST(finds_libraries_by_name_in_a_process_and_without))
