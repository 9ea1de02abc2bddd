/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config.h"
#include "agent/selector.h"
#include "agent/setup.h"
#include "base/vec.h"
#include "metadata/labeler.h"
#include "metadata/process_info.h"
#include "opener/opener.h"
#include "process/file_table.h"
#include "profiler/sample_counts.h"
#include "profiler/session.h"
#include "roles/killed.h"
#include "scrape/scrape_memory.h"
#include "symbolize/frame_symbols.h"
#include "symbolize/symbolizer_thread.h"

static void on_thread(void *ctx, const struct sample_counts_thread *t, uint32_t ppid)
{
	struct agent_parts *p = ctx;
	const struct file_info *exe = file_table_get(session_files(p->session), t->exe);
	struct process_info_key of = {
		.pid = t->pid,
		.ppid = ppid,
		.start_ns = t->start_ns,
		.comm = t->process_comm,
		.exe = exe ? exe->path : "",
	};

	process_info_store_note(p->process_info, &of);
}

static struct sampler_opts sampler_options(const struct agent_parts *p,
					   const struct agent_parts_opts *o)
{
	const struct agent_config *c = o->config;

	return (struct sampler_opts){
		.freq_hz = (uint32_t)c->freq,
		.kernel = c->kernel,
		.user = true,
		.idle = c->idle,
		.off_cpu = c->off_cpu,
		.off_min_ns = c->off_min,
		.by_rules = true, /* a reload may add some */
		.all_native = c->native_frames == NATIVE_FRAMES_ALL,
		.stats = true,
		.stats_fd = o->stats_fd,
		.max_chunks = (uint32_t)(p->plan.tables / ARENA_CHUNK_BYTES),
		.ring_bytes = p->plan.ring_bytes,
		.cpus = p->cpus.len ? &p->cpus : NULL,
	};
}

/* Divides the memory limit, for which the sizes of the BPF maps must be known. */
static int make_plan(struct agent_parts *p, const struct agent_parts_opts *o, struct err *err)
{
	const struct agent_config *c = o->config;
	struct sampler_opts opts = sampler_options(p, o);
	struct sampler_memory maps;
	struct memory_needs needs = { .limit = c->memory, .queue_bytes = c->queue_bytes };
	int r = sampler_memory(&opts, &maps, err);

	if (r < 0)
		return r;
	needs.fixed_bytes = maps.fixed_bytes;
	needs.per_cpu_bytes = maps.per_cpu_bytes;
	needs.n_cpus = maps.n_cpus;
	if (setup_scrapes(c)) /* each of the credentials has a process that downloads */
		needs.scrape_bytes = SCRAPE_BYTES + c->scrape_auth.len * SCRAPE_DOWNLOADS_BYTES;
	needs.hung_are_released = killed_are_released();
	return memory_plan_make(&p->plan, &needs, err);
}

/* Only copies that the table of files counts are made. */
static void limit_openers(const struct memory_plan *plan)
{
	const struct opener_limits limits = {
		.max_abandoned = plan->n_hung,
		.copy_bytes = 0,
		.maps_bytes = plan->opened_maps,
	};

	opener_set_limits(&limits);
}

static int open_session(struct agent_parts *p, const struct agent_parts_opts *o, struct err *err)
{
	const struct agent_config *c = o->config;
	struct session_opts session_opts = {
		.sampler = sampler_options(p, o),
		.keep_times = o->keep_times,
		.max_counts_bytes = p->plan.counts,
		.max_backlog_bytes = p->plan.backlog,
		.max_copies_bytes = p->plan.copies,
		.max_mappings_bytes = p->plan.mappings,
		.n_readers = p->plan.n_readers,
		.reader_bytes = p->plan.readers / p->plan.n_readers,
		.lang_reader_bytes = p->plan.lang_reader,
		.jit_reader_bytes = p->plan.jit_reader,
		.sideband_bytes = p->plan.sideband_bytes,
		.stop_ns = o->stop_ns,
		.keep_cpus = setup_has_cpu_label(c),
		.exclude_self = c->exclude_self,
		.keeps_priority = true,
		.rules = selector_rules(p->selector),
		.on_thread = on_thread,
		.ctx = p,
	};

	return session_open(&p->session, &session_opts, err);
}

static int open_symbolizer(struct agent_parts *p, const struct agent_parts_opts *o,
			   struct labeler *labeler)
{
	struct frame_symbols_opts symbols_opts = {
		.files = session_files(p->session),
		.jits = session_jits(p->session),
		.langs = session_langs(p->session),
		.kernel_changes = session_kernel_changes(p->session),
		.lock = o->lock,
		.address_cache_bytes = p->plan.addresses,
		.worker_rss_bytes = p->plan.worker_rss,
		.symbolizer = { .memory_bytes = p->plan.symbols,
				.worker_memory_bytes = p->plan.worker,
				.fetcher = o->fetcher,
				.debuginfod = p->debuginfod,
				.demangle = o->config->demangle,
				.symbol_cache = p->symbol_cache },
	};
	struct symbolizer_thread_opts opts = {
		.frame_symbols = &symbols_opts,
		.process_info = p->process_info,
		.labeler = labeler,
		.export = o->export,
		.log = o->log,
		.ctx = o->ctx,
		.part_bytes = p->plan.part,
		.priority = o->priority,
	};

	return symbolizer_thread_new(&p->symbolizer_thread, &opts);
}

/* Copies the settings that the parts borrow as texts and lists. */
static int copy_settings(struct agent_parts *p, const struct agent_config *c, struct err *err)
{
	int r = c->cpus ? cpu_list_parse(&p->cpus, c->cpus, err) : 0;

	if (r == 0)
		r = setup_debuginfod(&p->debuginfod, c);
	if (r < 0 || !c->symbol_cache)
		return r;
	p->symbol_cache = strdup(c->symbol_cache);
	return p->symbol_cache ? 0 : -ENOMEM;
}

int agent_parts_open(struct agent_parts *p, const struct agent_parts_opts *o, struct err *err)
{
	struct labeler *labeler = NULL;
	int r = copy_settings(p, o->config, err);

	if (r == 0)
		r = make_plan(p, o, err);
	if (r == 0)
		limit_openers(&p->plan);
	if (r == 0)
		r = setup_process_info(&p->process_info, o->config, err);
	if (r == 0)
		r = setup_labeler(&labeler, o->config, o->fetcher, err);
	if (r == 0)
		r = setup_selector(&p->selector, o->config, err);
	if (r == 0)
		r = open_session(p, o, err);
	if (r < 0) {
		labeler_free(labeler);
		return r;
	}
	/* owns the labeler, also if it fails */
	return open_symbolizer(p, o, labeler);
}

void agent_parts_close(struct agent_parts *p)
{
	symbolizer_thread_free(p->symbolizer_thread);
	session_free(p->session);
	selector_free(p->selector);
	process_info_store_free(p->process_info);
	vec_fini(&p->cpus);
	free(p->debuginfod);
	free(p->symbol_cache);
	*p = (struct agent_parts){ 0 };
}
