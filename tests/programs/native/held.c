/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held [CGROUP]: keeps threads off the CPU from outside. Processes that wait for a pipe are
 * stopped, traced, killed and, in the empty CGROUP, frozen; a thread is moved between CPUs while it
 * sleeps, and another one starts and ends meanwhile. Each prints "NAME OFF WALL": the nanoseconds
 * in its function without a CPU, and in total. For processes, "NAME.held LEAST MOST" are bounds of
 * the time they were held.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

enum { HELD_US = 250000, NAP_US = 5000, NAPS = 60, SHORT_US = 100000 };

static const char *cgroup;

static int64_t now_ns(void)
{
	return ns_of(CLOCK_MONOTONIC);
}

static void say(const char *name, const char *what, int64_t a, int64_t b)
{
	printf("%s%s %lld %lld\n", name, what, (long long)a, (long long)b);
	fflush(stdout);
}

/* ---- processes -------------------------------------------------------------------- */

CALLED static int wait_held(int fd)
{
	char c;

	return (int)read(fd, &c, 1) + 1;
}

static void wait_in(const char *name, int fd, int ready)
{
	int64_t began = now_ns(), at;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	at = off_ns();
	if (write(ready, "x", 1) != 1 || wait_held(fd) != 1)
		abort();
	say(name, "", off_ns() - at, now_ns() - began);
	exit(0);
}

static char state_of(pid_t pid)
{
	char path[64], line[256] = "";
	const char *s;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f || !fgets(line, sizeof(line), f))
		abort();
	fclose(f);
	s = strrchr(line, ')');
	return s ? s[2] : 0;
}

static void put(const char *file, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", cgroup, file);
	f = fopen(path, "we");
	if (!f || fputs(text, f) < 0 || fclose(f) < 0)
		abort();
}

static int is_frozen(void)
{
	char path[512], line[64];
	int yes = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.events", cgroup);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		yes |= !strcmp(line, "frozen 1\n");
	if (!f)
		abort();
	fclose(f);
	return yes;
}

static void freeze(pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	put("cgroup.procs", text);
	put("cgroup.freeze", "1");
	while (!is_frozen())
		usleep(1000);
}

static void thaw(pid_t pid)
{
	(void)pid;
	put("cgroup.freeze", "0");
}

static void stop(pid_t pid)
{
	kill(pid, SIGSTOP);
	waitpid(pid, NULL, WUNTRACED);
}

static void go_on(pid_t pid)
{
	kill(pid, SIGCONT);
}

static void trace(pid_t pid)
{
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0 ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0)
		abort();
	waitpid(pid, NULL, WUNTRACED);
}

static void untrace(pid_t pid)
{
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

static void leave(pid_t pid)
{
	(void)pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
}

static void hold(const char *name, void (*take)(pid_t), void (*let)(pid_t))
{
	int64_t before = now_ns(), taken, least;
	int ends[2], ready[2];
	char c;
	pid_t pid;

	if (pipe(ends) < 0 || pipe(ready) < 0)
		abort();
	pid = fork();
	if (!pid) {
		close(ends[1]);
		wait_in(name, ends[0], ready[1]);
	}
	if (pid < 0 || read(ready[0], &c, 1) != 1)
		abort();
	while (state_of(pid) != 'S')
		usleep(1000);
	take(pid);
	taken = now_ns();
	usleep(HELD_US);
	least = now_ns() - taken;
	let(pid);
	for (int i = 0; i < 2; i++) {
		close(ends[i]);
		close(ready[i]);
	}
	waitpid(pid, NULL, 0);
	say(name, ".held", least, now_ns() - before);
}

/* ---- threads ---------------------------------------------------------------------- */

CALLED static int nap(int us)
{
	return usleep((useconds_t)us) + 1;
}

CALLED static int wait_moved(void)
{
	int n = 0;

	for (int i = 0; i < NAPS; i++)
		n += nap(NAP_US);
	return n;
}

CALLED static int wait_short(void)
{
	return nap(SHORT_US) + 1;
}

static void *sleeper(void *arg)
{
	const char *name = arg;
	int64_t began = now_ns(), at = off_ns();

	if (!(strcmp(name, "wait_short") ? wait_moved() : wait_short()))
		abort();
	say(name, "", off_ns() - at, now_ns() - began);
	return NULL;
}

/* Moves the thread from one CPU to the next until it has finished sleeping. */
static void move_about(pthread_t thread)
{
	cpu_set_t all, one;
	int cpu = 0;

	sched_getaffinity(0, sizeof(all), &all);
	while (pthread_tryjoin_np(thread, NULL)) {
		do
			cpu = (cpu + 1) % CPU_SETSIZE;
		while (!CPU_ISSET(cpu, &all));
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		pthread_setaffinity_np(thread, sizeof(one), &one);
		usleep(NAP_US);
	}
}

int main(int argc, char **argv)
{
	pthread_t moved, brief;

	cgroup = argc > 1 ? argv[1] : NULL;
	hold("held_stop", stop, go_on);
	hold("held_trace", trace, untrace);
	hold("held_kill", leave, end);
	if (cgroup)
		hold("held_freeze", freeze, thaw);
	if (pthread_create(&moved, NULL, sleeper, "wait_moved") ||
	    pthread_create(&brief, NULL, sleeper, "wait_short"))
		return 1;
	move_about(moved);
	pthread_join(brief, NULL);
	return 0;
}
