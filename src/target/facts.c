/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process's environment and cgroup are what it, or its owner, wrote there: read
 * up to a limit, cut to what a label may hold. That a process is gone is no
 * error: its parent's cgroup stands for its own, which it inherited.
 */
#include "target/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"

enum { CGROUP_MAX = 8192, ENVIRON_MAX = 256 << 10, KEEP_TURNS = 3 };

struct facts {
	pthread_mutex_t lock; /* of the table */
	char *proc;
	char *env[FACTS_ENV_MAX];
	size_t n_env;
	struct {
		VEC(struct facts_process *);
	} all;
	struct index by_key;
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

static void process_free(struct facts_process *p)
{
	if (!p)
		return;
	free(p->exe);
	free(p->cgroup);
	for (size_t i = 0; i < FACTS_ENV_MAX; i++)
		free(p->env[i]);
	target_labels_fini(&p->labels);
	free(p);
}

void facts_free(struct facts *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->all.len; i++)
		process_free(f->all.data[i]);
	vec_fini(&f->all);
	index_fini(&f->by_key);
	for (size_t i = 0; i < f->n_env; i++)
		free(f->env[i]);
	free(f->proc);
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
	const struct facts_process *p = k->f->all.data[id];

	return p->pid == k->pid && p->start_ns == k->start_ns;
}

struct facts_process *facts_find(struct facts *f, uint32_t pid, uint64_t start_ns)
{
	struct find_key key = { f, pid, start_ns };
	struct facts_process *p = NULL;
	uint32_t id;

	pthread_mutex_lock(&f->lock);
	if (index_find(&f->by_key, key_hash(pid, start_ns), same_key, &key, &id))
		p = f->all.data[id];
	pthread_mutex_unlock(&f->lock);
	return p;
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

static void read_env(const struct facts *f, struct facts_process *p)
{
	_cleanup_(freep) char *text = f->n_env ? malloc(ENVIRON_MAX) : NULL;
	ssize_t len = text ? read_proc(f, p->pid, "environ", text, ENVIRON_MAX) : 0;

	for (size_t i = 0; i < f->n_env && len > 0; i++) {
		const char *value = facts_env_value(text, (size_t)len, f->env[i]);

		if (value && *value)
			p->env[i] = strndup(value, LABEL_VALUE_MAX);
	}
}

/* The program, as the process sees it; what @of says where it has none, or is gone. */
static char *read_exe(const struct facts *f, const struct facts_of *of)
{
	static const char deleted[] = " (deleted)";
	char path[512], exe[LABEL_VALUE_MAX + sizeof(deleted)];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%u/exe", f->proc, of->pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	if (n <= 0)
		return strndup(of->exe, LABEL_VALUE_MAX);
	exe[n] = 0;
	if ((size_t)n > strlen(deleted) && !strcmp(exe + n - strlen(deleted), deleted))
		exe[(size_t)n - strlen(deleted)] = 0;
	return strdup(exe);
}

static int read_facts(const struct facts *f, struct facts_process *p, const struct facts_of *of)
{
	char cgroup[CGROUP_MAX];
	ssize_t len;

	p->exe = read_exe(f, of);
	len = read_proc(f, of->pid, "cgroup", cgroup, sizeof(cgroup));
	if (len <= 0 && of->ppid)
		len = read_proc(f, of->ppid, "cgroup", cgroup, sizeof(cgroup));
	p->cgroup = strndup(cgroup, len > 0 ? (size_t)len : 0);
	if (!p->exe || !p->cgroup)
		return -ENOMEM;
	/* a kernel thread has none */
	if (*p->exe)
		read_env(f, p);
	return 0;
}

static int add(struct facts *f, struct facts_process *p)
{
	int r;

	pthread_mutex_lock(&f->lock);
	r = vec_push(&f->all, p);
	if (r == 0) {
		r = index_add(&f->by_key, key_hash(p->pid, p->start_ns), (uint32_t)f->all.len - 1);
		if (r < 0)
			f->all.len--;
	}
	pthread_mutex_unlock(&f->lock);
	return r;
}

void facts_note(struct facts *f, const struct facts_of *of)
{
	struct facts_process *p;

	if (facts_find(f, of->pid, of->start_ns))
		return;
	p = calloc(1, sizeof(*p));
	if (!p)
		return;
	p->pid = of->pid;
	p->start_ns = of->start_ns;
	snprintf(p->comm, sizeof(p->comm), "%s", of->comm);
	if (read_facts(f, p, of) < 0 || add(f, p) < 0)
		process_free(p);
}

void facts_reap(struct facts *f, facts_ended_fn ended, void *ctx)
{
	size_t kept = 0;

	pthread_mutex_lock(&f->lock);
	index_fini(&f->by_key);
	for (size_t i = 0; i < f->all.len; i++) {
		struct facts_process *p = f->all.data[i];

		p->n_ended += p->n_ended || ended(ctx, p->pid, p->start_ns);
		if (p->n_ended >= KEEP_TURNS ||
		    index_add(&f->by_key, key_hash(p->pid, p->start_ns), (uint32_t)kept) < 0)
			process_free(p);
		else
			f->all.data[kept++] = p;
	}
	f->all.len = kept;
	pthread_mutex_unlock(&f->lock);
}
