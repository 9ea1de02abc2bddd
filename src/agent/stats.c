/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/stats.h"

#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "agent/selector.h"
#include "agent/top_files.h"
#include "lang/lang.h"
#include "metadata/process_info.h"
#include "opener/opener.h"
#include "proc/usage.h"
#include "process/file_table.h"
#include "process/jit_symbols.h"
#include "profiler/sample_counts.h"
#include "roles/pool.h"
#include "roles/registry.h"

/*
 * Adds what the children of roles use. They execute the same file as this process, so only their
 * private memory counts. They also have copies of remote files, which the file table counts. The
 * symbolizer, which maps files of other programs, counts by itself.
 */
static void add_children(struct agent_stats *s)
{
	pid_t pids[ROLE_CHILDREN_MAX];
	size_t n = role_registry_pids(pids, ROLE_CHILDREN_MAX);

	s->children_bytes = 0;
	for (size_t i = 0; i < n; i++) {
		struct proc_usage u;

		if (pids[i] == s->symbolizer_thread.worker_pid)
			continue;
		proc_usage_read(pids[i], &u);
		s->children_bytes += u.private_bytes;
		s->cpu_ns += u.cpu_ns;
	}
}

uint64_t stats_held_bytes(const struct agent_stats *s)
{
	return s->rss_bytes + s->worker_rss_bytes + s->maps_bytes + s->children_bytes +
	       s->copies_bytes + s->session.sideband_bytes;
}

/*
 * BPF maps that are mapped into this process count as its RSS too; they are subtracted, so that the
 * sum of rss_bytes and maps_bytes counts them once.
 */
static void collect_usage(struct agent_stats *s)
{
	struct proc_usage self, worker = { 0 };
	struct role_counters openers;

	proc_usage_read(0, &self);
	if (s->symbolizer_thread.worker_pid)
		proc_usage_read(s->symbolizer_thread.worker_pid, &worker);
	opener_counters(&openers);
	s->n_openers_killed = openers.timeouts;
	s->n_openers_late = openers.late;
	s->n_openers_abandoned = openers.abandoned;
	s->maps_bytes = s->session.sampler.maps_bytes;
	s->rss_bytes = self.rss_bytes > s->session.sampler.mapped_bytes
			       ? self.rss_bytes - s->session.sampler.mapped_bytes
			       : 0;
	s->worker_rss_bytes = worker.rss_bytes;
	s->cpu_ns = self.cpu_ns + worker.cpu_ns;
	add_children(s);
	if (stats_held_bytes(s) > s->most_bytes)
		s->most_bytes = stats_held_bytes(s);
}

static void list_top_files(struct agent_stats *s, struct session *session)
{
	const struct file_table *files = session_files(session);

	s->n_files = file_table_n_live(files);
	s->n_files_forgotten = file_table_n_forgotten(files);
	s->n_files_refused = file_table_n_refused(files);
	s->n_files_unread = file_table_n_unread(files);
	s->copies_bytes = file_table_copied_bytes(files);
	s->n_top = 0;
	for (uint32_t id = 1; id <= file_table_count(files); id++) {
		const struct file_info *info = file_table_get(files, id);
		uint64_t rows, bytes = info ? session_table_bytes(session, id, &rows) : 0;

		if (bytes)
			top_files_add(s->top, &s->n_top, info->path, bytes, rows);
	}
}

static void list_unsupported(struct agent_stats *s, struct session *session)
{
	const struct lang_runtimes *all = langs_runtimes(session_langs(session));
	const struct lang_runtime *u;

	for (s->n_unsupported = 0; (u = lang_runtimes_unsupported(all, s->n_unsupported));
	     s->n_unsupported++) {
		struct agent_runtime *out = &s->unsupported[s->n_unsupported];

		memcpy(out->name, u->name, sizeof(out->name));
		memcpy(out->version, u->version, sizeof(out->version));
		out->problem = u->problem;
	}
}

static void collect_session(struct agent_stats *s, struct session *session)
{
	(void)session_stats(session, &s->session);
	s->sample_counts_bytes =
		sample_counts_bytes(session_counts(session)) + session_offcpu_bytes(session);
	s->langs_bytes = langs_bytes(session_langs(session));
	list_top_files(s, session);
}

static void add_exclusion(struct agent_stats *s, const struct stats_sources *from, uint32_t rule,
			  const char *text)
{
	struct agent_exclusion *e = &s->exclusions[s->n_exclusions++];
	uint64_t n = s->session.sampler.counts.excluded[rule];

	*e = (struct agent_exclusion){
		.number = rule == SELECT_NO_RULE ? 0 : rule + 1,
		.n_samples = n - from->excluded_before[rule],
	};
	snprintf(e->rule, sizeof(e->rule), "%s", text);
}

/* Rules that exclude are listed even if they excluded nothing. */
static void list_exclusions(struct agent_stats *s, const struct stats_sources *from)
{
	size_t n = selector_count(from->selector);

	s->n_exclusions = 0;
	for (size_t i = 0; i < n; i++)
		if (selector_exclude_text(from->selector, i))
			add_exclusion(s, from, (uint32_t)i,
				      selector_exclude_text(from->selector, i));
	if (!selector_includes_others(from->selector))
		add_exclusion(s, from, SELECT_NO_RULE, "");
}

void stats_collect(struct agent_stats *s, const struct stats_sources *from)
{
	pthread_mutex_lock(from->lock);
	collect_session(s, from->session);
	pthread_mutex_unlock(from->lock);
	s->jit_symbols_bytes = jit_symbols_bytes(session_jits(from->session));
	s->n_labelled_processes = process_info_store_count(from->process_info);
	list_unsupported(s, from->session);
	list_exclusions(s, from);
	symbolizer_thread_stats(from->symbolizer_thread, &s->symbolizer_thread);
	collect_usage(s);
}
