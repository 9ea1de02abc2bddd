/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule of the tests excludes programs whose names begin with "x". Pids are above the kernel's
 * limit, as in process_table.c.
 */
#include "process/program_selection.h"

#include <errno.h>
#include <string.h>

#include "machine.h"
#include "process/process_table.h"
#include "process/sideband.h"
#include "tests/test.h"

enum { BASE = 1 << 23, TURN_MAX = 256 + 64, MANY = 500 };

static const uint64_t SECOND = 1000000000;

struct rule {
	uint32_t n_calls;
	bool all_gone; /* nothing can be read any more */
	bool inverted;
};

static int by_name(void *ctx, const struct process *p, const char *exe, struct selection *out)
{
	struct rule *rule = ctx;

	rule->n_calls++;
	if (rule->all_gone)
		return -ESRCH;
	*out = (struct selection){ 0 };
	if ((p->comm[0] == 'x') != rule->inverted)
		out->flags = SELECT_EXCLUDED;
	return 0;
}

static void set_rule(struct machine *m, struct rule *rule)
{
	const struct process_rules rules = { .select = by_name, .ctx = rule, .by_comm = true };

	process_table_set_rules(m->processes, &rules);
}

static void named(struct machine *m, enum sideband_type type, uint32_t pid, const char *comm,
		  uint64_t time_ns)
{
	struct sideband_event ev = {
		.type = type, .pid = pid, .tid = pid, .time_ns = time_ns, .name = comm
	};

	process_table_handle(m->processes, &ev);
}

static void exec(struct machine *m, uint32_t pid, const char *comm, uint64_t time_ns)
{
	named(m, SIDEBAND_EXEC, pid, comm, time_ns);
}

static void fork_process(struct machine *m, uint32_t ppid, uint32_t pid, uint64_t time_ns)
{
	struct sideband_event ev = {
		.type = SIDEBAND_FORK, .ppid = ppid, .pid = pid, .tid = pid, .time_ns = time_ns
	};

	process_table_handle(m->processes, &ev);
}

static void exit_process(struct machine *m, uint32_t pid, uint64_t time_ns)
{
	struct sideband_event ev = {
		.type = SIDEBAND_EXIT, .pid = pid, .tid = pid, .time_ns = time_ns
	};

	process_table_handle(m->processes, &ev);
}

static bool is_excluded(struct machine *m, uint32_t pid, uint64_t time_ns)
{
	const struct process *p = process_table_find(m->processes, pid, time_ns);

	return process_table_excludes(m->processes, p, SELECT_NO_CPU);
}

static bool is_excluded_in_kernel(struct machine *m, uint32_t pid)
{
	return machine_published(&m->sampler, pid)->selection.flags & SELECT_NO_CPU;
}

static void everything_is_profiled_without_rules(void **state)
{
	struct machine m;

	machine_init(&m);
	exec(&m, BASE, "x", 10);
	process_table_select(m.processes, 20);
	assert_false(m.sampler.by_rules);
	assert_false(is_excluded(&m, BASE, 20));
	assert_int_equal(machine_published(&m.sampler, BASE)->n_selections, 0);
	machine_fini(&m);
}

static void rules_apply_to_present_and_to_new_processes(void **state)
{
	struct rule rule = { 0 };
	struct machine m;

	machine_init(&m);
	exec(&m, BASE, "x", 10);
	exec(&m, BASE + 1, "y", 10);
	set_rule(&m, &rule);
	assert_true(m.sampler.by_rules);
	assert_true(is_excluded_in_kernel(&m, BASE));
	assert_false(is_excluded_in_kernel(&m, BASE + 1));
	exec(&m, BASE + 2, "x", 20);
	process_table_select(m.processes, 30);
	assert_true(is_excluded_in_kernel(&m, BASE + 2));
	rule.inverted = true;
	set_rule(&m, &rule);
	assert_false(is_excluded_in_kernel(&m, BASE + 2));
	assert_true(is_excluded_in_kernel(&m, BASE + 1));
	machine_fini(&m);
}

static void a_child_inherits_what_cannot_be_read_any_more(void **state)
{
	struct rule rule = { 0 };
	struct machine m;

	machine_init(&m);
	set_rule(&m, &rule);
	exec(&m, BASE, "x", 10);
	exec(&m, BASE + 1, "y", 10);
	process_table_select(m.processes, 11);
	rule.all_gone = true;
	fork_process(&m, BASE, BASE + 2, 20);
	fork_process(&m, BASE + 1, BASE + 3, 20);
	exec(&m, BASE + 2, "z", 21);
	assert_true(is_excluded(&m, BASE + 2, 22));
	assert_false(is_excluded(&m, BASE + 3, 22));
	machine_fini(&m);
}

/* The kernel forgets an exclusion at an exec, so it is published again. */
static void each_program_is_published(void **state)
{
	struct rule rule = { 0 };
	struct machine m;

	machine_init(&m);
	set_rule(&m, &rule);
	exec(&m, BASE, "x1", 10);
	process_table_select(m.processes, 11);
	exec(&m, BASE, "x2", 12);
	process_table_select(m.processes, 13);
	assert_int_equal(machine_published(&m.sampler, BASE)->n_selections, 2);
	exec(&m, BASE, "y", 14);
	assert_true(is_excluded(&m, BASE, 13));
	assert_false(is_excluded(&m, BASE, 14));
	machine_fini(&m);
}

static void an_ended_process_is_not_published(void **state)
{
	struct rule rule = { 0 };
	struct machine m;

	machine_init(&m);
	set_rule(&m, &rule);
	exec(&m, BASE, "x", 10);
	exit_process(&m, BASE, 11);
	process_table_select(m.processes, 12);
	assert_true(is_excluded(&m, BASE, 10));
	assert_int_equal(machine_published(&m.sampler, BASE)->n_selections, 0);
	machine_fini(&m);
}

static void a_name_that_changes_all_the_time_costs_one_decision_a_turn(void **state)
{
	struct rule rule = { 0 };
	struct machine m;

	machine_init(&m);
	set_rule(&m, &rule);
	exec(&m, BASE, "y", 10);
	process_table_select(m.processes, 10);
	for (uint64_t turn = 1; turn <= 10; turn++) {
		rule.n_calls = 0;
		for (uint64_t i = 0; i < MANY; i++)
			named(&m, SIDEBAND_COMM, BASE, i % 2 ? "x" : "y", turn * 10000 + i);
		process_table_select(m.processes, turn * 10000 + MANY);
		assert_int_equal(rule.n_calls, 1);
		assert_true(is_excluded_in_kernel(&m, BASE));
	}
	machine_fini(&m);
}

/* The processes have ended, so only their start is due. */
static void the_work_of_a_turn_is_limited(void **state)
{
	struct rule rule = { 0 };
	struct machine m;
	uint32_t most = 0, n_turns = 0;

	machine_init(&m);
	set_rule(&m, &rule);
	for (uint32_t i = 0; i < MANY; i++) {
		exec(&m, BASE + i, "x", 10);
		exit_process(&m, BASE + i, 11);
	}
	do {
		rule.n_calls = 0;
		process_table_select(m.processes, 20);
		most = rule.n_calls > most ? rule.n_calls : most;
		n_turns++;
	} while (rule.n_calls);
	assert_in_range(most, 1, TURN_MAX);
	assert_in_range(n_turns, 2, MANY);
	assert_true(is_excluded(&m, BASE + MANY - 1, 10));
	machine_fini(&m);
}

/* A cgroup or a user changes without an event. */
static void what_changes_without_an_event_is_noticed(void **state)
{
	struct rule rule = { 0 };
	struct machine m;

	machine_init(&m);
	set_rule(&m, &rule);
	exec(&m, BASE, "x", 10);
	process_table_select(m.processes, 1 * SECOND);
	assert_true(is_excluded_in_kernel(&m, BASE));
	rule.inverted = true;
	for (uint64_t s = 2; s < 22; s++)
		process_table_select(m.processes, s * SECOND);
	assert_false(is_excluded_in_kernel(&m, BASE));
	machine_fini(&m);
}

/* Random events of eight processes; the decision is that about the name that they have. */
static void agrees_with_a_model(void **state)
{
	enum { N = 8 };
	static const char *const names[] = { "x1", "x2", "y1", "y2" };
	const char *name[N] = { 0 };
	struct rule rule = { 0 };
	uint32_t random = 1;
	struct machine m;

	machine_init(&m);
	set_rule(&m, &rule);
	for (uint64_t t = 1; t <= 20000; t++) {
		uint32_t i = (random = random * 1664525 + 1013904223) >> 16 & (N - 1);
		uint32_t k = random >> 20 & (N - 1), what = random >> 24 & 3;

		if (what == 0 && name[i]) {
			exit_process(&m, BASE + i, t * 1000);
			name[i] = NULL;
		} else if (what == 1 && name[i]) {
			name[i] = names[random >> 28 & 3];
			named(&m, SIDEBAND_COMM, BASE + i, name[i], t * 1000);
		} else if (what == 2 && name[k] && !name[i]) {
			fork_process(&m, BASE + k, BASE + i, t * 1000);
			name[i] = name[k];
		} else {
			name[i] = names[random >> 28 & 3];
			exec(&m, BASE + i, name[i], t * 1000);
		}
		if (t % 7)
			continue;
		process_table_select(m.processes, t * 1000 + 1);
		for (i = 0; i < N; i++) {
			if (!name[i])
				continue;
			assert_int_equal(is_excluded_in_kernel(&m, BASE + i), name[i][0] == 'x');
			assert_int_equal(is_excluded(&m, BASE + i, UINT64_MAX), name[i][0] == 'x');
		}
		process_table_reap(m.processes, t * 1000);
	}
	machine_fini(&m);
}

TEST_GROUP(test_program_selection, TEST(everything_is_profiled_without_rules),
	   TEST(rules_apply_to_present_and_to_new_processes),
	   TEST(a_child_inherits_what_cannot_be_read_any_more), TEST(each_program_is_published),
	   TEST(an_ended_process_is_not_published),
	   TEST(a_name_that_changes_all_the_time_costs_one_decision_a_turn),
	   TEST(the_work_of_a_turn_is_limited), TEST(what_changes_without_an_event_is_noticed),
	   TEST(agrees_with_a_model))
