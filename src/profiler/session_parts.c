/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/session_parts.h"

#include <stddef.h>

#include "base/clock.h"
#include "lang/lang.h"
#include "process/file_table.h"
#include "process/jit_symbols.h"
#include "process/process_table.h"
#include "process/sideband.h"
#include "process/table_maker.h"
#include "profiler/alloc_recording.h"
#include "profiler/allocs.h"
#include "profiler/record_decoder.h"
#include "profiler/resident.h"
#include "profiler/sample_counts.h"
#include "profiler/session_opts.h"
#include "profiler/session_stats.h"
#include "reader/lang_client.h"
#include "reader/reader.h"
#include "roles/pool.h"
#include "sampler/ring_reader.h"
#include "sampler/sampler.h"
#include "unwind/tables.h"
#include "unwind/walk.h"

enum {
	BACKLOG_BYTES = 64 << 20,
	PARKED_SHARE = 2, /* as divisor: of the backlog, for records that wait for tables */
	READERS = 2,
	READERS_HUNG_MAX = 8, /* in the kernel; beyond, those that are killed are not replaced */
	READER_BYTES = 128 << 20,     /* a browser of 300 MB needs less than 96 MiB */
	LANG_READER_BYTES = 32 << 20, /* it needs 2 MiB, and 16 MiB for a large script */
	LANG_ASK_MS = 500,
	LANG_DETECT_MS = 3000,
	RESIDENT_BYTES = 512 << 20, /* for pages and stacks; 100 GiB in 4 KiB pages */
	ALLOCS_BYTES = 512 << 20,   /* for stacks and sampled blocks */
};

static size_t backlog_bytes(const struct session_opts *o)
{
	return o->max_backlog_bytes ? o->max_backlog_bytes : BACKLOG_BYTES;
}

static unsigned int n_readers(const struct session_opts *o)
{
	return o->n_readers ? o->n_readers : READERS;
}

static size_t reader_bytes(const struct session_opts *o)
{
	return o->reader_bytes ? o->reader_bytes : READER_BYTES;
}

static int create_decoder(struct session_parts *p, const struct session_opts *o,
			  const struct session_hooks *hooks)
{
	const struct record_decoder_opts opts = {
		.sampler = p->sampler,
		.walker = p->walker,
		.langs = p->langs,
		.procs = p->procs,
		.jits = p->jits,
		.memory = { .resident = p->memory.resident, .allocs = p->allocs },
		.sync_processes = hooks->sync_processes,
		.build_table = hooks->build_table,
		.is_pending = hooks->is_pending,
		.ctx = hooks->ctx,
		.on_thread = o->on_thread,
		.thread_ctx = o->ctx,
		.keep_times = o->keep_times,
		.keep_cpus = o->keep_cpus,
		.exclude_self = o->exclude_self,
		.wakers = o->sampler.wakers,
		.max_stack = o->max_stack,
		.max_counts_bytes = o->max_counts_bytes,
		.max_parked_bytes = backlog_bytes(o) / PARKED_SHARE,
	};

	return record_decoder_new(&p->decoder, &opts);
}

/* Creates the registry of languages, whose requests a reader process handles. */
static int create_langs(struct session_parts *p, const struct vm_tables *vms,
			const struct session_opts *o)
{
	const struct lang_client_opts client = {
		.reader_bytes = o->lang_reader_bytes ? o->lang_reader_bytes : LANG_READER_BYTES,
		.timeout_ms = LANG_ASK_MS,
		.detect_ms = LANG_DETECT_MS,
	};
	struct lang_source source;
	int r = lang_client_new(&p->lang_client, &client, NULL);

	if (r == 0)
		r = langs_new(&p->langs, vms, !o->sampler.all_native);
	if (r < 0)
		return r;
	lang_client_source(p->lang_client, &source);
	langs_set_source(p->langs, &source);
	if (o->signatures)
		langs_enable_signatures(p->langs);
	return 0;
}

/*
 * Creates one reader more than make tables, so that files can be identified while all others are
 * busy.
 */
static int create_readers(struct session_parts *p, const struct session_opts *o, struct err *err)
{
	const struct role_pool_opts pool = {
		.max_children = n_readers(o) + 1,
		.max_abandoned = READERS_HUNG_MAX,
		.memory_bytes = reader_bytes(o),
	};

	return role_pool_new(&p->readers, &reader_role, &pool, err);
}

static int create_files(struct session_parts *p, const struct session_opts *o)
{
	const struct file_table_opts opts = {
		.tables = p->tables,
		.readers = p->readers,
		.n_table_readers = n_readers(o),
		.table_bytes = reader_bytes(o),
	};
	int r = file_table_new(&p->files, &opts);

	if (r == 0 && o->max_copies_bytes)
		file_table_set_copies_max(p->files, o->max_copies_bytes);
	return r;
}

static int create_allocs(struct session_parts *p, const struct session_opts *o)
{
	const struct alloc_recording_opts opts = {
		.sampler = p->sampler,
		.procs = p->procs,
		.files = p->files,
		.readers = p->readers,
		.frees = o->sampler.frees,
		.share_max = o->alloc_share_max ? o->alloc_share_max : 100,
	};
	int r = allocs_new(&p->allocs, o->sampler.alloc_bytes, o->sampler.frees, ALLOCS_BYTES);

	return r < 0 ? r : alloc_recording_new(&p->recording, &opts);
}

/* Creates the parts that need no privileges. */
static int create_tables(struct session_parts *p, const struct session_opts *o,
			 const struct session_hooks *hooks)
{
	struct unwind_tables_memory mem;
	struct vm_tables vms;
	int r;

	sampler_vm_tables(p->sampler, &vms);
	sampler_tables_memory(p->sampler, &mem);
	r = unwind_tables_new(&p->tables, &mem);
	if (r == 0)
		r = unwind_walker_new(&p->walker, p->tables);
	if (r == 0)
		r = create_files(p, o);
	if (r == 0)
		r = create_langs(p, &vms, o);
	if (r == 0) {
		file_table_set_langs(p->files, p->langs);
		unwind_walker_set_vms(p->walker, &vms);
		r = process_table_new(&p->procs, p->files, p->tables, p->sampler);
	}
	if (r == 0) {
		process_table_set_langs(p->procs, p->langs);
		if (o->max_mappings_bytes)
			process_table_set_mappings_max(p->procs, o->max_mappings_bytes);
		r = jit_symbols_new(&p->jits, p->procs);
	}
	if (r == 0 && o->jit_reader_bytes)
		jit_symbols_set_reader_bytes(p->jits, o->jit_reader_bytes);
	if (r == 0 && o->sampler.faults)
		r = resident_new(&p->memory.resident, RESIDENT_BYTES);
	if (r == 0 && o->sampler.allocs)
		r = create_allocs(p, o);
	if (r == 0)
		r = create_decoder(p, o, hooks);
	p->memory.sampler = p->sampler;
	p->memory.decoder = p->decoder;
	p->memory.procs = p->procs;
	p->memory.targets_only = o->sampler.targets_only;
	return r;
}

int session_parts_open(struct session_parts *p, const struct session_opts *o,
		       const struct session_hooks *hooks, struct err *err)
{
	/* they start while the BPF programs are loaded */
	int r = create_readers(p, o, err);

	if (r == 0)
		r = sampler_open(&p->sampler, &o->sampler, err);
	if (r == 0)
		r = sideband_open(&p->sideband, o->sideband_bytes, err);
	if (r == 0)
		r = ring_reader_new(&p->ring, p->sampler,
				    backlog_bytes(o) - backlog_bytes(o) / PARKED_SHARE, err);
	return r == 0 ? create_tables(p, o, hooks) : r;
}

void session_parts_close(struct session_parts *p)
{
	ring_reader_free(p->ring);
	alloc_recording_free(p->recording);
	record_decoder_free(p->decoder);
	allocs_free(p->allocs);
	resident_free(p->memory.resident);
	jit_symbols_free(p->jits);
	process_table_free(p->procs);
	file_table_free(p->files);
	langs_free(p->langs);
	lang_client_free(p->lang_client);
	unwind_walker_free(p->walker);
	unwind_tables_free(p->tables);
	role_pool_free(p->readers);
	sideband_free(p->sideband);
	sampler_free(p->sampler);
	*p = (struct session_parts){ 0 };
}

int session_parts_start_memory(struct session_parts *p, struct err *err)
{
	int r = resident_programs_snapshot(&p->memory, err);

	return r < 0 || !p->recording ? r : alloc_recording_start(p->recording, err);
}

void session_parts_update_allocs(struct session_parts *p)
{
	if (p->recording)
		alloc_recording_update(p->recording, clock_monotonic_ns());
}

void session_parts_detach(struct session_parts *p)
{
	sampler_detach(p->sampler);
	if (p->recording)
		alloc_recording_stop(p->recording);
}

int session_parts_attribute(struct session_parts *p)
{
	int r = resident_programs_attribute(&p->memory);

	return r < 0 || !p->allocs ? r
				   : allocs_attribute(p->allocs, record_decoder_counts(p->decoder));
}

static void memory_stats(const struct session_parts *p, struct session_stats *out)
{
	resident_programs_stats(&p->memory, &out->resident);
	if (p->allocs)
		allocs_stats(p->allocs, &out->allocs);
	if (p->recording)
		alloc_recording_stats(p->recording, &out->probes);
}

static void reader_stats(const struct session_parts *p, struct session_stats *out)
{
	struct role_counters langs, tables;

	lang_client_counters(p->lang_client, &langs);
	role_pool_counters(p->readers, &tables);
	out->n_lang_readers_lost = langs.timeouts + langs.deaths + langs.garbage;
	out->n_reader_failures = table_maker_n_failed(file_table_maker(p->files));
	out->n_late = langs.late + tables.late;
}

int session_parts_stats(const struct session_parts *p, struct session_stats *out)
{
	struct ring_reader_state waiting;

	ring_reader_state(p->ring, &waiting);
	*out = (struct session_stats){ .backlog_bytes = waiting.bytes };
	reader_stats(p, out);
	out->sideband_bytes = sideband_bytes(p->sideband);
	out->n_files_full = file_table_n_full(p->files);
	out->n_vms_full = langs_n_full(p->langs);
	record_decoder_stats(p->decoder, &out->records);
	memory_stats(p, out);
	out->records.n_no_room += waiting.n_lost;
	process_table_stats(p->procs, &out->procs);
	unwind_tables_stats(p->tables, &out->tables);
	return sampler_stats(p->sampler, &out->sampler);
}

static void mark_word(struct file_table *f, uint64_t word)
{
	if (word >> FRAME_KIND_SHIFT == FRAME_NATIVE)
		file_table_mark(f, (uint32_t)((word & FRAME_PAYLOAD_MASK) >> FRAME_OFFSET_BITS));
}

static void mark_counts(struct file_table *f, const struct sample_counts *c)
{
	for (uint32_t i = 0; i < sample_counts_n_stacks(c); i++) {
		size_t n;
		const uint64_t *words = sample_counts_stack(c, i, &n);

		for (size_t k = 0; k < n; k++)
			mark_word(f, words[k]);
	}
}

void session_parts_sweep_files(struct session_parts *p, const struct sample_counts *kept,
			       uint64_t now_ns)
{
	process_table_mark_files(p->procs);
	mark_counts(p->files, record_decoder_counts(p->decoder));
	mark_counts(p->files, kept);
	file_table_sweep(p->files, now_ns);
}
