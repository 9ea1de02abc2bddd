/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environment and cgroup are untrusted text: they are read up to a limit and truncated to the
 * size of a label. A process that has already exited is not an error; its cgroup is that of its
 * parent, from which it was inherited.
 *
 * cgroup is read at once, because that does not lock anything in the process. Environment and
 * executable go through a queue to the reader threads. A reader leaves its result in
 * entry->slow, an atomic pointer; process_info_store_find() moves it to the public struct, so
 * that only the finding thread ever writes there.
 *
 * Reading the environment may take as long as the function that does it permits, which is limited
 * in the agent: pages of the environment may belong to a file that cannot be read. If the queue is
 * full, the entry is not read and has only the attributes that its creator passed.
 */
#include "metadata/process_info.h"

#include <errno.h>
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
#include "proc/text.h"
#include "proc/user.h"

enum {
	CGROUP_MAX = 8192,
	ENVIRON_MAX = 256 << 10,
	WINDOWS_AFTER_END = 3,
	READERS = 4,
	QUEUE_MAX = 4096,
};

/* Attributes whose reading may block. */
struct slow_attributes {
	char *exe;
	char *env[PROCESS_INFO_ENV_MAX];
};

struct entry {
	struct process_info
		info; /* first, because callers see only this; written by the finding thread */
	_Atomic(struct slow_attributes *) slow; /* NULL: not read yet, or moved to info */
	struct entry *next;                     /* in the queue */
	bool is_pending;                        /* queued or being read; protected by the lock */
	/* when the attributes of the process, and those of the program, had been read */
	uint64_t fast_ns, slow_ns;
	uint32_t ppid;
	bool has_own_cgroup; /* its cgroup was read from its own pid, not from its parent's */
	bool is_confirmed;
};

struct process_info_store {
	char *proc;
	char *env[PROCESS_INFO_ENV_MAX];
	size_t n_env;
	process_info_environ_fn read_environ; /* NULL: the file below proc */
	process_info_ran_fn ran_until;        /* NULL: nothing has to be confirmed */
	void *ran_ctx;
	pthread_t readers[READERS];
	size_t n_readers;

	pthread_mutex_t lock;        /* protects the fields below */
	pthread_cond_t queued, idle; /* queued: an entry or the end; idle: nothing is pending */
	bool is_ending;
	struct {
		VEC(struct entry *);
	} entries;
	struct index by_key;
	struct entry *first, **last; /* queue of entries to read */
	size_t n_queued, n_pending;  /* in the queue; and including those being read */
};

struct find_key {
	const struct process_info_store *s;
	uint32_t pid;
	uint64_t start_ns;
};

int process_info_store_new(struct process_info_store **out, const char *proc,
			   const char *const *env, size_t n_env)
{
	_cleanup_(process_info_store_freep) struct process_info_store *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->queued, NULL);
	pthread_cond_init(&s->idle, NULL);
	s->last = &s->first;
	s->proc = strdup(proc);
	if (!s->proc)
		return -ENOMEM;
	for (; s->n_env < n_env && s->n_env < PROCESS_INFO_ENV_MAX; s->n_env++) {
		s->env[s->n_env] = strdup(env[s->n_env]);
		if (!s->env[s->n_env])
			return -ENOMEM;
	}
	*out = steal_ptr(&s);
	return 0;
}

void process_info_store_set_environ(struct process_info_store *s, process_info_environ_fn read)
{
	s->read_environ = read;
}

static void slow_free(struct slow_attributes *slow)
{
	if (!slow)
		return;
	free(slow->exe);
	for (size_t i = 0; i < PROCESS_INFO_ENV_MAX; i++)
		free(slow->env[i]);
	free(slow);
}

static void entry_free(struct entry *e)
{
	struct process_info *p = &e->info;

	free(p->exe);
	free(p->cgroup);
	for (size_t i = 0; i < PROCESS_INFO_ENV_MAX; i++)
		free(p->env[i]);
	metadata_labels_fini(&p->labels);
	slow_free(atomic_load(&e->slow));
	free(e);
}

static void stop_readers(struct process_info_store *s)
{
	pthread_mutex_lock(&s->lock);
	s->is_ending = true;
	pthread_cond_broadcast(&s->queued);
	pthread_mutex_unlock(&s->lock);
	while (s->n_readers)
		pthread_join(s->readers[--s->n_readers], NULL);
}

void process_info_store_free(struct process_info_store *s)
{
	if (!s)
		return;
	stop_readers(s);
	for (size_t i = 0; i < s->entries.len; i++)
		entry_free(s->entries.data[i]);
	vec_fini(&s->entries);
	index_fini(&s->by_key);
	for (size_t i = 0; i < s->n_env; i++)
		free(s->env[i]);
	free(s->proc);
	pthread_cond_destroy(&s->queued);
	pthread_cond_destroy(&s->idle);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static uint32_t key_hash(uint32_t pid, uint64_t start_ns)
{
	return hash_u64(start_ns ^ (uint64_t)pid << 32);
}

static bool same_key(const void *ctx, uint32_t id)
{
	const struct find_key *k = ctx;
	const struct process_info *p = &k->s->entries.data[id]->info;

	return p->pid == k->pid && p->start_ns == k->start_ns;
}

/*
 * out_waits is read under the same lock as the entry, before the result is moved: an entry that is
 * not pending any more has stored its result before.
 */
static struct entry *find(struct process_info_store *s, uint32_t pid, uint64_t start_ns,
			  bool *out_waits)
{
	struct find_key key = { s, pid, start_ns };
	struct entry *e = NULL;
	uint32_t id;

	pthread_mutex_lock(&s->lock);
	if (index_find(&s->by_key, key_hash(pid, start_ns), same_key, &key, &id))
		e = s->entries.data[id];
	*out_waits = e && (e->is_pending || (s->ran_until && !e->is_confirmed));
	pthread_mutex_unlock(&s->lock);
	return e;
}

/* Moves what was read to @p. Labels computed without it become invalid. */
static void move_attributes(struct process_info *p, struct slow_attributes *slow)
{
	free(p->exe);
	p->exe = steal_ptr(&slow->exe);
	memcpy(p->env, slow->env, sizeof(p->env));
	memset(slow->env, 0, sizeof(slow->env));
	p->is_read = true;
	p->labels_until_ns = 0;
	slow_free(slow);
}

struct process_info *process_info_store_find(struct process_info_store *s, uint32_t pid,
					     uint64_t start_ns)
{
	bool is_pending;
	struct entry *e = find(s, pid, start_ns, &is_pending);
	struct slow_attributes *slow;

	if (!e)
		return NULL;
	e->info.is_pending = is_pending;
	/* an entry that is no longer pending has stored its result before */
	slow = is_pending ? NULL : atomic_exchange(&e->slow, NULL);
	if (slow)
		move_attributes(&e->info, slow);
	return &e->info;
}

size_t process_info_store_count(struct process_info_store *s)
{
	size_t n;

	pthread_mutex_lock(&s->lock);
	n = s->entries.len;
	pthread_mutex_unlock(&s->lock);
	return n;
}

/* ---- reading ----------------------------------------------------------------------------- */

const char *process_info_env_value(const char *environ_text, size_t len, const char *name)
{
	const char *p = environ_text, *end = environ_text + len;
	size_t n = strlen(name);

	while (p < end) {
		const char *stop = memchr(p, 0, (size_t)(end - p));

		/* the last variable may be cut off: its value is incomplete */
		if (!stop)
			return NULL;
		if ((size_t)(stop - p) > n && p[n] == '=' && !memcmp(p, name, n))
			return p + n + 1;
		p = stop + 1;
	}
	return NULL;
}

/* Values are truncated to a label's size. */
static void read_env(const struct process_info_store *s, uint32_t pid, struct slow_attributes *out)
{
	_cleanup_(freep) char *text = s->n_env ? malloc(ENVIRON_MAX) : NULL;
	ssize_t len = 0;

	if (text && s->read_environ)
		len = s->read_environ(pid, text, ENVIRON_MAX);
	else if (text)
		len = proc_read_text(s->proc, pid, "environ", text, ENVIRON_MAX);

	for (size_t i = 0; i < s->n_env && len > 0; i++) {
		const char *value = process_info_env_value(text, (size_t)len, s->env[i]);

		if (value && *value)
			out->env[i] = strndup(value, LABEL_VALUE_MAX);
	}
}

/*
 * Returns the path of the executable as the process sees it, or @known if it has none or is
 * gone. To be freed; NULL if memory ran out.
 */
static char *read_exe(const struct process_info_store *s, uint32_t pid, const char *known)
{
	char exe[LABEL_VALUE_MAX + PROC_DELETED_BYTES + 1];

	if (!proc_read_exe(s->proc, pid, exe, sizeof(exe)))
		return strdup(known);
	exe[LABEL_VALUE_MAX] = 0;
	return strdup(exe);
}

static void read_slow(const struct process_info_store *s, struct entry *e)
{
	struct slow_attributes *slow = calloc(1, sizeof(*slow));

	if (slow)
		slow->exe = read_exe(s, e->info.pid, e->info.exe);
	if (!slow || !slow->exe) {
		slow_free(slow);
		return;
	}
	/* kernel threads have no environment */
	if (*slow->exe)
		read_env(s, e->info.pid, slow);
	e->slow_ns = clock_monotonic_ns();
	atomic_store(&e->slow, slow);
}

/* Returns the content of @pid's cgroup file, "" if there is none; NULL if memory ran out. */
static char *read_cgroup(const struct process_info_store *s, uint32_t pid)
{
	char cgroup[CGROUP_MAX];
	ssize_t len = pid ? proc_read_text(s->proc, pid, "cgroup", cgroup, sizeof(cgroup)) : 0;

	return strndup(cgroup, len > 0 ? (size_t)len : 0);
}

/* Reads the attributes that need no lock in the process. */
static int read_fast(const struct process_info_store *s, struct entry *e,
		     const struct process_info_key *key)
{
	struct process_info *p = &e->info;

	p->user = proc_user_of(key->pid);
	p->cgroup = read_cgroup(s, key->pid);
	e->has_own_cgroup = p->cgroup && *p->cgroup;
	if (p->cgroup && !*p->cgroup) {
		free(p->cgroup);
		p->cgroup = read_cgroup(s, key->ppid);
	}
	e->ppid = key->ppid;
	e->fast_ns = clock_monotonic_ns();
	p->exe = strndup(key->exe, LABEL_VALUE_MAX);
	return p->cgroup && p->exe ? 0 : -ENOMEM;
}

/* ---- the queue (the caller holds the lock) ----------------------------------------------- */

/* Waits for an entry to read and removes it from the queue. NULL: the end. */
static struct entry *queue_take(struct process_info_store *s)
{
	struct entry *e;

	while (!s->first && !s->is_ending)
		pthread_cond_wait(&s->queued, &s->lock);
	if (s->is_ending)
		return NULL;
	e = s->first;
	s->first = e->next;
	if (!s->first)
		s->last = &s->first;
	s->n_queued--;
	return e;
}

static void queue_put(struct process_info_store *s, struct entry *e)
{
	e->next = NULL;
	e->is_pending = true;
	*s->last = e;
	s->last = &e->next;
	s->n_queued++;
	s->n_pending++;
	pthread_cond_signal(&s->queued);
}

static void *reader_main(void *arg)
{
	struct process_info_store *s = arg;
	struct entry *e;

	pthread_mutex_lock(&s->lock);
	while ((e = queue_take(s))) {
		pthread_mutex_unlock(&s->lock);
		read_slow(s, e);
		pthread_mutex_lock(&s->lock);
		e->is_pending = false;
		s->n_pending--;
		if (!s->n_pending)
			pthread_cond_broadcast(&s->idle);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/*
 * Succeeds if at least one thread starts. Further threads only limit the effect of processes that
 * block.
 */
int process_info_store_start(struct process_info_store *s)
{
	int r = 0;

	while (s->n_readers < READERS && r == 0) {
		r = thread_start(&s->readers[s->n_readers], reader_main, s);
		if (r == 0)
			(void)pthread_setname_np(s->readers[s->n_readers++], "cameo-procinfo");
	}
	return s->n_readers ? 0 : r;
}

void process_info_store_wait(struct process_info_store *s, uint64_t deadline_ns)
{
	int r = 0;

	pthread_mutex_lock(&s->lock);
	while (s->n_pending && r == 0)
		r = thread_wait_until(&s->idle, &s->lock, deadline_ns);
	pthread_mutex_unlock(&s->lock);
}

/* ---- confirming ------------------------------------------------------------------------- */

void process_info_store_set_confirm(struct process_info_store *s, process_info_ran_fn ran_until,
				    void *ctx)
{
	s->ran_until = ran_until;
	s->ran_ctx = ctx;
}

/* Drops what may have been read of another program. */
static void confirm(const struct process_info_store *s, struct entry *e)
{
	struct process_info *p = &e->info;

	if (e->has_own_cgroup && !s->ran_until(s->ran_ctx, p->pid, p->start_ns, e->fast_ns, true)) {
		char *parents = read_cgroup(s, e->ppid);

		p->cgroup[0] = '\0';
		if (parents) {
			free(p->cgroup);
			p->cgroup = parents;
		}
	}
	if (!s->ran_until(s->ran_ctx, p->pid, p->start_ns, e->slow_ns, false))
		slow_free(atomic_exchange(&e->slow, NULL));
	p->labels_until_ns = 0;
	e->is_confirmed = true;
}

void process_info_store_confirm(struct process_info_store *s)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; s->ran_until && i < s->entries.len; i++) {
		struct entry *e = s->entries.data[i];

		if (!e->is_pending && !e->is_confirmed)
			confirm(s, e);
	}
	pthread_mutex_unlock(&s->lock);
}

/* ---- noting ----------------------------------------------------------------------------- */

static int add(struct process_info_store *s, struct entry *e)
{
	const struct process_info *p = &e->info;
	int r;

	pthread_mutex_lock(&s->lock);
	r = vec_push(&s->entries, e);
	if (r == 0) {
		r = index_add(&s->by_key, key_hash(p->pid, p->start_ns),
			      (uint32_t)s->entries.len - 1);
		if (r < 0)
			s->entries.len--;
	}
	if (r == 0 && s->n_readers && s->n_queued < QUEUE_MAX)
		queue_put(s, e);
	pthread_mutex_unlock(&s->lock);
	return r;
}

void process_info_store_note(struct process_info_store *s, const struct process_info_key *key)
{
	struct entry *e;
	bool is_pending;

	if (find(s, key->pid, key->start_ns, &is_pending))
		return;
	e = calloc(1, sizeof(*e));
	if (!e)
		return;
	e->info.pid = key->pid;
	e->info.start_ns = key->start_ns;
	snprintf(e->info.comm, sizeof(e->info.comm), "%s", key->comm);
	if (read_fast(s, e, key) < 0) {
		entry_free(e);
		return;
	}
	if (!s->n_readers)
		read_slow(s, e);
	if (add(s, e) < 0)
		entry_free(e);
}

/*
 * Rebuilds the index while it compacts the list. A pending entry stays until its reader has
 * finished, since that holds a pointer to it.
 */
void process_info_store_reap(struct process_info_store *s, process_info_ended_fn ended, void *ctx)
{
	size_t kept = 0;

	pthread_mutex_lock(&s->lock);
	index_fini(&s->by_key);
	for (size_t i = 0; i < s->entries.len; i++) {
		struct entry *e = s->entries.data[i];
		struct process_info *p = &e->info;
		bool is_kept;

		if (!e->is_pending)
			p->n_ended += p->n_ended || ended(ctx, p->pid, p->start_ns);
		is_kept = p->n_ended < WINDOWS_AFTER_END &&
			  index_add(&s->by_key, key_hash(p->pid, p->start_ns), (uint32_t)kept) == 0;
		if (is_kept || e->is_pending)
			s->entries.data[kept++] = e;
		else
			entry_free(e);
	}
	s->entries.len = kept;
	pthread_mutex_unlock(&s->lock);
}
