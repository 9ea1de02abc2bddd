/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/tasks_job.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/sigbus.h"
#include "elf/image.h"
#include "lang/tasks/task_memory.h"
#include "lang/tasks/task_readers.h"
#include "lang/tasks/task_snapshot.h"
#include "reader/process_source.h"
#include "reader/tasks_message.h"
#include "roles/role.h"

struct tasks_job {
	const struct tasks_request *request;
	const int *fds;
	size_t n_fds;
	struct task_memory *memory;
	struct task_snapshot snapshot;
};

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
	r = process_source_open(job->fds[1], job->request->code_addr, job->request->code_off, &img,
				&src.bias);
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

	tasks_message_put(&b, s);
	return process_source_send(call, &b, TASKS_STREAM_MAX);
}

int reader_tasks_job(struct role_call *call)
{
	struct tasks_job job = { .request = call->request, .fds = call->fds, .n_fds = call->n_fds };
	_cleanup_(freep) struct task_memory *memory = NULL;
	int r;

	if (call->n_fds < 2 || job.request->max > TASKS_MAX)
		return -EINVAL;
	memory = process_source_memory(&call->fds[0], job.request->limit_ms);
	if (!memory)
		return -ENOMEM;
	job.memory = memory;
	r = task_snapshot_init(&job.snapshot);
	if (r == 0)
		r = sigbus_run(read_tasks, &job);
	if (r == 0)
		r = send_snapshot(call, &job.snapshot);
	task_snapshot_fini(&job.snapshot);
	return r;
}
