/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pids of invented processes are above the kernel's limit of 2^22, so that /proc has no entries for
 * them; tests that read /proc use this process.
 *
 * covers: src/process/process_table.c src/process/programs.c src/process/program_maps.c
 * src/process/program_identity.c
 */
#include "process/process_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "machine.h"
#include "proc/maps.h"
#include "process/sideband.h"
#include "tests/test.h"

enum { BASE = 1 << 23, N_PIDS = 64 };

static const uint64_t SECOND = 1000000000;

static void happen(struct machine *m, struct sideband_event ev)
{
	process_table_handle(m->processes, &ev);
}

/* Handles a record of a program that runs, which identifies the program. */
static const struct process *sample(struct machine *m, uint32_t pid, uint64_t time_ns,
				    uint64_t start_ns, uint32_t exec_id)
{
	struct program_id id = { .start_ns = start_ns, .exec_id = exec_id };

	return process_table_identify(m->processes, pid, time_ns, &id, true);
}

/* Makes up an identity for each pair of arguments. */
static void identify(struct machine *m, uint32_t pid, uint64_t time_ns)
{
	if (process_table_find(m->processes, pid, time_ns))
		(void)sample(m, pid, time_ns, time_ns, 0);
}

static void exec(struct machine *m, uint32_t pid, const char *comm, uint64_t time_ns)
{
	happen(m, (struct sideband_event){ .type = SIDEBAND_EXEC,
					   .pid = pid,
					   .tid = pid,
					   .time_ns = time_ns,
					   .name = comm });
	identify(m, pid, time_ns);
}

static void fork_task(struct machine *m, uint32_t ppid, uint32_t pid, uint32_t tid,
		      uint64_t time_ns)
{
	happen(m, (struct sideband_event){ .type = SIDEBAND_FORK,
					   .ppid = ppid,
					   .pid = pid,
					   .tid = tid,
					   .time_ns = time_ns });
	if (pid == tid)
		identify(m, pid, time_ns);
}

static void exit_task(struct machine *m, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	happen(m, (struct sideband_event){
			  .type = SIDEBAND_EXIT, .pid = pid, .tid = tid, .time_ns = time_ns });
}

static void map(struct machine *m, uint32_t pid, uint64_t start, const char *name, uint64_t time_ns)
{
	struct sideband_event ev = { .type = SIDEBAND_MAP,
				     .pid = pid,
				     .tid = pid,
				     .start = start,
				     .len = 4096,
				     .name = name,
				     .time_ns = time_ns };

	if (name[0] == '/' && name[1] != '/') {
		struct file_ref ref = machine_file_ref(name, start);

		ev.dev_major = ref.dev_major;
		ev.dev_minor = ref.dev_minor;
		ev.inode = ref.inode;
	}
	happen(m, ev);
}

static uint32_t n_published(struct machine *m, uint32_t pid)
{
	const struct published *p = machine_published(&m->sampler, pid);

	return p->is_there ? p->process.n_mappings : 0;
}

static uint32_t n_running(const struct machine *m)
{
	struct process_table_stats st;

	process_table_stats(m->processes, &st);
	return st.n_running;
}

static void a_program_is_published_with_its_mappings(void **state)
{
	const struct process *p;
	struct machine m;

	machine_init(&m);
	exec(&m, BASE, "prog", 10);
	map(&m, BASE, 0x10000, "/proc/self/exe", 11);
	map(&m, BASE, 0x90000, "//anon", 12);
	process_table_publish(m.processes, 20);
	assert_int_equal(n_published(&m, BASE), 2);
	p = process_table_find(m.processes, BASE, 15);
	assert_non_null(p);
	assert_string_equal(p->comm, "prog");
	assert_int_equal(p->start_ns, 10);
	assert_int_equal(p->end_ns, 0);
	assert_int_not_equal(p->exe, FILE_ID_NONE);
	assert_null(process_table_find(m.processes, BASE + 1, 15));
	machine_fini(&m);
}

static void the_programs_of_a_runtime_are_loaded_when_it_is_mapped(void **state)
{
	_cleanup_(freep) char *python = realpath("/usr/bin/python3", NULL);
	struct machine m;

	assert_non_null(python);
	machine_init(&m);
	exec(&m, BASE, "prog", 10);
	map(&m, BASE, 0x10000, "/proc/self/exe", 11);
	map(&m, BASE, 0x90000, "//python3", 12);
	process_table_publish(m.processes, 20);
	assert_int_equal(m.sampler.expected, 0);
	map(&m, BASE, 0x20000, python, 21);
	process_table_publish(m.processes, 30);
	assert_int_equal(m.sampler.expected, 1 << LANG_PYTHON);
	machine_fini(&m);
}

static void a_fork_shares_its_parents_mappings_until_either_changes(void **state)
{
	const struct process *child;
	struct machine m;

	machine_init(&m);
	exec(&m, BASE, "parent", 10);
	map(&m, BASE, 0x10000, "//anon", 11);
	fork_task(&m, BASE, BASE + 1, BASE + 1, 12);
	process_table_publish(m.processes, 13);
	assert_int_equal(n_published(&m, BASE + 1), 1);
	map(&m, BASE, 0x90000, "//anon", 14);
	map(&m, BASE, 0xa0000, "[stack]", 14);
	process_table_publish(m.processes, 15);
	assert_int_equal(n_published(&m, BASE), 3);
	assert_int_equal(n_published(&m, BASE + 1), 1);
	child = process_table_find(m.processes, BASE + 1, 15);
	assert_int_equal(child->ppid, BASE);
	assert_string_equal(child->comm, "parent");
	machine_fini(&m);
}

static void a_replaced_file_is_uncertain_until_it_is_published(void **state)
{
	const struct process *p;
	uint32_t file;
	struct machine m;

	machine_init(&m);
	exec(&m, BASE, "prog", 10);
	map(&m, BASE, 0x10000, "/proc/self/exe", 11);
	process_table_publish(m.processes, 12);
	p = process_table_find(m.processes, BASE, 15);
	file = p->exe;
	map(&m, BASE, 0x90000, "/bin/true", 20);
	map(&m, BASE, 0x10000, "/proc/self/exe", 30); /* the same again */
	assert_false(process_table_was_replaced(p, file, 30));
	map(&m, BASE, 0x10000, "/bin/true", 40);
	assert_false(process_table_was_replaced(p, file, 39));
	assert_true(process_table_was_replaced(p, file, 40));
	assert_true(process_table_was_replaced(p, file, SECOND)); /* not published */
	assert_false(process_table_was_replaced(p, file + 1, SECOND));
	assert_false(process_table_was_replaced(NULL, file, SECOND));
	process_table_publish(m.processes, 50);
	assert_true(process_table_was_replaced(p, file, 40));
	assert_false(process_table_was_replaced(p, file, clock_monotonic_ns()));
	machine_fini(&m);
}

static void samples_find_the_program_that_ran_at_their_time(void **state)
{
	struct machine m;

	machine_init(&m);
	exec(&m, BASE, "first", 1 * SECOND);
	exec(&m, BASE, "second", 2 * SECOND);
	assert_string_equal(process_table_find(m.processes, BASE, 3 * SECOND / 2)->comm, "first");
	assert_int_equal(process_table_find(m.processes, BASE, 3 * SECOND / 2)->end_ns, 2 * SECOND);
	assert_string_equal(process_table_find(m.processes, BASE, 5 * SECOND)->comm, "second");
	process_table_reap(m.processes, 4 * SECOND);
	assert_string_equal(process_table_find(m.processes, BASE, 3 * SECOND / 2)->comm, "first");
	process_table_reap(m.processes, 6 * SECOND);
	assert_string_equal(process_table_find(m.processes, BASE, 3 * SECOND / 2)->comm, "second");
	exit_task(&m, BASE, BASE, 7 * SECOND);
	assert_int_equal(n_running(&m), 0);
	assert_true(machine_published(&m.sampler, BASE)->has_ended);
	assert_non_null(process_table_find(m.processes, BASE, 7 * SECOND));
	process_table_reap(m.processes, 11 * SECOND);
	assert_null(process_table_find(m.processes, BASE, 7 * SECOND));
	machine_fini(&m);
}

static void a_process_ends_with_its_last_thread(void **state)
{
	struct machine m;

	machine_init(&m);
	exec(&m, BASE, "prog", 10);
	fork_task(&m, BASE, BASE, BASE + 1, 11);
	fork_task(&m, BASE, BASE, BASE + 2, 12);
	exit_task(&m, BASE, BASE + 1, 13);
	exit_task(&m, BASE, BASE, 14);
	assert_int_equal(n_running(&m), 1);
	assert_int_equal(process_table_find(m.processes, BASE, 15)->end_ns, 0);
	exit_task(&m, BASE, BASE + 2, 16);
	assert_int_equal(n_running(&m), 0);
	machine_fini(&m);
}

static void only_processes_with_records_are_counted(void **state)
{
	const struct sideband_event ev = {
		.type = SIDEBAND_EXEC, .pid = BASE, .tid = BASE, .time_ns = 10, .name = "sh"
	};
	struct process_table_stats st;
	struct machine m;

	machine_init(&m);
	happen(&m, ev);
	process_table_stats(m.processes, &st);
	assert_int_equal(st.n_recorded, 0);
	assert_non_null(sample(&m, BASE + 2, 11, 7, 1)); /* one that is not used */
	process_table_count_recorded(m.processes, NULL);
	process_table_count_recorded(m.processes, sample(&m, BASE, 11, 5, 1));
	process_table_count_recorded(m.processes, sample(&m, BASE, 12, 5, 1));
	process_table_count_recorded(m.processes, sample(&m, BASE, 13, 5, 2)); /* after an exec */
	process_table_stats(m.processes, &st);
	assert_int_equal(st.n_recorded, 1);
	process_table_count_recorded(m.processes,
				     sample(&m, BASE, 14, 9, 0)); /* the pid was reused */
	process_table_count_recorded(m.processes, sample(&m, BASE + 1, 15, 9, 0));
	process_table_stats(m.processes, &st);
	assert_int_equal(st.n_recorded, 3);
	machine_fini(&m);
}

static int count_map(void *ctx, const struct proc_map *map)
{
	uint32_t *n = ctx;

	(*n)++;
	return 0;
}

static void after_lost_events_proc_is_read_again(void **state)
{
	uint32_t self = (uint32_t)getpid(), n = 0;
	struct unwind_process out = { 0 };
	struct machine m;

	machine_init(&m);
	exec(&m, self, "stale", 10);
	process_table_publish(m.processes, 11);
	happen(&m, (struct sideband_event){ .type = SIDEBAND_LOST, .n_lost = 3, .time_ns = 12 });
	process_table_publish(m.processes, 13);
	assert_false(machine_published(&m.sampler, self)->is_there);
	assert_int_equal(process_table_mappings(m.processes, sample(&m, self, 14, 10, 0), 15, &out),
			 0);
	assert_int_equal(proc_maps_read((int)self, PROC_MAPS_EXEC, count_map, &n, NULL), 0);
	assert_true(out.n_mappings > 1 && out.n_mappings <= n);
	assert_true(machine_published(&m.sampler, self)->is_there);
	machine_fini(&m);
}

static void an_unknown_process_is_read_from_proc(void **state)
{
	uint32_t self = (uint32_t)getpid();
	struct unwind_process out = { 0 };
	struct machine m;

	machine_init(&m);
	assert_int_equal(process_table_mappings(m.processes, sample(&m, self, 1, 5, 0), 2, &out),
			 0);
	assert_true(out.n_mappings > 1);
	assert_int_not_equal(process_table_find(m.processes, self, 3)->exe, FILE_ID_NONE);
	assert_int_equal(
		process_table_mappings(m.processes, sample(&m, BASE + 9, 1, 5, 0), 2, &out),
		-ESRCH);
	machine_fini(&m);
}

static void only_followed_processes_and_their_children_are_known(void **state)
{
	uint32_t self = (uint32_t)getpid();
	struct machine m;

	machine_init(&m);
	assert_int_equal(process_table_follow(m.processes, self), 0);
	assert_true(machine_published(&m.sampler, self)->is_target);
	exec(&m, BASE, "stranger", 10);
	map(&m, BASE, 0x10000, "//anon", 11);
	fork_task(&m, BASE, BASE + 1, BASE + 1, 12);
	fork_task(&m, self, BASE + 2, BASE + 2, 13);
	assert_null(process_table_find(m.processes, BASE, 20));
	assert_null(process_table_find(m.processes, BASE + 1, 20));
	assert_non_null(process_table_find(m.processes, BASE + 2, 20));
	machine_fini(&m);
}

static void unmapped_addresses_are_final_until_mappings_change(void **state)
{
	struct machine m;

	machine_init(&m);
	exec(&m, BASE, "prog", 10);
	map(&m, BASE, 0x10000, "//anon", 11);
	process_table_publish(m.processes, 12);
	assert_false(process_table_ignore_unmapped(m.processes, sample(&m, BASE, 12, 10, 0), 12));
	assert_true(machine_published(&m.sampler, BASE)->process.unmapped_is_final);
	map(&m, BASE, 0x90000, "//anon", 13);
	process_table_publish(m.processes, 14);
	assert_false(machine_published(&m.sampler, BASE)->process.unmapped_is_final);
	machine_fini(&m);
}

static void a_program_is_published_once_its_identity_is_known(void **state)
{
	struct sideband_event ev = {
		.type = SIDEBAND_EXEC, .pid = BASE, .tid = BASE, .time_ns = 10, .name = "prog"
	};
	const struct program_id in_exec = { .start_ns = 5, .exec_id = 1 };
	struct machine m;

	machine_init(&m);
	happen(&m, ev);
	map(&m, BASE, 0x10000, "//anon", 11);
	process_table_publish(m.processes, 12);
	assert_int_equal(n_published(&m, BASE), 0);
	/* a record of the middle of an exec does not identify a program */
	assert_null(process_table_identify(m.processes, BASE, 12, &in_exec, false));
	assert_non_null(sample(&m, BASE, 13, 5, 2));
	process_table_publish(m.processes, 14);
	assert_int_equal(n_published(&m, BASE), 1);
	assert_int_equal(machine_published(&m.sampler, BASE)->process.program.start_ns, 5);
	assert_int_equal(machine_published(&m.sampler, BASE)->process.program.exec_id, 2);
	/* unless it follows the identity of the program that called exec */
	ev.time_ns = 20;
	ev.name = "next";
	happen(&m, ev);
	assert_string_equal(
		process_table_identify(m.processes, BASE, 21,
				       &(struct program_id){ .start_ns = 5, .exec_id = 3 }, false)
			->comm,
		"next");
	machine_fini(&m);
}

/* Records of both programs arrive in any order: each finds its own by identity, not by time. */
static void records_find_their_program_by_identity(void **state)
{
	const struct process *first, *second;
	struct machine m;

	machine_init(&m);
	exec(&m, BASE, "first", 10);
	exec(&m, BASE, "second", 20);
	first = sample(&m, BASE, 25, 10, 0);
	second = sample(&m, BASE, 25, 20, 0);
	assert_string_equal(first->comm, "first");
	assert_string_equal(second->comm, "second");
	assert_ptr_equal(sample(&m, BASE, 15, 20, 0), second);
	assert_int_equal(first->end_ns, 20);
	assert_true(process_table_ran_until(m.processes, BASE, 10, 19, false));
	assert_false(process_table_ran_until(m.processes, BASE, 10, 20, false));
	assert_true(process_table_ran_until(m.processes, BASE, 20, 100, false));
	machine_fini(&m);
}

static void a_lost_exec_or_fork_shows_in_the_identity(void **state)
{
	const struct process *p;
	struct machine m;

	machine_init(&m);
	exec(&m, BASE, "first", 10);
	map(&m, BASE, 0x10000, "//anon", 11);
	process_table_publish(m.processes, 12);
	p = sample(&m, BASE, 30, 10, 1);
	assert_non_null(p);
	assert_int_equal(p->start_ns, 30);
	assert_string_equal(p->comm, "");
	assert_int_equal(sample(&m, BASE, 12, 10, 0)->end_ns, 30);
	/* the event was late, not lost: it names the program */
	happen(&m, (struct sideband_event){ .type = SIDEBAND_EXEC,
					    .pid = BASE,
					    .tid = BASE,
					    .time_ns = 29,
					    .name = "second" });
	assert_ptr_equal(process_table_find(m.processes, BASE, 31), p);
	/* an older program that was never known stays unknown */
	assert_null(sample(&m, BASE, 5, 3, 0));
	assert_int_equal(n_running(&m), 1);
	machine_fini(&m);
}

static void a_sweep_finds_what_no_event_told(void **state)
{
	struct process_table_stats st;
	struct machine m;

	machine_init(&m);
	exec(&m, BASE, "ended", 10);
	exec(&m, BASE + 1, "changed", 10);
	happen(&m, (struct sideband_event){ .type = SIDEBAND_EXEC,
					    .pid = BASE + 2,
					    .tid = BASE + 2,
					    .time_ns = 10,
					    .name = "unidentified" });
	exec(&m, BASE + 3, "in exec", 10);
	m.sampler.n_programs = 3;
	m.sampler.programs[0] =
		(struct record_header){ .pid = BASE + 1, .time_ns = 40, .program = { 10, 1, 0 } };
	m.sampler.programs[1] = (struct record_header){ .pid = BASE + 2, .program = { 7, 3, 0 } };
	m.sampler.programs[2] = (struct record_header){ .pid = BASE + 3,
							.flags = RECORD_IN_EXEC,
							.program = { 10, 9, 0 } };
	process_table_sweep(m.processes);
	process_table_stats(m.processes, &st);
	assert_int_equal(st.n_running, 3);
	assert_int_equal(st.n_corrected, 2);
	assert_true(machine_published(&m.sampler, BASE)->has_ended);
	assert_int_equal(process_table_find(m.processes, BASE + 1, 41)->start_ns, 40);
	assert_int_equal(process_table_find(m.processes, BASE + 2, 41)->id.exec_id, 3);
	assert_int_equal(process_table_find(m.processes, BASE + 3, 41)->id.exec_id, 0);
	/* it was there after all */
	assert_int_equal(sample(&m, BASE, 50, 10, 0)->end_ns, 0);
	process_table_stats(m.processes, &st);
	assert_int_equal(st.n_running, 4);
	machine_fini(&m);
}

struct race {
	struct machine *m;
	uint64_t exec_ns; /* 0: nothing happens */
};

static void exec_meanwhile(void *ctx)
{
	struct race *race = ctx;
	uint32_t self = (uint32_t)getpid();

	if (race->exec_ns)
		happen(race->m, (struct sideband_event){ .type = SIDEBAND_EXEC,
							 .pid = self,
							 .tid = self,
							 .time_ns = race->exec_ns,
							 .name = "next" });
	race->exec_ns = 0;
}

/* /proc shows the next program, as the event of its exec shows only afterwards. */
static void what_was_read_of_the_next_program_is_dropped(void **state)
{
	uint32_t self = (uint32_t)getpid();
	struct unwind_process out = { 0 };
	const struct process *p;
	struct machine m;
	struct race race = { &m, 20 };

	machine_init(&m);
	process_table_set_sync(m.processes, exec_meanwhile, &race);
	/* while its name is read */
	p = sample(&m, self, 10, 5, 0);
	assert_non_null(p);
	assert_string_equal(p->comm, "");
	assert_int_equal(p->end_ns, 20);
	assert_int_equal(process_table_mappings(m.processes, p, 11, &out), -ESRCH);
	/* while its mappings are read */
	p = process_table_find(m.processes, self, 30);
	assert_string_equal(p->comm, "next");
	happen(&m, (struct sideband_event){ .type = SIDEBAND_LOST, .n_lost = 1, .time_ns = 21 });
	race.exec_ns = 40;
	assert_int_equal(process_table_mappings(m.processes, p, 31, &out), -ESRCH);
	assert_int_equal(p->end_ns, 40);
	machine_fini(&m);
}

struct model {
	bool runs[N_PIDS];
	uint64_t start_ns[N_PIDS];
	uint32_t n;
};

static void model_set(struct model *model, uint32_t i, bool runs, uint64_t time_ns)
{
	model->n = model->n - model->runs[i] + runs;
	model->runs[i] = runs;
	model->start_ns[i] = time_ns;
}

/* Random execs, forks and exits: the table agrees with a plain array. */
static void agrees_with_a_model(void **state)
{
	struct model model = { 0 };
	uint32_t random = 12345;
	struct machine m;

	machine_init(&m);
	for (uint64_t t = 1; t < 20000; t++) {
		uint32_t i, k;

		random = random * 1664525 + 1013904223;
		i = random >> 16 & (N_PIDS - 1);
		k = random >> 24 & (N_PIDS - 1);
		if (model.runs[i] && random >> 8 & 1) {
			exit_task(&m, BASE + i, BASE + i, t * SECOND / 100);
			model_set(&model, i, false, 0);
		} else if (model.runs[k] && !model.runs[i]) {
			fork_task(&m, BASE + k, BASE + i, BASE + i, t * SECOND / 100);
			model_set(&model, i, true, t * SECOND / 100);
		} else {
			exec(&m, BASE + i, "x", t * SECOND / 100);
			model_set(&model, i, true, t * SECOND / 100);
		}
		if (t % 50 == 0) {
			process_table_publish(m.processes, t * SECOND / 100);
			process_table_reap(m.processes, t * SECOND / 100);
		}
		assert_int_equal(n_running(&m), model.n);
		for (i = 0; i < N_PIDS; i++) {
			const struct process *p =
				process_table_find(m.processes, BASE + i, UINT64_MAX);

			assert_int_equal(p && !p->end_ns, model.runs[i]);
			if (model.runs[i])
				assert_int_equal(p->start_ns, model.start_ns[i]);
		}
	}
	machine_fini(&m);
}

TEST_GROUP(test_process_table, TEST(a_replaced_file_is_uncertain_until_it_is_published),
	   TEST(a_program_is_published_once_its_identity_is_known),
	   TEST(records_find_their_program_by_identity),
	   TEST(a_lost_exec_or_fork_shows_in_the_identity), TEST(a_sweep_finds_what_no_event_told),
	   TEST(what_was_read_of_the_next_program_is_dropped),
	   TEST(a_program_is_published_with_its_mappings),
	   TEST(the_programs_of_a_runtime_are_loaded_when_it_is_mapped),
	   TEST(a_fork_shares_its_parents_mappings_until_either_changes),
	   TEST(samples_find_the_program_that_ran_at_their_time),
	   TEST(a_process_ends_with_its_last_thread), TEST(only_processes_with_records_are_counted),
	   TEST(after_lost_events_proc_is_read_again), TEST(an_unknown_process_is_read_from_proc),
	   TEST(only_followed_processes_and_their_children_are_known),
	   TEST(unmapped_addresses_are_final_until_mappings_change), TEST(agrees_with_a_model))
