/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parent keeps the VM tables and sends the entries that a job needs. The memory of the process
 * is a descriptor of /proc/PID/mem, which belongs to one program: after an exec it has no contents.
 */
#include "reader/lang_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sigbus.h"
#include "elf/image.h"
#include "lang/memo.h"
#include "lang/vm_memory.h"
#include "reader/lang_message.h"
#include "reader/side_files.h"
#include "roles/role.h"

enum { ENOUGH_NS = 100000000 }; /* answers that come later belong to the next request */

struct state {
	struct lang_memo *memo;
	struct vm_memory vms;
	struct side_files files;
};

/* The process that a job reads. */
struct target {
	int fd;
	const struct lang_vm *vms;
	uint32_t n_vms;
	const struct lang_process_id *id;
	struct side_files *files;
	/* The file that a question needs before it can be answered. */
	struct lang_side_file wanted;
	bool wants_file;
};

int reader_lang_init(size_t memory_bytes, void **out_state)
{
	struct state *s = calloc(1, sizeof(*s));
	int r = s ? lang_memo_new(&s->memo) : -ENOMEM;

	(void)memory_bytes;
	if (r < 0) {
		free(s);
		return r;
	}
	vm_memory_init(&s->vms);
	*out_state = s;
	return 0;
}

/* Offsets are signed, so addresses in the upper half, such as the vsyscall page, cannot be read. */
static int read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	const struct target *t = ctx;
	ssize_t n;

	if (addr > INT64_MAX)
		return -EFAULT;
	do
		n = pread(t->fd, dst, len, (off_t)addr);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (size_t)n == len ? 0 : -EFAULT;
}

static uint64_t bias_of(void *ctx, uint32_t vm)
{
	const struct target *t = ctx;

	for (uint32_t i = 0; i < t->n_vms; i++)
		if (t->vms[i].file_vm == vm)
			return t->vms[i].bias;
	return 0;
}

/* Copies the entries of a request to the tables. */
static void use_vms(struct state *s, const struct lang_vm *vms, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		size_t len;
		void *entry = lang_entry(&s->vms.tables, vms[i].code.lang, vms[i].vm, &len);

		memcpy(entry, &vms[i].entry, len);
		s->vms.codes[vms[i].vm] = vms[i].code;
	}
}

static int side_file(void *ctx, const struct lang_side_file *file)
{
	struct target *t = ctx;
	int fd = lang_side_file_is_valid(file) ? side_files_find(t->files, t->id, file) : -ENOENT;

	if (fd == -EAGAIN) {
		t->wanted = *file;
		t->wants_file = true;
	}
	return fd;
}

static struct lang_process process_of(struct target *t, const struct lang_process_id *id,
				      struct state *s)
{
	return (struct lang_process){
		.pid = id->pid,
		.start_ns = id->start_ns,
		.read = read_memory,
		.bias = bias_of,
		.ctx = t,
		.memo = s->memo,
	};
}

/* ---- questions ------------------------------------------------------------------------------ */

/* Sends the bytes of the buffer as PARTs, and empties it. */
static int flush(struct role_call *call, struct buf *b)
{
	int r = buf_error(b) ? -ENOMEM : 0;

	for (size_t at = 0; at < b->len && r == 0; at += ROLE_BODY_MAX)
		r = role_call_part(call, 0, b->data + at,
				   b->len - at < ROLE_BODY_MAX ? b->len - at : ROLE_BODY_MAX);
	b->len = 0;
	return r;
}

/* Answers questions until all are answered, one needs a file, or it has taken long. */
static int answer_all(struct role_call *call, const struct lang_ask_request *q,
		      const struct lang_process *p, const struct target *t, uint32_t *out_n)
{
	const struct lang_question *questions = lang_ask_questions(q);
	uint64_t until_ns = clock_monotonic_ns() + ENOUGH_NS;
	struct state *s = call->state;
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct lang_answer a;
	size_t total = 0, before;
	int r = 0;

	for (uint32_t i = 0; i < q->n && r == 0; i++) {
		before = b.len;
		lang_answer(&s->vms.tables, p, &questions[i], &a);
		if (!t->wants_file)
			lang_answer_put(&b, i, &a);
		lang_function_fini(&a.function);
		if (t->wants_file)
			break;
		*out_n = i + 1;
		total += b.len - before;
		if (b.len >= ROLE_BODY_MAX)
			r = flush(call, &b);
		if (total >= LANG_STREAM_MAX || clock_monotonic_ns() >= until_ns)
			break;
	}
	return r < 0 ? r : flush(call, &b);
}

int reader_lang_ask_job(struct role_call *call)
{
	const struct lang_ask_request *q = lang_ask_request_check(call->request, call->request_len);
	struct lang_ask_reply reply = { 0 };
	struct state *s = call->state;
	struct target t = { .fd = call->fds[0], .files = &s->files };
	struct lang_process p;
	int r;

	if (!q || call->n_fds < 1 || call->n_fds > 2)
		return -EINVAL;
	t.id = &q->process;
	if (q->has_side_file)
		side_files_add(&s->files, t.id, &q->side_file,
			       call->n_fds > 1 ? fcntl(call->fds[1], F_DUPFD_CLOEXEC, 0) : -1);
	t.vms = lang_ask_vms(q);
	t.n_vms = q->n_vms;
	use_vms(call->state, t.vms, t.n_vms);
	p = process_of(&t, &q->process, call->state);
	p.signatures = q->signatures;
	p.side_file = side_file;
	r = answer_all(call, q, &p, &t, &reply.n);
	reply.wants_file = t.wants_file;
	reply.side_file = t.wanted;
	memcpy(call->reply, &reply, sizeof(reply));
	call->reply_len = sizeof(reply);
	return r;
}

/* ---- generated code ------------------------------------------------------------------------- */

int reader_lang_regions_job(struct role_call *call)
{
	const struct lang_regions_request *q =
		lang_regions_request_check(call->request, call->request_len);
	struct target t = { .fd = call->fds[0], .n_vms = 1 };
	struct state *s = call->state;
	struct lang_regions reply;
	struct lang_process p;

	if (!q || call->n_fds != 1)
		return -EINVAL;
	t.vms = &q->vm;
	use_vms(s, t.vms, 1);
	p = process_of(&t, &q->process, s);
	lang_find_regions(&s->vms.tables, q->vm.vm, q->vm.bias, &p, &reply);
	memcpy(call->reply, &reply, sizeof(reply));
	call->reply_len = sizeof(reply);
	return 0;
}

/* ---- process contexts ----------------------------------------------------------------------- */

int reader_lang_context_job(struct role_call *call)
{
	const struct lang_context_request *q = call->request;
	struct target t = { .fd = call->fds[0] };
	struct process_context reply;
	struct lang_process p;

	if (call->n_fds != 1)
		return -EINVAL;
	p = process_of(&t, &q->process, call->state);
	process_context_read(&p, q->at, &reply);
	memcpy(call->reply, &reply, sizeof(reply));
	call->reply_len = sizeof(reply);
	return 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

struct detect_job {
	int fd;
	bool fold;
	struct lang_detection out;
};

/* Runs under sigbus_run(), because a file that is truncated meanwhile raises SIGBUS. */
static int detect(void *ctx)
{
	struct detect_job *job = ctx;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	int r = elf_image_open(&img, job->fd, NULL);

	if (r == 0)
		lang_detect(img, job->fold, &job->out);
	return r;
}

int reader_lang_detect_job(struct role_call *call)
{
	const struct lang_detect_request *q = call->request;
	struct detect_job job = { .fd = call->fds[0], .fold = q->fold };
	int r;

	if (call->n_fds != 1)
		return -EINVAL;
	r = sigbus_run(detect, &job);
	if (r < 0)
		return r;
	memcpy(call->reply, &job.out, sizeof(job.out));
	call->reply_len = sizeof(job.out);
	return 0;
}
