/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cameo doctor: what this machine allows, and two seconds of what it is for. The
 * self-test is `cameo record` itself, as a process of its own, on a child whose
 * stack is known; so what is tested is what people use.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/doctor.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "profile/profile.h"

extern char **environ;

enum { OPT_JSON = 256, OPT_QUICK, FEW_SAMPLES = 10, GOOD_PERCENT = 90 };
enum { SECONDS = 2, MORE_SECONDS = 12 };

/* The child's stack, by names that a stripped program still has (see meson.build). */
#define KNOWN __attribute__((noinline, noclone, visibility("default"), used))

void cameo_doctor_inner(volatile unsigned long *n);
void cameo_doctor_middle(volatile unsigned long *n);
void cameo_doctor_outer(volatile unsigned long *n);

KNOWN void cameo_doctor_inner(volatile unsigned long *n)
{
	for (unsigned long i = 0; i < 1000000; i++)
		(*n)++;
}

/* No last statement is a call: it would become a jump, and its caller vanish. */
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

static int wait_for(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* `cameo record -p @pid -d @s -o @path`, what it says into @log: its wait status, or -errno. */
static int record(pid_t pid, int s, const char *path, int log)
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

static bool is_known(const struct profile *p, uint32_t stack)
{
	size_t n, met = 0;
	const uint32_t *ids = profile_stack(p, stack, &n);

	for (size_t i = 0; i < n && met < 3; i++) {
		struct profile_location l = profile_location(p, ids[i]);

		if (!l.n_lines)
			continue;
		if (!strcmp(profile_string(p, profile_function(p, l.lines[0].function)->name),
			    known_stack[met]))
			met++;
		else if (met)
			return false;
	}
	return met == 3;
}

/* Whether there were enough samples to judge by. */
static bool judge(const struct profile *p, int seconds, struct doctor_check *c)
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
	snprintf(c->text, sizeof(c->text), "%lld samples in %d seconds, %lld with the whole stack",
		 (long long)all, seconds, (long long)known);
	return all >= FEW_SAMPLES;
}

/* The last line of what the recorder said. */
static void quote(int log, struct doctor_check *c)
{
	char text[2048], *line;
	ssize_t n = pread(log, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = 0;
	while (n > 0 && text[n - 1] == '\n')
		text[--n] = 0;
	line = strrchr(text, '\n');
	snprintf(c->text, sizeof(c->text), "it could not be recorded: %.200s",
		 line ? line + 1 : text);
}

static bool read_and_judge(const char *path, int seconds, struct doctor_check *c)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	char *const paths[] = { (char *)path };
	struct err err = { 0 };

	if (input_read(&p, paths, 1, NULL, &err) < 0)
		snprintf(c->text, sizeof(c->text), "what was recorded can't be read: %.180s",
			 err.msg);
	return !p || judge(p, seconds, c);
}

/* On a machine that is very busy two seconds may be too few: then more, once. */
static int record_and_judge(pid_t pid, const char *path, int log, struct doctor_check *c)
{
	static const int seconds[] = { SECONDS, MORE_SECONDS };
	int r = 0;

	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		r = record(pid, seconds[i], path, log);
		if (r || read_and_judge(path, seconds[i], c))
			break;
	}
	return r;
}

static void self_test(struct doctor_check *c)
{
	char dir[] = "/tmp/cameo-doctor-XXXXXX", path[64];
	_cleanup_(closep) int log = -1;
	pid_t pid;
	int r;

	*c = (struct doctor_check){ .name = "self-test", .status = DOCTOR_MISSING };
	if (!mkdtemp(dir)) {
		snprintf(c->text, sizeof(c->text), "nothing can be written to /tmp: %s",
			 strerror(errno));
		return;
	}
	snprintf(path, sizeof(path), "%s/log", dir);
	log = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	unlink(path);
	snprintf(path, sizeof(path), "%s/profile.pb.gz", dir);
	pid = start_known();
	r = pid < 0 || log < 0 ? -errno : record_and_judge(pid, path, log, c);
	if (pid > 0) {
		kill(pid, SIGKILL);
		wait_for(pid);
	}
	if (r < 0)
		snprintf(c->text, sizeof(c->text), "no process can be started: %s", strerror(-r));
	else if (r > 0)
		quote(log, c);
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
	json_key(j, "name");
	json_str(j, c->name);
	json_key(j, "status");
	json_str(j, doctor_status_name(c->status));
	json_key(j, "text");
	json_str(j, c->text);
	json_object_end(j);
}

static void print_json(const struct doctor_check *all, size_t n, enum doctor_status worst)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct json j = json_to(&b);

	json_object(&j);
	json_key(&j, "status");
	json_str(&j, doctor_status_name(worst));
	json_key(&j, "checks");
	json_array(&j);
	for (size_t i = 0; i < n; i++)
		put_json(&j, &all[i]);
	json_array_end(&j);
	json_object_end(&j);
	buf_put(&b, "\n", 2);
	fputs(buf_error(&b) ? "" : (char *)b.data, stdout);
}

static int usage(FILE *f, int status)
{
	fputs("Usage: cameo doctor [--json] [--quick]\n\n"
	      "Tell what this kernel and these privileges allow, and record a known stack for two\n"
	      "seconds. Each line begins with ok, degraded (what is lost) or missing (how to mend\n"
	      "it). The exit status is 0 when nothing is missing, else 1.\n\n"
	      "      --json   one object: {\"status\", \"checks\": [{\"name\", \"status\", "
	      "\"text\"}]}\n"
	      "      --quick  without the two seconds\n\n"
	      "Example: sudo cameo doctor\n",
	      f);
	return status;
}

static int examine(bool json, bool quick)
{
	struct doctor_check all[DOCTOR_CHECKS_MAX + 1];
	enum doctor_status worst = DOCTOR_OK;
	struct doctor_env env;
	size_t n, printed = 0;

	doctor_here(&env);
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

int cli_doctor(int argc, char **argv)
{
	static const struct option options[] = { { "help", no_argument, NULL, 'h' },
						 { "json", no_argument, NULL, OPT_JSON },
						 { "quick", no_argument, NULL, OPT_QUICK },
						 { 0 } };
	bool json = false, quick = false;
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h')
			return usage(stdout, 0);
		else if (c == OPT_JSON)
			json = true;
		else if (c == OPT_QUICK)
			quick = true;
		else
			return usage(stderr, EXIT_USAGE);
	}
	return optind < argc ? usage(stderr, EXIT_USAGE) : examine(json, quick);
}
