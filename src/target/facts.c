/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process's environment and cgroup are what it, or its owner, wrote there: read
 * up to a limit, cut to what a label may hold. That a process is gone is no
 * error: its parent's cgroup stands for its own, which it inherited.
 *
 * Who reads the environment, or where the program is, waits for locks that the process may
 * hold while it gets no CPU: seconds, on a busy machine. So threads of their own do that, and
 * leave what they have read for who finds the process the next time.
 */
#include "target/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/thread.h"
#include "base/vec.h"

enum {
	CGROUP_MAX = 8192,
	ENVIRON_MAX = 256 << 10,
	KEEP_TURNS = 3,
	READERS = 4, /* one that waits for a process holds up a fourth */
	QUEUE_MAX = 4096,
};

/* What had to be waited for. */
struct facts_slow {
	char *exe;
	char *env[FACTS_ENV_MAX];
};

struct entry {
	struct facts_process info;         /* first: what callers see; whose who finds it */
	_Atomic(struct facts_slow *) slow; /* NULL: not read yet, or taken over */
	struct entry *next;                /* in the queue */
	bool waits;                        /* is in the queue, or being read: under the lock */
};

struct facts {
	char *proc;
	char *env[FACTS_ENV_MAX];
	size_t n_env;
	pthread_t readers[READERS];
	size_t n_readers;

	pthread_mutex_t lock;           /* of what follows */
	pthread_cond_t queued, settled; /* or the end; nothing waits any more */
	bool ends;
	struct {
		VEC(struct entry *);
	} all;
	struct index by_key;
	struct entry *first, **last; /* those that wait to be read */
	size_t n_queued, n_waiting;  /* in the queue; and being read */
};

struct find_key {
	const struct facts *f;
	uint32_t pid;
	uint64_t start_ns;
};

int facts_new(struct facts **out, const char *proc, const char *const *env, size_t n_env)
{
	_cleanup_(facts_freep) struct facts *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->queued, NULL);
	pthread_cond_init(&f->settled, NULL);
	f->last = &f->first;
	f->proc = strdup(proc);
	if (!f->proc)
		return -ENOMEM;
	for (; f->n_env < n_env && f->n_env < FACTS_ENV_MAX; f->n_env++) {
		f->env[f->n_env] = strdup(env[f->n_env]);
		if (!f->env[f->n_env])
			return -ENOMEM;
	}
	*out = steal_ptr(&f);
	return 0;
}

static void slow_free(struct facts_slow *s)
{
	if (!s)
		return;
	free(s->exe);
	for (size_t i = 0; i < FACTS_ENV_MAX; i++)
		free(s->env[i]);
	free(s);
}

static void entry_free(struct entry *e)
{
	struct facts_process *p = &e->info;

	free(p->exe);
	free(p->cgroup);
	for (size_t i = 0; i < FACTS_ENV_MAX; i++)
		free(p->env[i]);
	target_labels_fini(&p->labels);
	slow_free(atomic_load(&e->slow));
	free(e);
}

static void end_readers(struct facts *f)
{
	pthread_mutex_lock(&f->lock);
	f->ends = true;
	pthread_cond_broadcast(&f->queued);
	pthread_mutex_unlock(&f->lock);
	while (f->n_readers)
		pthread_join(f->readers[--f->n_readers], NULL);
}

void facts_free(struct facts *f)
{
	if (!f)
		return;
	end_readers(f);
	for (size_t i = 0; i < f->all.len; i++)
		entry_free(f->all.data[i]);
	vec_fini(&f->all);
	index_fini(&f->by_key);
	for (size_t i = 0; i < f->n_env; i++)
		free(f->env[i]);
	free(f->proc);
	pthread_cond_destroy(&f->queued);
	pthread_cond_destroy(&f->settled);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static uint32_t key_hash(uint32_t pid, uint64_t start_ns)
{
	return hash_u64(start_ns ^ (uint64_t)pid << 32);
}

static bool same_key(const void *ctx, uint32_t id)
{
	const struct find_key *k = ctx;
	const struct facts_process *p = &k->f->all.data[id]->info;

	return p->pid == k->pid && p->start_ns == k->start_ns;
}

static struct entry *find(struct facts *f, uint32_t pid, uint64_t start_ns, bool *out_waits)
{
	struct find_key key = { f, pid, start_ns };
	struct entry *e = NULL;
	uint32_t id;

	pthread_mutex_lock(&f->lock);
	if (index_find(&f->by_key, key_hash(pid, start_ns), same_key, &key, &id))
		e = f->all.data[id];
	*out_waits = e && e->waits;
	pthread_mutex_unlock(&f->lock);
	return e;
}

/* What was read meanwhile; labels made without it are not valid any more. */
static void take_over(struct facts_process *p, struct facts_slow *s)
{
	free(p->exe);
	p->exe = steal_ptr(&s->exe);
	memcpy(p->env, s->env, sizeof(p->env));
	memset(s->env, 0, sizeof(s->env));
	p->is_read = true;
	p->labels_until_ns = 0;
	slow_free(s);
}

struct facts_process *facts_find(struct facts *f, uint32_t pid, uint64_t start_ns)
{
	bool waits;
	struct entry *e = find(f, pid, start_ns, &waits);
	struct facts_slow *s;

	if (!e)
		return NULL;
	/* one that did not wait any more has left what it has read */
	s = atomic_exchange(&e->slow, NULL);
	if (s)
		take_over(&e->info, s);
	e->info.waits = waits && !s;
	return &e->info;
}

size_t facts_count(struct facts *f)
{
	size_t n;

	pthread_mutex_lock(&f->lock);
	n = f->all.len;
	pthread_mutex_unlock(&f->lock);
	return n;
}

/* ---- reading ------------------------------------------------------------------------- */

/* Up to @cap - 1 bytes of /proc/PID/NAME, ended by NUL; how many, or -errno. */
static ssize_t read_proc(const struct facts *f, uint32_t pid, const char *name, char *out,
			 size_t cap)
{
	_cleanup_(closep) int fd = -1;
	char path[512];
	size_t len = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%u/%s", f->proc, pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	while (len < cap - 1 && (n = read(fd, out + len, cap - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = 0;
	return (ssize_t)len;
}

const char *facts_env_value(const char *environ_text, size_t len, const char *name)
{
	const char *p = environ_text, *end = environ_text + len;
	size_t n = strlen(name);

	while (p < end) {
		const char *stop = memchr(p, 0, (size_t)(end - p));

		/* one that is cut is not what it says */
		if (!stop)
			return NULL;
		if ((size_t)(stop - p) > n && p[n] == '=' && !memcmp(p, name, n))
			return p + n + 1;
		p = stop + 1;
	}
	return NULL;
}

static void read_env(const struct facts *f, uint32_t pid, struct facts_slow *out)
{
	_cleanup_(freep) char *text = f->n_env ? malloc(ENVIRON_MAX) : NULL;
	ssize_t len = text ? read_proc(f, pid, "environ", text, ENVIRON_MAX) : 0;

	for (size_t i = 0; i < f->n_env && len > 0; i++) {
		const char *value = facts_env_value(text, (size_t)len, f->env[i]);

		if (value && *value)
			out->env[i] = strndup(value, LABEL_VALUE_MAX);
	}
}

/* The program, as the process sees it; @known where it has none, or is gone. */
static char *read_exe(const struct facts *f, uint32_t pid, const char *known)
{
	static const char deleted[] = " (deleted)";
	char path[512], exe[LABEL_VALUE_MAX + sizeof(deleted)];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%u/exe", f->proc, pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	if (n <= 0)
		return strdup(known);
	exe[n] = 0;
	if ((size_t)n > strlen(deleted) && !strcmp(exe + n - strlen(deleted), deleted))
		exe[(size_t)n - strlen(deleted)] = 0;
	return strdup(exe);
}

static void read_slow(const struct facts *f, struct entry *e)
{
	struct facts_slow *s = calloc(1, sizeof(*s));

	if (s)
		s->exe = read_exe(f, e->info.pid, e->info.exe);
	if (!s || !s->exe) {
		slow_free(s);
		return;
	}
	/* a kernel thread has none */
	if (*s->exe)
		read_env(f, e->info.pid, s);
	atomic_store(&e->slow, s);
}

/* What nobody's locks are needed for. */
static int read_quick(const struct facts *f, struct facts_process *p, const struct facts_of *of)
{
	char cgroup[CGROUP_MAX];
	ssize_t len = read_proc(f, of->pid, "cgroup", cgroup, sizeof(cgroup));

	if (len <= 0 && of->ppid)
		len = read_proc(f, of->ppid, "cgroup", cgroup, sizeof(cgroup));
	p->cgroup = strndup(cgroup, len > 0 ? (size_t)len : 0);
	p->exe = strndup(of->exe, LABEL_VALUE_MAX);
	return p->cgroup && p->exe ? 0 : -ENOMEM;
}

/* ---- those that wait ----------------------------------------------------------------- */

/* Under the lock, as all here. The next to be read, when there is one; NULL: the end. */
static struct entry *queue_take(struct facts *f)
{
	struct entry *e;

	while (!f->first && !f->ends)
		pthread_cond_wait(&f->queued, &f->lock);
	if (f->ends)
		return NULL;
	e = f->first;
	f->first = e->next;
	if (!f->first)
		f->last = &f->first;
	f->n_queued--;
	return e;
}

static void queue_put(struct facts *f, struct entry *e)
{
	e->next = NULL;
	e->waits = true;
	*f->last = e;
	f->last = &e->next;
	f->n_queued++;
	f->n_waiting++;
	pthread_cond_signal(&f->queued);
}

static void *reader_main(void *arg)
{
	struct facts *f = arg;
	struct entry *e;

	pthread_mutex_lock(&f->lock);
	while ((e = queue_take(f))) {
		pthread_mutex_unlock(&f->lock);
		read_slow(f, e);
		pthread_mutex_lock(&f->lock);
		e->waits = false;
		f->n_waiting--;
		if (!f->n_waiting)
			pthread_cond_broadcast(&f->settled);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

int facts_start(struct facts *f)
{
	int r = 0;

	while (f->n_readers < READERS && r == 0) {
		r = thread_start(&f->readers[f->n_readers], reader_main, f);
		if (r == 0)
			(void)pthread_setname_np(f->readers[f->n_readers++], "cameo-facts");
	}
	return f->n_readers ? 0 : r;
}

void facts_settle(struct facts *f, uint64_t deadline_ns)
{
	const struct timespec until = {
		.tv_sec = (time_t)(deadline_ns / CLOCK_SECOND_NS),
		.tv_nsec = (long)(deadline_ns % CLOCK_SECOND_NS),
	};
	int r = 0;

	pthread_mutex_lock(&f->lock);
	while (f->n_waiting && r == 0)
		r = pthread_cond_clockwait(&f->settled, &f->lock, CLOCK_MONOTONIC, &until);
	pthread_mutex_unlock(&f->lock);
}

/* ---- noting -------------------------------------------------------------------------- */

static int add(struct facts *f, struct entry *e)
{
	const struct facts_process *p = &e->info;
	int r;

	pthread_mutex_lock(&f->lock);
	r = vec_push(&f->all, e);
	if (r == 0) {
		r = index_add(&f->by_key, key_hash(p->pid, p->start_ns), (uint32_t)f->all.len - 1);
		if (r < 0)
			f->all.len--;
	}
	if (r == 0 && f->n_readers && f->n_queued < QUEUE_MAX)
		queue_put(f, e);
	pthread_mutex_unlock(&f->lock);
	return r;
}

void facts_note(struct facts *f, const struct facts_of *of)
{
	struct entry *e;
	bool waits;

	if (find(f, of->pid, of->start_ns, &waits))
		return;
	e = calloc(1, sizeof(*e));
	if (!e)
		return;
	e->info.pid = of->pid;
	e->info.start_ns = of->start_ns;
	snprintf(e->info.comm, sizeof(e->info.comm), "%s", of->comm);
	if (read_quick(f, &e->info, of) < 0) {
		entry_free(e);
		return;
	}
	if (!f->n_readers)
		read_slow(f, e);
	if (add(f, e) < 0)
		entry_free(e);
}

void facts_reap(struct facts *f, facts_ended_fn ended, void *ctx)
{
	size_t kept = 0;

	pthread_mutex_lock(&f->lock);
	index_fini(&f->by_key);
	for (size_t i = 0; i < f->all.len; i++) {
		struct entry *e = f->all.data[i];
		struct facts_process *p = &e->info;
		bool kept_on;

		if (!e->waits)
			p->n_ended += p->n_ended || ended(ctx, p->pid, p->start_ns);
		kept_on = p->n_ended < KEEP_TURNS &&
			  index_add(&f->by_key, key_hash(p->pid, p->start_ns), (uint32_t)kept) == 0;
		if (kept_on || e->waits)
			f->all.data[kept++] = e;
		else
			entry_free(e);
	}
	f->all.len = kept;
	pthread_mutex_unlock(&f->lock);
}
