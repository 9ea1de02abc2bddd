/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/resident_programs.h"

#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "bpf/shared/abi.h"
#include "process/process_table.h"
#include "profiler/record_decoder.h"
#include "profiler/resident.h"
#include "sampler/sampler.h"

static void snapshot_one(void *ctx, const void *record, size_t len)
{
	struct resident_programs *p = ctx;
	const struct record_header *h = record;

	(void)len;
	/* the table has only the processes that are followed, if not all are */
	if (p->targets_only && !process_table_find(p->procs, h->pid, h->time_ns))
		return;
	resident_snapshot(p->resident, h);
	p->turn(p->ctx);
}

int resident_programs_snapshot(struct resident_programs *p, struct err *err)
{
	int r = p->resident ? sampler_each_program(p->sampler, snapshot_one, p) : 0;

	return r < 0 ? err_set(err, r, "cannot list the programs: %s", strerror(-r)) : 0;
}

static void read_one(void *ctx, const void *record, size_t len)
{
	struct resident_programs *p = ctx;
	const struct record_header *h = record;
	struct sample_counts_thread t;

	(void)len;
	if (p->targets_only && !resident_knows(p->resident, h->pid))
		return;
	t = record_decoder_thread(p->decoder, h);
	resident_read(p->resident, h, &t);
	p->turn(p->ctx);
}

int resident_programs_read(struct resident_programs *p)
{
	int r = p->resident ? sampler_each_program(p->sampler, read_one, p) : 0;
	return r < 0 ? r : 0;
}

int resident_programs_attribute(const struct resident_programs *p)
{
	return p->resident ? resident_attribute(p->resident, record_decoder_counts(p->decoder)) : 0;
}

void resident_programs_reap(const struct resident_programs *p)
{
	if (p->resident)
		resident_reap(p->resident);
}

void resident_programs_stats(const struct resident_programs *p, struct resident_stats *out)
{
	if (p->resident)
		resident_stats(p->resident, out);
}
