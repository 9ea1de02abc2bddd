/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/heap_job.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/sigbus.h"
#include "codec/pprof/pprof.h"
#include "elf/gopclntab.h"
#include "elf/image.h"
#include "lang/heap/golang_heap.h"
#include "lang/heap/golang_heap_layout.h"
#include "lang/tasks/task_memory.h"
#include "profile/profile.h"
#include "reader/heap_message.h"
#include "reader/process_source.h"
#include "roles/role.h"

struct heap_job {
	const struct heap_request *request;
	int program;
	struct task_memory *memory;
	struct profile *profile;
	struct golang_heap_counts counts;
};

/* Runs under sigbus_run(), because a file that is truncated meanwhile raises SIGBUS. */
static int read_heap(void *ctx)
{
	struct heap_job *job = ctx;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(gopclntab_freep) struct gopclntab *table = NULL;
	struct golang_heap_layout layout;
	struct golang_heap_program program = { .layout = &layout };
	int r = process_source_open(job->program, job->request->code_addr, PROCESS_PROGRAM, &img,
				    &program.bias);

	if (r < 0)
		return r == -ENOEXEC ? -ENOENT : r;
	r = gopclntab_open(&table, img, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	program.table = table;
	r = golang_heap_layout_find(img, table, &layout);
	return r < 0 ? r : golang_heap_read(&program, job->memory, job->profile, &job->counts);
}

static int send_profile(struct role_call *call, const struct heap_job *job)
{
	_cleanup_(buf_fini) struct buf b = { .max = HEAP_STREAM_MAX };
	int r = pprof_write(job->profile, &b, NULL);

	if (r == 0)
		r = process_source_send(call, &b, HEAP_STREAM_MAX);
	memcpy(call->reply, &job->counts, sizeof(job->counts));
	call->reply_len = sizeof(job->counts);
	return r;
}

int reader_heap_job(struct role_call *call)
{
	struct heap_job job = { .request = call->request };
	_cleanup_(freep) struct task_memory *memory = NULL;
	int r;

	if (call->n_fds != 2)
		return -EINVAL;
	job.program = call->fds[1];
	job.memory = memory = process_source_memory(&call->fds[0], job.request->limit_ms);
	if (!memory)
		return -ENOMEM;
	r = profile_new(&job.profile);
	if (r == 0)
		r = sigbus_run(read_heap, &job);
	if (r == 0)
		r = send_profile(call, &job);
	profile_free(job.profile);
	return r;
}
