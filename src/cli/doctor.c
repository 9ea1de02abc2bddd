/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo doctor`: checks what this machine supports, and records for two seconds. The self-test
 * runs `cameo record` as a separate process on a child whose stack is known.
 *
 * The child is this program itself, in functions that the compiler may neither inline nor merge;
 * the test needs no compiler and no debug information on the machine. It proves the complete chain
 * from perf events to symbols, which single checks cannot.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/doctor_runtimes.h"
#include "cli/input.h"
#include "doctor/doctor.h"
#include "opener/opener.h"
#include "options/arguments.h"
#include "profile/profile.h"

extern char **environ;

enum {
	SECONDS = 2,       /* length of the recording */
	MORE_SECONDS = 12, /* of the second one, after too few samples */
	FEW_SAMPLES = 10,  /* fewer do not prove anything */
	GOOD_PERCENT = 90  /* of samples that must have the whole stack */
};

/* Functions of the child's stack. They are exported, so a stripped program has their names. */
#ifdef __clang__ /* does not clone functions, and has no attribute for it */
#define KNOWN __attribute__((noinline, visibility("default"), used))
#else
#define KNOWN __attribute__((noinline, noclone, visibility("default"), used))
#endif

void cameo_doctor_inner(volatile unsigned long *n);
void cameo_doctor_middle(volatile unsigned long *n);
void cameo_doctor_outer(volatile unsigned long *n);

KNOWN void cameo_doctor_inner(volatile unsigned long *n)
{
	for (unsigned long i = 0; i < 1000000; i++)
		(*n)++;
}

/* The call is not the last statement: it would become a jump, and this frame would vanish. */
KNOWN void cameo_doctor_middle(volatile unsigned long *n)
{
	cameo_doctor_inner(n);
	(*n)++;
}

KNOWN void cameo_doctor_outer(volatile unsigned long *n)
{
	cameo_doctor_middle(n);
	(*n)++;
}

static const char *const known_stack[] = { "cameo_doctor_inner", "cameo_doctor_middle",
					   "cameo_doctor_outer" };

/* The child ends with this process, even if that is killed. */
static pid_t start_known(void)
{
	volatile unsigned long n = 0;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		cameo_doctor_outer(&n);
}

/* Returns the wait status of a child. */
static int wait_for(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/*
 * Runs `cameo record -p @pid -d @s -o @path` with its standard error in @log. Returns its wait
 * status, or -errno.
 */
static int run_recorder(pid_t pid, int s, const char *path, int log)
{
	char target[16], arg_path[128], name[] = "cameo", command[] = "record", p[] = "-p",
					d[] = "-d", seconds[16], o[] = "-o";
	char *argv[] = { name, command, p, target, d, seconds, o, arg_path, NULL };
	posix_spawn_file_actions_t actions;
	pid_t recorder;
	int r;

	snprintf(target, sizeof(target), "%d", (int)pid);
	snprintf(seconds, sizeof(seconds), "%d", s);
	snprintf(arg_path, sizeof(arg_path), "%s", path);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, log, STDERR_FILENO);
	r = posix_spawn(&recorder, "/proc/self/exe", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return r ? -r : wait_for(recorder);
}

/* Returns true if the stack contains the three functions, one directly below the other. */
static bool is_known(const struct profile *p, uint32_t stack)
{
	size_t n, n_found = 0;
	const uint32_t *ids = profile_stack(p, stack, &n);

	for (size_t i = 0; i < n && n_found < 3; i++) {
		struct profile_location l = profile_location(p, ids[i]);

		if (!l.n_lines)
			continue;
		if (!strcmp(profile_string(p, profile_function(p, l.lines[0].function)->name),
			    known_stack[n_found]))
			n_found++;
		else if (n_found)
			return false;
	}
	return n_found == 3;
}

/* Evaluates the recording. Returns false if it has too few samples. */
static bool evaluate(const struct profile *p, int seconds, struct doctor_check *c)
{
	int64_t all = 0, known = 0;

	for (uint32_t i = 0; i < profile_n_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);

		all += s.values[0];
		known += is_known(p, s.stack) ? s.values[0] : 0;
	}
	c->status = DOCTOR_OK;
	if (all < FEW_SAMPLES || known * 100 < all * GOOD_PERCENT)
		c->status = known ? DOCTOR_DEGRADED : DOCTOR_MISSING;
	snprintf(c->text, sizeof(c->text), "%lld samples in %d seconds, %lld with a complete stack",
		 (long long)all, seconds, (long long)known);
	return all >= FEW_SAMPLES;
}

/* Quotes the last line of the recorder's standard error as the reason. */
static void quote_log(int log, struct doctor_check *c)
{
	char text[2048], *line;
	ssize_t n = pread(log, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = 0;
	while (n > 0 && text[n - 1] == '\n')
		text[--n] = 0;
	line = strrchr(text, '\n');
	snprintf(c->text, sizeof(c->text), "cannot record: %.200s", line ? line + 1 : text);
}

/* Returns false if a longer recording could have another result. */
static bool read_and_evaluate(const char *path, int seconds, struct doctor_check *c)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	char *const paths[] = { (char *)path };
	struct err err = { 0 };

	if (input_read(&p, paths, 1, NULL, &err) < 0)
		snprintf(c->text, sizeof(c->text), "cannot read the recording: %.180s", err.msg);
	return !p || evaluate(p, seconds, c);
}

/*
 * On a very busy machine two seconds may yield too few samples; a longer recording follows in that
 * case.
 */
static int record_and_evaluate(pid_t pid, const char *path, int log, struct doctor_check *c)
{
	static const int seconds[] = { SECONDS, MORE_SECONDS };
	int r = 0;

	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		r = run_recorder(pid, seconds[i], path, log);
		if (r || read_and_evaluate(path, seconds[i], c))
			break;
	}
	return r;
}

/* Files are created in a new directory with mode 0700, because /tmp is shared. */
static void self_test(struct doctor_check *c)
{
	char dir[] = "/tmp/cameo-doctor-XXXXXX", path[64];
	_cleanup_(closep) int log = -1;
	pid_t pid;
	int r;

	*c = (struct doctor_check){ .name = "self-test", .status = DOCTOR_MISSING };
	if (!mkdtemp(dir)) {
		snprintf(c->text, sizeof(c->text), "cannot write to /tmp: %s", strerror(errno));
		return;
	}
	snprintf(path, sizeof(path), "%s/log", dir);
	log = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	unlink(path);
	snprintf(path, sizeof(path), "%s/profile.pb.gz", dir);
	pid = start_known();
	r = pid < 0 || log < 0 ? -errno : record_and_evaluate(pid, path, log, c);
	if (pid > 0) {
		kill(pid, SIGKILL);
		wait_for(pid);
	}
	if (r < 0)
		snprintf(c->text, sizeof(c->text), "cannot start a process: %s", strerror(-r));
	else if (r > 0)
		quote_log(log, c);
	unlink(path);
	rmdir(dir);
}

static void print_text(const struct doctor_check *c)
{
	printf("%-9s %-15s %s\n", doctor_status_name(c->status), c->name, c->text);
	fflush(stdout);
}

static void put_json(struct json *j, const struct doctor_check *c)
{
	json_object(j);
	json_member_str(j, "name", c->name);
	json_member_str(j, "status", doctor_status_name(c->status));
	json_member_str(j, "text", c->text);
	json_object_end(j);
}

/* Prints nothing if memory ran out, so that no reader takes an incomplete object for the result. */
static void print_json(const struct doctor_check *all, size_t n, enum doctor_status worst)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct json j = json_to(&b);

	json_object(&j);
	json_member_str(&j, "status", doctor_status_name(worst));
	json_member_array(&j, "checks");
	for (size_t i = 0; i < n; i++)
		put_json(&j, &all[i]);
	json_array_end(&j);
	json_object_end(&j);
	buf_put(&b, "\n", 2);
	fputs(buf_error(&b) ? "" : (char *)b.data, stdout);
}

/* Returns the exit status. Each result is printed at once, since the self-test takes seconds. */
static int examine(bool json, bool quick)
{
	struct doctor_check all[DOCTOR_CHECKS_MAX + 1];
	enum doctor_status worst = DOCTOR_OK;
	struct doctor_env env;
	size_t n, printed = 0;

	doctor_env_detect(&env);
	n = doctor_check(&env, all);
	for (; !json && printed < n; printed++)
		print_text(&all[printed]);
	if (!quick)
		self_test(&all[n++]);
	for (; !json && printed < n; printed++)
		print_text(&all[printed]);
	for (size_t i = 0; i < n; i++)
		if (all[i].status > worst)
			worst = all[i].status;
	if (json)
		print_json(all, n, worst);
	return worst == DOCTOR_MISSING;
}

/* Returns the exit status. */
static int examine_process(bool json, uint32_t pid)
{
	struct doctor_runtimes found;
	struct doctor_check all[DOCTOR_RUNTIMES_MAX];
	enum doctor_status worst = DOCTOR_OK;
	struct err err = { 0 };

	if (opener_start(&err) < 0 || doctor_runtimes_find(&found, pid, &err) < 0)
		return cli_fail("%s", err.msg);
	for (size_t i = 0; i < found.n; i++) {
		all[i] = found.all[i].check;
		all[i].name = found.all[i].name;
		if (all[i].status > worst)
			worst = all[i].status;
		if (!json)
			print_text(&all[i]);
	}
	if (json)
		print_json(all, found.n, worst);
	else if (!found.n)
		printf("%-9s %-15s no language runtime: all functions are native code\n",
		       doctor_status_name(DOCTOR_OK), "native code");
	return 0;
}

struct doctor_args {
	bool json, quick;
	uint64_t pid; /* 0: the machine */
};

#define OPTION_VALUES struct doctor_args

static const struct option_spec options[] = {
	OPTION(NUMBER, 'p', "pid", "PID", pid,
	       "Examine this process instead of the machine: list the language runtimes that it "
	       "has "
	       "mapped, and whether they are supported",
	       .min = 1, .max = INT32_MAX),
	OPTION(FLAG, 0, "json", NULL, json, "Print one JSON object instead of text",
	       .details = "It has the form {\"status\", \"checks\": [{\"name\", \"status\", "
			  "\"text\"}]}."),
	OPTION(FLAG, 0, "quick", NULL, quick, "Skip the test recording, which takes two seconds"),
	{ 0 },
};

static int run_command(int argc, char **argv)
{
	struct doctor_args a = { 0 };
	const struct option_set sets[] = { { options, &a }, { 0 } };
	int r = cli_parse(&doctor_command, sets, ARGUMENTS_NO_OPERANDS, argc, argv, NULL);

	if (r != CLI_CONTINUE)
		return r;
	return a.pid ? examine_process(a.json, (uint32_t)a.pid) : examine(a.json, a.quick);
}

const struct command doctor_command = {
	.name = "doctor",
	.summary = "check what this machine supports, and explain how to fix problems",
	.synopsis = "[--json] [--quick] [-p PID]",
	.description = "Check what the kernel and the privileges of this user allow, and record a "
		       "known stack for two seconds. Each line begins with \"ok\", \"degraded\" or "
		       "\"missing\"; it explains what a degraded feature loses, and how to fix a "
		       "missing one. The exit status is 1 if anything is missing.",
	.options = COMMAND_OPTIONS(options),
	.examples = COMMAND_EXAMPLES({ "Check this machine", "sudo cameo doctor" },
				     { "Find out whether the functions of a program can be shown",
				       "sudo cameo doctor -p 1234" }),
	.run = run_command,
};
