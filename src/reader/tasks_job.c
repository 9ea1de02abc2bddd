/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/tasks_job.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sigbus.h"
#include "elf/image.h"
#include "lang/tasks/task_memory.h"
#include "lang/tasks/task_readers.h"
#include "lang/tasks/task_snapshot.h"
#include "reader/tasks_message.h"
#include "roles/role.h"

struct tasks_job {
	const struct tasks_request *request;
	const int *fds;
	size_t n_fds;
	struct task_memory *memory;
	struct task_snapshot snapshot;
};

/* Offsets are signed, so addresses in the upper half cannot be read. */
static int read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	const int *fd = ctx;
	ssize_t n;

	if (addr > INT64_MAX)
		return -EFAULT;
	do
		n = pread(*fd, dst, len, (off_t)addr);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (size_t)n == len ? 0 : -EFAULT;
}

enum { MAPPED_BYTES = 4096 }; /* mappings begin at multiples, in memory and in files */

/* True if the process has mapped the segment at the address of the request. */
static bool is_mapped(const struct elf_segment *seg, const struct tasks_request *q)
{
	return q->code_off == TASKS_PROGRAM ||
	       seg->file_off - seg->file_off % MAPPED_BYTES == q->code_off;
}

/* For a program, the kernel reports the address of its lowest executable segment. */
static int find_bias(const struct elf_image *img, const struct tasks_request *q, uint64_t *out)
{
	const struct elf_segment *segs;
	size_t n = elf_image_segments(img, &segs);
	uint64_t lowest = UINT64_MAX;

	for (size_t i = 0; i < n; i++)
		if (segs[i].exec && segs[i].vaddr < lowest && is_mapped(&segs[i], q))
			lowest = segs[i].vaddr;
	if (lowest == UINT64_MAX)
		return -ENOENT;
	if (q->code_off != TASKS_PROGRAM)
		lowest -= lowest % MAPPED_BYTES;
	*out = q->code_addr - lowest;
	return 0;
}

/* Runs under sigbus_run(), because a file that is truncated meanwhile raises SIGBUS. */
static int read_tasks(void *ctx)
{
	struct tasks_job *job = ctx;
	const struct task_reader *reader = task_reader_get(job->request->runtime);
	_cleanup_(elf_image_freep) struct elf_image *img = NULL, *module = NULL;
	struct task_source src = { 0 };
	int r;

	if (!reader)
		return -EINVAL;
	r = elf_image_open(&img, job->fds[1], NULL);
	if (r == 0)
		r = find_bias(img, job->request, &src.bias);
	/* without it, the runtime may still be readable */
	if (r == 0 && job->n_fds > 2)
		(void)elf_image_open(&module, job->fds[2], NULL);
	src.img = img;
	src.module = module;
	return r < 0 ? r : reader->read(&src, job->memory, job->request->max, &job->snapshot);
}

static int send_snapshot(struct role_call *call, const struct task_snapshot *s)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	int r = 0;

	tasks_message_put(&b, s);
	if (buf_error(&b))
		return -ENOMEM;
	if (b.len > TASKS_STREAM_MAX)
		return -EFBIG;
	for (size_t at = 0; at < b.len && r == 0; at += ROLE_BODY_MAX)
		r = role_call_part(call, 0, b.data + at,
				   b.len - at < ROLE_BODY_MAX ? b.len - at : ROLE_BODY_MAX);
	return r;
}

int reader_tasks_job(struct role_call *call)
{
	struct tasks_job job = { .request = call->request, .fds = call->fds, .n_fds = call->n_fds };
	_cleanup_(freep) struct task_memory *memory = calloc(1, sizeof(*memory));
	int r;

	if (call->n_fds < 2 || job.request->max > TASKS_MAX)
		return -EINVAL;
	if (!memory)
		return -ENOMEM;
	memory->read = read_memory;
	memory->ctx = (void *)(uintptr_t)&call->fds[0];
	memory->deadline_ns = clock_monotonic_ns() + (uint64_t)job.request->limit_ms * CLOCK_MS_NS;
	job.memory = memory;
	r = task_snapshot_init(&job.snapshot);
	if (r == 0)
		r = sigbus_run(read_tasks, &job);
	if (r == 0)
		r = send_snapshot(call, &job.snapshot);
	task_snapshot_fini(&job.snapshot);
	return r;
}
