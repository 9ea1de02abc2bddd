/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo record`: its options, and the checks that concern several of them. It translates the
 * command line to struct recording_opts (recording.h); nothing here touches the kernel except to
 * read limits. Combinations in which an option would silently have no effect are errors.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/debug_files.h"
#include "cli/heap_recording.h"
#include "cli/recording.h"
#include "codec/format.h"
#include "metadata/select_rules.h"
#include "options/arguments.h"
#include "reader/place_client.h"
#include "sampler/alloc_programs.h"
#include "sampler/events.h"
#include "symbol/demangle.h"
#include "symbol/symbol_cache.h"

enum {
	DEFAULT_FREQ_HZ = 99,
	DEFAULT_ALLOC_SHARE = 5,
	PERIOD_MIN_NS = 100000,
	MAX_STACK_MAX = UINT16_MAX
};

#define SECOND_NS 1000000000ULL

/* Values that no option can have: the option was not given. */
#define NO_DURATION UINT64_MAX
#define NO_CHOICE   UINT_MAX

/*
 * Values of the option table. 0, NULL, NO_DURATION and NO_CHOICE mean that an option was not given,
 * where the difference from its default matters.
 */
struct record_args {
	bool all, inherit;
	struct pid_list pids;
	char *cgroup;
	struct option_texts select;

	uint64_t freq_hz; /* 0: not given */
	struct option_texts events;
	uint64_t count;
	bool off_cpu, wall, lock, wakers;
	unsigned int memory;
	uint64_t alloc_bytes, alloc_share; /* 0: not given */
	uint64_t off_min_ns;
	uint64_t duration_ns;
	bool idle;

	uint64_t max_stack;
	bool per_thread, kernel, user;
	unsigned int demangle, native_frames;
	char *debuginfod, *symbol_cache;

	char *output, *format;
	bool verbose;
};

#define OPTION_VALUES struct record_args

static const struct option_spec options[] = {
	OPTION_SECTION("What to profile"),
	OPTION(FLAG, 'a', "all", NULL, all, "Profile the whole machine (default)"),
	OPTION(CUSTOM, 'p', "pid", "PID,...", pids, "Profile these processes and their descendants",
	       .parse = args_parse_pids),
	OPTION(TEXT, 0, "cgroup", "NAME", cgroup, "Profile this cgroup and those below it",
	       .details = "NAME is the cgroup's path in the hierarchy, as shown in "
			  "/proc/PID/cgroup, or its directory."),
	OPTION(TEXTS, 0, "select", "RULE", select,
	       "With --all or --cgroup: select processes by a rule include|exclude "
	       "KEY=PATTERN...; the first rule that matches decides",
	       .check = select_rule_check,
	       .details = "The rules are those of select in the configuration of cameo agent: KEY "
			  "is comm, exe, uid, cgroup, container_id, container, runtime, namespace, "
			  "pod, unit or slice. Stacks of excluded processes are not walked."),
	OPTION(FLAG, 0, "inherit", NULL, inherit, "Profile child processes too (default)"),
	OPTION(FLAG, 0, "no-inherit", NULL, inherit,
	       "Do not profile the children of --pid processes or of the command",
	       .flags = OPTION_CLEARS),

	OPTION_SECTION("What to sample"),
	OPTION(CUSTOM, 'F', "freq", "HZ", freq_hz, "Take this many samples per second on each CPU",
	       .preset = "99", .flags = OPTION_LAZY_PRESET, .parse = args_parse_frequency),
	OPTION(TEXTS, 'e', "event", "NAME,...", events,
	       "Sample these events instead of CPU time: page-faults, cycles, a tracepoint such as "
	       "sched:sched_switch, uprobe:FILE:FUNCTION[+OFFSET] or uretprobe:FILE:FUNCTION",
	       .details =
		       "Software events are page-faults, minor-faults, major-faults, "
		       "context-switches and cpu-migrations. Hardware events are cycles, "
		       "instructions, cache-references, cache-misses, branches and branch-misses; "
		       "virtual machines often lack them. GROUP:NAME is a tracepoint of the "
		       "kernel; /sys/kernel/tracing/events lists them.\n\nuprobe:FILE:FUNCTION is "
		       "the entry of a function in a program or library, "
		       "uprobe:FILE:FUNCTION+OFFSET an instruction inside it (OFFSET must point to "
		       "its first byte), and uretprobe:FILE:FUNCTION the return to its caller. "
		       "FUNCTION is a name from the symbol table, or a demangled name without "
		       "parameters; an address 0x... may replace it. FILE is a path, or a name "
		       "without a slash such as libc, which is looked up in the mappings of the "
		       "first --pid process and then where the loader and the shell search. A "
		       "uprobe costs every process that runs the function a few microseconds per "
		       "call, even if it is not being profiled.\n\nEach event becomes a sample "
		       "type of the profile; at most 8 events can be recorded at once. Kernels "
		       "before 5.15 can only distinguish events of different kinds (perf events, "
		       "tracepoints, uprobes)."),
	OPTION(NUMBER, 'c', "count", "N", count,
	       "Take one sample every N events (for cpu-clock: every N ns of CPU time)", .min = 1,
	       .max = INT64_MAX,
	       .details = "N is counted on each CPU. By default a sample is taken at every "
			  "software event, tracepoint and probe hit, and for hardware events at a "
			  "period that yields a few hundred samples per second on a busy CPU. "
			  "Without --event, --count samples CPU time. The second sample type of "
			  "the profile is the number of events that the samples stand for."),
	OPTION(FLAG, 0, "off-cpu", NULL, off_cpu,
	       "Record where threads wait, and for how long, instead of where they run",
	       .details =
		       "The sample types are off_cpu, in nanoseconds, and samples, the number of "
		       "waits. A wait lasts from the moment a thread is switched out until it runs "
		       "again, and is recorded with the stack that it was switched out with. "
		       "Threads that sleep during the whole recording are included; kernel threads "
		       "are not.\n\nThe label state describes the wait: sleeping, uninterruptible, "
		       "stopped, traced or frozen; runnable for the time that a woken thread waits "
		       "for a free CPU; preempted while another thread has its CPU; new until the "
		       "thread runs for the first time. The label wait names the cause, as "
		       "determined from the kernel functions on the stack: futex, epoll, poll, "
		       "sleep, pipe, socket, accept, disk, page fault, child, file lock, kernel "
		       "lock and others.\n\nWith --cgroup, the cgroup must belong to the unified "
		       "hierarchy, and a thread is recorded if it was in the cgroup when it was "
		       "first seen. Waits are those of kernel-scheduled threads: a goroutine, "
		       "coroutine or virtual thread that waits hands its thread to another one, "
		       "and is not recorded.\n\nWhen recording every stack would cost too much, "
		       "short waits are sampled and weighted. A wait that is much longer than "
		       "usual for its thread is always counted with its exact length, as [stack "
		       "not taken] if its stack was not sampled."),
	OPTION(FLAG, 0, "wall", NULL, wall, "Record both where threads run and where they wait",
	       .details = "The sample types are samples, cpu, off_cpu and wall, which is the sum "
			  "of cpu and off_cpu. CPU time has the label state=running."),
	OPTION(FLAG, 0, "lock", NULL, lock,
	       "Like --off-cpu, but record only waits for locks (futex)",
	       .details = "This covers mutexes, read-write locks, condition variables and "
			  "semaphores in user space."),
	OPTION(FLAG, 0, "wakers", NULL, wakers,
	       "With --off-cpu, --wall or --lock, record who ends each wait",
	       .details =
		       "Above the frames of the waiting thread, the stack has a frame [woken by "
		       "NAME] with the name of the process and thread that ended the wait, and the "
		       "frames of that thread at that moment. If it has itself waited meanwhile, "
		       "the thread that ended that wait follows in the same way, and so on up to 8 "
		       "threads, of whichever process. The time is that of the first wait, so the "
		       "sums are those without --wakers.\n\nInterrupts are shown as [woken by "
		       "interrupt: timer], network, disk and so on, with the frames of the kernel "
		       "only. A wait that lasts longer than the recording is [not woken yet], and "
		       "one whose waker was not seen has [waker unknown]. Time that is not spent "
		       "waiting for anybody (runnable, preempted, new) has no waker."),
	OPTION(DURATION, 0, "off-min", "TIME", off_min_ns,
	       "With --off-cpu, --wall or --lock, skip waits shorter than this, such as 50us or "
	       "2ms",
	       .unit = "us", .max = 3600 * SECOND_NS,
	       .details = "A number without a unit is in microseconds. The summary reports how "
			  "many waits were skipped, and their total time."),
	OPTION(CHOICE, 0, "memory", "resident|alloc|live|heap", memory,
	       "Profile memory instead of CPU time: resident memory by the stack that touched "
	       "it first (resident), heap allocations (alloc), allocations and those still live "
	       "at the end (live), or the heap profile of Go's runtime (heap)",
	       .flags = OPTION_OPTIONAL_VALUE,
	       .details =
		       "resident: each page that is resident when the recording ends, by the stack "
		       "that first touched it. The sample type is resident, in bytes, and its sum "
		       "is the Rss of the processes; the label memory is anonymous or file (of a "
		       "file, or shared).\n\nPages that were resident when the recording began "
		       "have "
		       "the frame [present before the recording] and the name of their mapping. "
		       "Memory that becomes resident without a page fault belongs to the stack "
		       "that "
		       "mapped it, or else is [fault not seen]. A process that has ended before "
		       "the "
		       "recording has no memory.\n\nEach page fault costs a few microseconds; a "
		       "process that does not fault is not slowed down.\n\nalloc: the functions "
		       "that call "
		       "malloc() and its relatives, in the processes of --pid or the command. The "
		       "sample types are alloc_objects, in allocations, and alloc_space, in bytes. "
		       "live has inuse_objects and inuse_space too: what was allocated during the "
		       "recording and not freed until its end. Allocations are sampled by their "
		       "bytes, and the sums are estimates. Each call of an allocator's function "
		       "costs about 0.9 us, with live 1.5 us, and each free() 1 us, as measured on "
		       "one x86-64 machine with one thread; on others it may be more. Probes that "
		       "take too much pause (see --alloc-share). Linux 5.15 is needed.\n\n"
		       "heap: the heap profile that Go's runtime keeps since the start of a "
		       "program, read once from the memory of the --pid processes (Go 1.18 to "
		       "1.26, also without "
		       "symbols). The result is that of /debug/pprof/heap, with the same sample "
		       "types as live; no HTTP server is needed, and the program is neither "
		       "stopped nor slowed down. Nothing is recorded for a time: compare two "
		       "profiles with cameo diff. Programs that cannot reach runtime.MemProfile() "
		       "have no heap profile."),
	OPTION(SIZE, 0, "alloc-interval", "SIZE", alloc_bytes,
	       "With --memory=alloc or live, take a sample every SIZE allocated bytes on average",
	       .preset = "512K", .flags = OPTION_LAZY_PRESET, .min = 1, .max = ALLOC_MEAN_BYTES_MAX,
	       .details = "A shorter interval makes the sums more precise, at the cost of a stack "
			  "for each sample."),
	OPTION(NUMBER, 0, "alloc-share", "PERCENT", alloc_share,
	       "With --memory=alloc or live, pause when the probes take more than this share of "
	       "the processes' CPU time",
	       .preset = "5", .flags = OPTION_LAZY_PRESET, .min = 1, .max = 100,
	       .details =
		       "The default is for production: of a process that allocates much, it "
		       "records about 0.2 s every few seconds. What is allocated during a pause "
		       "is missing, and the summary states how long the pauses were; 100 records "
		       "without any. With live, frees are followed in pauses too, at about 1 us "
		       "each, so the probes may take more than this share. The share is an "
		       "estimate from the number of calls."),
	OPTION(FLAG, 0, "idle", NULL, idle, "Sample idle CPUs too"),
	OPTION(DURATION, 'd', "duration", "TIME", duration_ns,
	       "Stop recording after this time, such as 10 (seconds) or 5m", .unit = "s", .min = 1,
	       .max = 3650 * 86400 * SECOND_NS,
	       .details = "A command that was started by this one keeps running."),

	OPTION_SECTION("Stack traces and symbols"),
	OPTION(NUMBER, 0, "max-stack", "N", max_stack,
	       "Record only the innermost N frames of a stack", .min = 1, .max = MAX_STACK_MAX,
	       .details = "Functions that were inlined into these frames are not counted."),
	OPTION(FLAG, 0, "per-thread", NULL, per_thread,
	       "Distinguish threads by id, and show each under its own root",
	       .details = "The label thread becomes NAME-TID. In formats without labels, a frame "
			  "of that name is the root of each stack."),
	OPTION(FLAG, 0, "no-kernel", NULL, kernel, "Omit kernel frames", .flags = OPTION_CLEARS),
	OPTION(FLAG, 0, "no-user", NULL, user, "Omit user frames", .flags = OPTION_CLEARS),
	OPTION(CHOICE, 0, "native-frames", "some|all", native_frames,
	       "Hide the interpreter's own frames between those of the program (some) or show them "
	       "(all)",
	       .preset = "some"),
	OPTION(CHOICE, 0, "demangle", "full|short|no", demangle,
	       "Show C++, Rust, D and Ada names in full, short (without parameters and template "
	       "arguments) or, with no, as stored in the file",
	       .preset = "full", .flags = OPTION_LAZY_PRESET,
	       .details = "Java methods are shown with their parameters only if full is given "
			  "explicitly."),
	OPTION(TEXT, 0, "debuginfod", "URLS", debuginfod,
	       "Download missing debug information from these servers, separated by spaces",
	       .preset = "$DEBUGINFOD_URLS", .flags = OPTION_LAZY_PRESET,
	       .details = "Files are cached in $XDG_CACHE_HOME/cameo/debuginfod or "
			  "~/.cache/cameo/debuginfod, up to 1 GiB."),
	OPTION(TEXT, 0, "symbol-cache", "DIR", symbol_cache,
	       "Cache sorted symbol tables in DIR, at most 256 MiB",
	       .details = "The directory is created if necessary, and must not be writable by "
			  "other users. The least recently used tables are evicted."),

	OPTION_SECTION("Output"),
	OPTION(TEXT, 'o', "output", "FILE", output,
	       "Write the profile to FILE, or to standard output (-); the suffix selects the "
	       "format",
	       .preset = "cameo.pb.gz", .list = format_suffixes,
	       .details = "Under sudo(8), the file belongs to the user who ran it."),
	OPTION(TEXT, 0, "format", "FORMAT", format,
	       "Write this format regardless of the suffix of FILE", .list = format_writable_ids),
	OPTION(FLAG, 'v', "verbose", NULL, verbose,
	       "Report the cost of the recording: CPU time, BPF time, unwind tables"),
	{ 0 },
};

/* Looks up the events of --event. Without any, --count samples the CPU clock. */
static int find_events(struct recording_opts *o, const struct record_args *a, struct err *err)
{
	const struct event_query q = { .pid = a->pids.len ? a->pids.data[0] : 0,
				       .find_place = place_client_find };
	bool uses_clock = !a->events.len && a->count;
	int r = uses_clock ? event_list_parse("cpu-clock", &q, &o->events, err) : 0;

	for (size_t i = 0; i < a->events.len && r == 0; i++)
		r = event_list_parse(a->events.data[i], &q, &o->events, err);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

/*
 * --count applies to a clock only if that is the sole event, because N then means nanoseconds and
 * not events. A clock period below PERIOD_MIN_NS would mostly measure its own interrupts.
 */
static int set_periods(struct recording_opts *o, uint64_t count, struct err *err)
{
	for (size_t i = 0; i < o->events.len && count; i++) {
		struct event *e = &o->events.data[i];

		if (e->is_clock && o->events.len > 1)
			continue;
		if (e->is_clock && count < PERIOD_MIN_NS)
			return err_set(err, -EINVAL,
				       "--count \"%llu\": expected at least %d ns of CPU time",
				       (unsigned long long)count, PERIOD_MIN_NS);
		e->period = count;
	}
	return 0;
}

/*
 * Applies --event and --count, and checks --freq, which requires an event that is sampled by
 * frequency.
 */
static int set_events(struct recording_opts *o, const struct record_args *a, struct err *err)
{
	bool any_clock, any_probe = false;
	int r = find_events(o, a, err);

	any_clock = !o->events.len;
	if (r == 0)
		r = set_periods(o, a->count, err);
	for (size_t i = 0; i < o->events.len && r == 0; i++) {
		any_clock |= o->events.data[i].is_clock && !o->events.data[i].period;
		any_probe |= o->events.data[i].kind != EVENT_PERF;
	}
	if (r == 0 && a->freq_hz && !any_clock)
		return err_set(err, -EINVAL, "--freq has no effect on these events: use --count N");
	if (r == 0 && any_probe && a->cgroup)
		return err_set(err, -EINVAL,
			       "--cgroup cannot be used with tracepoints and uprobes: use --pid");
	return r;
}

/* Applies --off-cpu, --wall and --lock, and checks them against the other options. */
static int set_clock(struct recording_opts *o, const struct record_args *a, struct err *err)
{
	bool off = a->off_cpu || a->wall || a->lock;

	if (a->off_min_ns != NO_DURATION && !off)
		return err_set(err, -EINVAL, "--off-min requires --off-cpu, --wall or --lock");
	if (a->wakers && !off)
		return err_set(err, -EINVAL, "--wakers requires --off-cpu, --wall or --lock");
	if (a->wakers && !a->kernel)
		return err_set(err, -EINVAL,
			       "--wakers cannot be used with --no-kernel: the kernel's frames show "
			       "who ends a wait");
	if (!off)
		return 0;
	if (a->off_cpu + a->wall + a->lock > 1)
		return err_set(err, -EINVAL,
			       "--off-cpu, --wall and --lock cannot be used together");
	if (a->events.len)
		return err_set(err, -EINVAL,
			       "--event cannot be used with --off-cpu, --wall or --lock");
	if (a->freq_hz && !a->wall)
		return err_set(err, -EINVAL,
			       "--freq requires CPU time, which --off-cpu and --lock do not "
			       "sample: use --wall");
	o->what = a->wall ? SYMBOLIZE_WALL : SYMBOLIZE_OFF;
	o->locks_only = a->lock;
	o->wakers = a->wakers;
	o->off_min_ns = a->off_min_ns == NO_DURATION ? 0 : a->off_min_ns;
	return 0;
}

/* The values of --memory, in the order of the option's choices. */
enum { MEMORY_RESIDENT, MEMORY_ALLOC, MEMORY_LIVE, MEMORY_HEAP };

/* --memory=heap reads what programs have recorded: options of a recording would have no effect. */
static int check_heap(const struct recording_opts *o, const struct record_args *a, struct err *err)
{
	if (o->command || !a->pids.len)
		return err_set(err, -EINVAL,
			       "--memory=heap requires --pid, because it reads what running Go "
			       "programs have recorded");
	if (a->duration_ns || a->per_thread || !a->inherit || a->max_stack || !a->kernel ||
	    !a->user || a->demangle != NO_CHOICE || a->native_frames || a->symbol_cache ||
	    a->debuginfod || a->verbose)
		return err_set(err, -EINVAL,
			       "--memory=heap can only be used with --pid, --output and --format");
	return 0;
}

/*
 * Applies --memory and checks it against the options for other recordings. Its programs
 * cannot distinguish cgroups.
 */
static int set_memory(struct recording_opts *o, const struct record_args *a, struct err *err)
{
	static const enum symbolize_mode modes[] = { SYMBOLIZE_RESIDENT, SYMBOLIZE_ALLOC,
						     SYMBOLIZE_LIVE };

	if (a->memory != MEMORY_ALLOC && a->memory != MEMORY_LIVE) {
		if (a->alloc_bytes || a->alloc_share)
			return err_set(err, -EINVAL,
				       "--alloc-interval and --alloc-share require --memory=alloc "
				       "or --memory=live");
	}
	if (a->memory == NO_CHOICE)
		return 0;
	if (a->off_cpu || a->wall || a->lock || o->events.len || a->freq_hz || a->idle)
		return err_set(err, -EINVAL,
			       "--memory cannot be used with --event, --count, --freq, --idle, "
			       "--off-cpu, --wall or --lock");
	if (a->cgroup)
		return err_set(err, -EINVAL, "--memory cannot be used with --cgroup: use --pid");
	if (a->memory == MEMORY_HEAP)
		return check_heap(o, a, err);
	o->what = modes[a->memory];
	if (a->memory == MEMORY_RESIDENT)
		return 0;
	if (!o->command && !a->pids.len)
		return err_set(
			err, -EINVAL,
			"--memory=alloc and --memory=live require --pid or a command, because "
			"each process that is recorded is slowed down");
	if (!a->user)
		return err_set(err, -EINVAL,
			       "--no-user cannot be used with --memory=alloc or --memory=live");
	o->alloc_bytes = a->alloc_bytes ? a->alloc_bytes : ALLOC_MEAN_BYTES;
	o->alloc_share = a->alloc_share ? (unsigned int)a->alloc_share : DEFAULT_ALLOC_SHARE;
	return 0;
}

/* The machine as a whole is the default, so --all only documents the choice. */
static int check_selection(const struct record_args *a, bool command, struct err *err)
{
	int n = command + (a->pids.len > 0) + a->all + (a->cgroup != NULL);

	if (n > 1)
		return err_set(err, -EINVAL,
			       "--all, --pid, --cgroup and a command cannot be used together");
	if (a->select.len && (command || a->pids.len))
		return err_set(err, -EINVAL, "--select cannot be used with --pid or a command");
	if (a->select.len > SELECT_RULES_LIMIT)
		return err_set(err, -EINVAL, "--select may not be repeated more than %d times",
			       SELECT_RULES_LIMIT);
	if (!a->kernel && !a->user)
		return err_set(err, -EINVAL,
			       "--no-kernel and --no-user together would record nothing");
	if (a->symbol_cache && symbol_cache_check(a->symbol_cache, err) < 0)
		return -EINVAL;
	return 0;
}

/* Copies the options that need no check. */
static void copy_options(struct recording_opts *o, const struct record_args *a)
{
	bool explicit = a->demangle != NO_CHOICE;

	o->pids = a->pids;
	o->cgroup = a->cgroup;
	o->rules = (const char *const *)a->select.data;
	o->n_rules = a->select.len;
	o->freq_hz = a->freq_hz ? (uint32_t)a->freq_hz : DEFAULT_FREQ_HZ;
	o->max_stack = (uint32_t)a->max_stack;
	o->per_thread = a->per_thread;
	o->duration_ns = a->duration_ns;
	o->no_kernel = !a->kernel;
	o->no_user = !a->user;
	o->idle = a->idle;
	o->verbose = a->verbose;
	o->no_children = !a->inherit;
	o->all_native = a->native_frames == 1;
	o->signatures = explicit && a->demangle == DEMANGLE_FULL;
	o->symbolizer.demangle = explicit ? a->demangle : DEMANGLE_FULL;
	o->symbolizer.symbol_cache = a->symbol_cache;
	o->path = a->output;
}

/* Copies first and checks afterwards, so that the checks can read both structs. */
static int make_options(struct recording_opts *o, const struct record_args *a, struct err *err)
{
	int r = check_selection(a, o->command != NULL, err);

	copy_options(o, a);
	if (r == 0)
		r = set_events(o, a, err);
	if (r == 0)
		r = set_clock(o, a, err);
	if (r == 0)
		r = set_memory(o, a, err);
	return r < 0 ? r
		     : cli_output_format(a->output, "--format", a->format, "pprof", &o->format,
					 err);
}

/*
 * err may be set although the result is 0: the recording worked but the command could not be
 * executed.
 */
static int record(const struct record_args *a, char **command)
{
	struct recording_opts o = { .command = command };
	char cache[PATH_MAX] = "";
	struct err err = { 0 };
	int status = 0, r;

	debug_files_configure(&o.symbolizer, a->debuginfod, cache, sizeof(cache));
	if (make_options(&o, a, &err) < 0) {
		event_list_fini(&o.events);
		return cli_fail_usage("%s", err.msg);
	}
	r = a->memory == MEMORY_HEAP ? heap_recording_run(&o, &err)
				     : recording_run(&o, &status, &err);
	event_list_fini(&o.events);
	if (r < 0)
		return cli_fail("%s", err.msg[0] ? err.msg : strerror(-r));
	if (err.code)
		cli_fail("%s", err.msg);
	return status;
}

/* Options end at the first operand, because those after it belong to the command. */
static int run_command(int argc, char **argv)
{
	struct record_args a = {
		.inherit = true,
		.kernel = true,
		.user = true,
		.off_min_ns = NO_DURATION,
		.demangle = NO_CHOICE,
		.memory = NO_CHOICE,
	};
	const struct option_set sets[] = { { options, &a }, { 0 } };
	struct operands command = { 0 };
	int r = cli_parse(&record_command, sets, ARGUMENTS_STOP_AT_OPERAND, argc, argv, &command);

	/* execvp() needs a NULL after the last argument; argv ends with one. */
	if (r == CLI_CONTINUE)
		r = record(&a, command.len ? argv + argc - command.len : NULL);
	vec_fini(&a.pids);
	cli_fini(sets, &command);
	return r;
}

const struct command record_command = {
	.name = "record",
	.summary = "record a profile of this machine, a process or a command to a file",
	.synopsis = "[OPTION...]\n[OPTION...] [--] COMMAND [ARG...]",
	.description = "Sample this machine, some processes or a command, and write a profile "
		       "when the recording ends: after --duration, when the command or all "
		       "processes have ended, or on SIGINT or SIGTERM.",
	.options = COMMAND_OPTIONS(options),
	.examples = COMMAND_EXAMPLES(
		{ "Record the whole machine for 10 seconds into a flame graph page",
		  "cameo record -d 10 -o cameo.html" },
		{ "Record one process at a higher frequency", "cameo record -p 1234 -F 199 -d 30" },
		{ "Record a command and its children", "cameo record -o build.folded -- make -j8" },
		{ "Record where a process waits for locks", "cameo record -p 1234 --lock -d 10" },
		{ "Record what a process allocates and does not free",
		  "cameo record -p 1234 --memory=live -d 60 -o heap.pb.gz" },
		{ "Record the callers of malloc()",
		  "cameo record -p 1234 -e uprobe:libc:malloc -o mallocs.html" }),
	.run = run_command,
};
