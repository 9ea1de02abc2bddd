/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/heap_recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/outfile.h"
#include "cli/args.h"
#include "cli/recording.h"
#include "cli/text.h"
#include "codec/format.h"
#include "lang/heap/golang_heap.h"
#include "opener/opener.h"
#include "proc/stat.h"
#include "profile/profile.h"
#include "reader/heap_client.h"

/* ---- the summary ----------------------------------------------------------------------------- */

enum { ALLOC_SPACE = 1, INUSE_SPACE = 3 }; /* sample types of golang_heap_read() */

static void put_rate(struct buf *line, const struct golang_heap_counts *c)
{
	char rate[TEXT_VALUE_LEN];

	if (c->rate > 1)
		buf_printf(line, "one sample every %s on average",
			   text_value(c->rate, "bytes", rate));
	else if (c->rate == 1)
		buf_put_str(line, "every allocation is recorded");
	else
		buf_put_str(line, "runtime.MemProfileRate is 0, so nothing more is recorded");
}

/* Appends what is missing in the profile, so that no gap is hidden. */
static void put_gaps(struct buf *line, const struct golang_heap_counts *c)
{
	if (c->n_records && !c->is_published)
		buf_put_str(line, "; no garbage collection has ended yet");
	if (c->n_changed)
		buf_printf(line, "; %" PRIu64 " records changed while they were read",
			   c->n_changed);
	if (c->n_invalid)
		buf_printf(line, "; %" PRIu64 " invalid records omitted", c->n_invalid);
	if (c->is_cut)
		buf_put_str(line, "; INCOMPLETE: the list of records was not read to its end");
}

static void print_summary(uint32_t pid, const char *comm, const struct profile *p,
			  const struct golang_heap_counts *c)
{
	_cleanup_(buf_fini) struct buf line = { 0 };
	char inuse[TEXT_VALUE_LEN], alloc[TEXT_VALUE_LEN];

	buf_printf(&line,
		   "cameo: process %u (%s), Go %s: %s in use, %s allocated since its start; "
		   "%" PRIu64 " records, ",
		   pid, comm, c->version, text_value(profile_sum(p, INUSE_SPACE), "bytes", inuse),
		   text_value(profile_sum(p, ALLOC_SPACE), "bytes", alloc), c->n_records);
	put_rate(&line, c);
	put_gaps(&line, c);
	buf_put_byte(&line, '\0');
	if (!buf_error(&line))
		text_print_message((const char *)line.data);
}

/* ---- the profile ----------------------------------------------------------------------------- */

static int add_process(struct profile *all, uint32_t pid, struct err *err)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct golang_heap_counts counts;
	char text[16], comm[16];
	const struct profile_text_label labels[] = { { "pid", text }, { "comm", comm } };
	int r;

	snprintf(text, sizeof(text), "%u", pid);
	proc_comm((int)pid, comm);
	r = heap_client_read(pid, &p, &counts, err);
	if (r == 0)
		r = profile_merge_with_labels(all, p, labels, comm[0] ? 2 : 1);
	if (r == 0)
		print_summary(pid, comm, p, &counts);
	return r;
}

static int add_all(struct profile *all, const struct pid_list *pids, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < pids->len && r >= 0; i++) {
		_cleanup_(closep) int process = args_open_process(pids->data[i], err);

		r = process < 0 ? process : add_process(all, pids->data[i], err);
	}
	return r;
}

int heap_recording_run(const struct recording_opts *o, struct err *err)
{
	const struct format_options opt = { .title = "heap" };
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(outfile_freep) struct outfile *out = NULL;
	_cleanup_(buf_fini) struct buf data = { 0 };
	int r = opener_start(err);

	if (r == 0)
		r = profile_new(&p);
	if (r == 0)
		r = outfile_open(&out, o->path, err);
	if (r == 0)
		r = outfile_give_to_sudo_user(out, err);
	if (r == 0)
		r = add_all(p, &o->pids, err);
	if (r == 0) {
		profile_meta(p)->time_ns = (int64_t)clock_unix_ns();
		r = format_write(o->format, p, &opt, &data, err);
	}
	if (r == 0)
		r = outfile_commit(out, data.data, data.len, err);
	if (r == 0 && strcmp(o->path, "-") != 0)
		fprintf(stderr, "cameo: wrote %s\n", o->path);
	return r;
}
