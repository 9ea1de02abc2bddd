/* SPDX-License-Identifier: Apache-2.0 */
/* `cameo record`: the options. */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/events.h"
#include "agent/sampler.h"
#include "base/err.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/recording.h"
#include "codec/format.h"
#include "symbol/symbol_cache.h"

enum {
	OPT_NO_KERNEL = 256,
	OPT_NO_USER,
	OPT_IDLE,
	OPT_FORMAT,
	OPT_DEMANGLE,
	OPT_DEBUGINFOD,
	OPT_MAX_STACK,
	OPT_PER_THREAD,
	OPT_CGROUP,
	OPT_INHERIT,
	OPT_NO_INHERIT,
	OPT_SYMBOL_CACHE,
	OPT_NATIVE_FRAMES,
	OPT_OFF_CPU,
	OPT_OFF_MIN,
	OPT_WALL,
	OPT_LOCK,
};

enum { DEFAULT_FREQ_HZ = 99, PERIOD_MIN_NS = 100000, DURATION_MAX_S = 10 * 365 * 86400 };

#define OFF_MIN_MAX_NS 3600e9

static const struct argp_option options[] = {
	{ "all", 'a', NULL, 0, "Profile the whole machine (the default)", 0 },
	{ "pid", 'p', "PID,...", 0, "Profile these processes and the children they start", 0 },
	{ "cgroup", OPT_CGROUP, "NAME", 0,
	  "Profile what runs in this cgroup, by its path in the hierarchy or its directory", 0 },
	{ "no-inherit", OPT_NO_INHERIT, NULL, 0,
	  "Leave out the children of -p's processes and of the command", 0 },
	{ "inherit", OPT_INHERIT, NULL, 0, "Do not (the default)", 0 },
	{ "freq", 'F', "HZ", 0, "Samples a second and CPU (default 99)", 0 },
	{ "event", 'e', "NAME", 0,
	  "Sample what happens instead of time: page-faults, context-switches, cycles..., the "
	  "kernel's tracepoints (sched:sched_switch), uprobe:FILE:FUNCTION[+OFFSET] or "
	  "uretprobe:FILE:FUNCTION; again for more",
	  0 },
	{ "count", 'c', "N", 0, "A sample each N events (of cpu-clock: nanoseconds of a CPU)", 0 },
	{ "off-cpu", OPT_OFF_CPU, NULL, 0,
	  "Where threads wait, and for how long, instead of where they run", 0 },
	{ "wall", OPT_WALL, NULL, 0, "Both: where they run and where they wait", 0 },
	{ "lock", OPT_LOCK, NULL, 0, "Of where they wait, only locks (futexes)", 0 },
	{ "off-min", OPT_OFF_MIN, "TIME", 0,
	  "Leave out waits shorter than this: 50us, 2ms... (a number alone: microseconds)", 0 },
	{ "max-stack", OPT_MAX_STACK, "N", 0, "Keep at most N frames of a stack, from its leaf",
	  0 },
	{ "per-thread", OPT_PER_THREAD, NULL, 0,
	  "Tell threads apart by their ids, each with a root of its own", 0 },
	{ "duration", 'd', "SECONDS", 0, "Stop after so long", 0 },
	{ "output", 'o', "FILE", 0,
	  "Where to write (default cameo.pb.gz); the suffix picks the format: .pb.gz or .pb "
	  "(pprof), "
	  ".folded, .html, .svg, .speedscope.json, .chrome.json, .firefox.json, .otlp.pb; - is "
	  "standard output",
	  0 },
	{ "format", OPT_FORMAT, "NAME", 0,
	  "Format whatever the suffix: pprof, pprof-raw, folded, html, svg, speedscope, chrome, "
	  "firefox, otlp",
	  0 },
	{ "no-kernel", OPT_NO_KERNEL, NULL, 0, "Leave kernel frames out", 0 },
	{ "no-user", OPT_NO_USER, NULL, 0, "Leave user frames out", 0 },
	{ "idle", OPT_IDLE, NULL, 0, "Count idle CPUs too", 0 },
	{ "demangle", OPT_DEMANGLE, "full|short|no", 0,
	  "C++, Rust, D and Ada names: whole, without parameters and template arguments, or as "
	  "they "
	  "are (default full)",
	  0 },
	{ "debuginfod", OPT_DEBUGINFOD, "URL", 0,
	  "Ask these servers for debug files (default $DEBUGINFOD_URLS); what they send is kept in "
	  "~/.cache/cameo/debuginfod",
	  0 },
	{ "symbol-cache", OPT_SYMBOL_CACHE, "DIR", 0,
	  "Keep sorted symbol tables there, at most 256 MiB of them", 0 },
	{ "native-frames", OPT_NATIVE_FRAMES, "some|all", 0,
	  "all: also the native frames of interpreters between those of the program (default some)",
	  0 },
	{ "verbose", 'v', NULL, 0, "Also tell what the profiling itself cost", 0 },
	{ 0 },
};

struct args {
	struct recording_opts o;
	const char *format_name;
	bool all, has_freq, off_cpu, wall, has_off_min;
	struct {
		VEC(char *);
	} event_names; /* as they were said */
	uint64_t count, max_stack;
	struct err err;
};

static bool parse_number(const char *s, double max, double *out)
{
	char *end;

	if (!strchr("0123456789.", s[0]) || !s[0])
		return false;
	errno = 0;
	*out = strtod(s, &end);
	return !errno && end != s && !*end && *out > 0 && *out <= max;
}

static int parse_freq(struct args *a, const char *s)
{
	uint32_t max = sampler_max_freq();
	double hz;

	if (!parse_number(s, max ? max : 1e5, &hz) || hz != (uint32_t)hz)
		return err_set(
			&a->err, -EINVAL,
			"-F takes a whole number from 1 to %u (kernel.perf_event_max_sample_rate), "
			"not %.40s",
			max ? max : 100000, s);
	a->o.freq_hz = (uint32_t)hz;
	return 0;
}

static int parse_duration(struct args *a, const char *s)
{
	double seconds;

	if (!parse_number(s, DURATION_MAX_S, &seconds))
		return err_set(&a->err, -EINVAL, "-d takes a number of seconds, not %.40s", s);
	a->o.duration_ns = (uint64_t)(seconds * 1e9);
	return 0;
}

/* A time with its unit. */
static int parse_off_min(struct args *a, const char *s)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "", 1e3 }, { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char *end;
	double v = strchr("0123456789.", s[0]) && s[0] ? strtod(s, &end) : -1;

	for (size_t i = 0; v >= 0 && i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit) != 0 || v * units[i].ns > OFF_MIN_MAX_NS)
			continue;
		a->o.off_min_ns = (uint64_t)(v * units[i].ns);
		return 0;
	}
	return err_set(&a->err, -EINVAL, "--off-min takes a time like 50us, 2ms or 1s, not %.40s",
		       s);
}

/* Who is profiled. false: @key is none of these options, as below. */
static bool parse_whom(struct args *a, int key, char *arg)
{
	switch (key) {
	case 'a':
		a->all = true;
		return true;
	case 'p':
		args_pids(arg, &a->o.pids, &a->err);
		return true;
	case OPT_INHERIT:
	case OPT_NO_INHERIT:
		a->o.no_children = key == OPT_NO_INHERIT;
		return true;
	case OPT_CGROUP:
		a->o.cgroup = arg;
		return true;
	default:
		return false;
	}
}

/* What is sampled, how often and for how long. */
static bool parse_what(struct args *a, int key, char *arg)
{
	switch (key) {
	case 'F':
		a->has_freq = true;
		parse_freq(a, arg);
		return true;
	case 'e':
		if (vec_push(&a->event_names, arg) < 0)
			err_set(&a->err, -ENOMEM, "out of memory");
		return true;
	case 'c':
		args_number("count", arg, 1, INT64_MAX, &a->count, &a->err);
		return true;
	case 'd':
		parse_duration(a, arg);
		return true;
	case OPT_OFF_CPU:
		a->off_cpu = true;
		return true;
	case OPT_WALL:
		a->wall = true;
		return true;
	case OPT_LOCK:
		a->o.locks_only = true;
		return true;
	case OPT_OFF_MIN:
		a->has_off_min = true;
		parse_off_min(a, arg);
		return true;
	default:
		return false;
	}
}

/* Which frames, and their names. */
static bool parse_frames(struct args *a, int key, char *arg)
{
	switch (key) {
	case OPT_MAX_STACK:
		args_number("max-stack", arg, 1, UINT16_MAX, &a->max_stack, &a->err);
		a->o.max_stack = (uint32_t)a->max_stack;
		return true;
	case OPT_PER_THREAD:
		a->o.per_thread = true;
		return true;
	case OPT_NO_KERNEL:
		a->o.no_kernel = true;
		return true;
	case OPT_NO_USER:
		a->o.no_user = true;
		return true;
	case OPT_IDLE:
		a->o.idle = true;
		return true;
	case OPT_DEMANGLE:
		if (!demangle_mode_parse(arg, &a->o.symbolizer.demangle))
			err_set(&a->err, -EINVAL, "--demangle takes full, short or no, not %.40s",
				arg);
		a->o.signatures = a->o.symbolizer.demangle == DEMANGLE_FULL;
		return true;
	case OPT_DEBUGINFOD:
		a->o.symbolizer.debuginfod = arg;
		return true;
	case OPT_SYMBOL_CACHE:
		a->o.symbolizer.symbol_cache = arg;
		symbol_cache_check(arg, &a->err);
		return true;
	case OPT_NATIVE_FRAMES:
		a->o.all_native = !strcmp(arg, "all");
		if (!a->o.all_native && strcmp(arg, "some") != 0)
			err_set(&a->err, -EINVAL, "--native-frames takes some or all, not %.40s",
				arg);
		return true;
	default:
		return false;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	if (parse_whom(a, key, arg) || parse_what(a, key, arg) || parse_frames(a, key, arg))
		return 0;
	switch (key) {
	case 'o':
		a->o.path = arg;
		break;
	case OPT_FORMAT:
		a->format_name = arg;
		break;
	case 'v':
		a->o.verbose = true;
		break;
	case ARGP_KEY_ARGS:
		a->o.command = state->argv + state->next;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* The events by name; none: the CPUs' clock. */
static int find_events(struct args *a)
{
	uint32_t pid = a->o.pids.len ? a->o.pids.data[0] : 0;
	bool wants_clock = !a->event_names.len && a->count;
	int r = wants_clock ? event_list_parse("cpu-clock", 0, &a->o.events, &a->err) : 0;

	for (size_t i = 0; i < a->event_names.len && r == 0; i++)
		r = event_list_parse(a->event_names.data[i], pid, &a->o.events, &a->err);
	return r < 0 ? err_set(&a->err, r, "out of memory") : 0;
}

/* -c is for a clock only if that is all there is. */
static int set_periods(struct args *a)
{
	for (size_t i = 0; i < a->o.events.len && a->count; i++) {
		struct event *e = &a->o.events.data[i];

		if (e->is_clock && a->o.events.len > 1)
			continue;
		if (e->is_clock && a->count < PERIOD_MIN_NS)
			return err_set(&a->err, -EINVAL,
				       "-c: a sample each %d ns of a CPU is the most",
				       PERIOD_MIN_NS);
		e->period = a->count;
	}
	return 0;
}

/* -e, -c and -F: what is sampled, and how often. */
static int check_events(struct args *a)
{
	bool any_clock, any_probe = false;
	int r = find_events(a);

	any_clock = !a->o.events.len;
	if (r == 0)
		r = set_periods(a);
	for (size_t i = 0; i < a->o.events.len && r == 0; i++) {
		any_clock |= a->o.events.data[i].is_clock && !a->o.events.data[i].period;
		any_probe |= a->o.events.data[i].kind != EVENT_PERF;
	}
	if (r == 0 && a->has_freq && !any_clock)
		return err_set(&a->err, -EINVAL, "-F is for clocks without -c: say -c N");
	if (r == 0 && any_probe && a->o.cgroup)
		return err_set(&a->err, -EINVAL,
			       "--cgroup can't choose at tracepoints and uprobes: choose processes "
			       "by -p");
	return r;
}

/* --off-cpu, --wall and --lock: what is told of time. */
static int check_what(struct args *a)
{
	bool off = a->off_cpu || a->wall || a->o.locks_only;

	if (a->has_off_min && !off)
		return err_set(&a->err, -EINVAL, "--off-min goes with --off-cpu, --wall or --lock");
	if (!off)
		return 0;
	if (a->off_cpu + a->wall + a->o.locks_only > 1)
		return err_set(&a->err, -EINVAL, "only one of --off-cpu, --wall and --lock");
	if (a->event_names.len)
		return err_set(&a->err, -EINVAL, "-e is not for time off the CPU");
	if (a->has_freq && !a->wall)
		return err_set(&a->err, -EINVAL, "-F is for time on the CPU: say --wall");
	a->o.what = a->wall ? NAMES_WALL : NAMES_OFF;
	return 0;
}

/* What does not go together, and what follows from the rest. */
static int check(struct args *a)
{
	int n = (a->o.command != NULL) + (a->o.pids.len > 0) + a->all + (a->o.cgroup != NULL);

	if (a->err.code)
		return a->err.code;
	if (n > 1)
		return err_set(&a->err, -EINVAL, "only one of -a, -p, --cgroup and a command");
	if (check_events(a) < 0 || check_what(a) < 0)
		return a->err.code;
	if (a->o.no_kernel && a->o.no_user)
		return err_set(&a->err, -EINVAL, "--no-kernel and --no-user leave nothing");
	return cli_output_format(a->o.path, a->format_name, "pprof", &a->o.format, &a->err);
}

/* Where fetched debug files are kept: the XDG base directory specification. */
static void set_cache(struct symbolizer_opts *o, char *path, size_t cap)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && cache[0] == '/')
		snprintf(path, cap, "%s/cameo/debuginfod", cache);
	else if (home && home[0] == '/')
		snprintf(path, cap, "%s/.cache/cameo/debuginfod", home);
	o->debuginfod_cache = path[0] ? path : NULL;
}

int cli_record(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[-- COMMAND [ARG...]]",
		.doc = "Profile this machine, some processes or a command into a file.\v"
		       "Examples:\n"
		       "  cameo record -d 10 -o cameo.html\n"
		       "  cameo record -p 1234 -F 199 -d 30\n"
		       "  cameo record -o build.folded -- make -j8\n"
		       "  cameo record -p 1234 -e uprobe:libc:malloc -o mallocs.html\n",
	};
	struct args a = { .o = { .freq_hz = DEFAULT_FREQ_HZ, .path = "cameo.pb.gz" } };
	char cache[PATH_MAX] = "";
	int status = 0, r;
	bool usage;

	a.o.symbolizer.debuginfod = getenv("DEBUGINFOD_URLS");
	set_cache(&a.o.symbolizer, cache, sizeof(cache));
	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &a);
	r = check(&a);
	vec_fini(&a.event_names);
	usage = r < 0;
	if (r == 0)
		r = recording_run(&a.o, &status, &a.err);
	vec_fini(&a.o.pids);
	event_list_fini(&a.o.events);
	if (usage) {
		cli_fail("%s", a.err.msg);
		return EXIT_USAGE;
	}
	if (r < 0)
		return cli_fail("%s", a.err.msg[0] ? a.err.msg : strerror(-r));
	if (a.err.code)
		cli_fail("%s", a.err.msg);
	return status;
}
