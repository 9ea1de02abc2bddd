/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/lang_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "proc/user.h"
#include "reader/lang_memory.h"
#include "reader/lang_message.h"
#include "reader/reader.h"
#include "reader/side_path.h"
#include "roles/pool.h"

enum {
	READERS_HUNG_MAX = 8, /* beyond, readers that hang in the kernel are not replaced */
	READERS_HUNG_BY_USER_MAX = 2,
	TRIES = 3, /* how often a file is read if its readers are killed */
	IDLE_S = 30,
	LOSS_SHARE = 20,    /* unknown processes may cost this fraction (1/N) of the time */
	LOSS_MAX_MS = 1000, /* and at most this much at once */
	/* answers that begin before LONG_STREAM_MAX is reached, and the last one */
	STREAM_MAX = LANG_STREAM_MAX + LANG_LINES_MAX + 4 * LANG_TEXT_MAX,
};

struct request {
	struct lang_ask_request head;
	union {
		struct lang_vm vms[LANG_VMS_MAX];
		uint8_t bytes[ROLE_BODY_MAX - sizeof(struct lang_ask_request)];
	};
};

_Static_assert(sizeof(struct lang_ask_request) + LANG_VMS_MAX * sizeof(struct lang_vm) +
			       LANG_QUESTIONS_MAX * sizeof(struct lang_question) <=
		       ROLE_BODY_MAX,
	       "a request fits into a message");
_Static_assert(sizeof(struct lang_detection) <= ROLE_BODY_MAX &&
		       sizeof(struct lang_regions) <= ROLE_BODY_MAX &&
		       sizeof(struct process_context) <= ROLE_BODY_MAX,
	       "replies fit into a message");

struct lang_client {
	struct lang_client_opts opts;
	struct role_pool *pool;
	struct lang_memories memories;
	uint64_t used_ns;    /* when the reader worked last */
	uint64_t lost_ns;    /* time without an answer that unknown processes have cost */
	uint64_t lost_at_ns; /* when that was; since then, lost_ns falls by LOSS_SHARE of time */
	uint64_t waited_ns;  /* in which a reader waited for a CPU, of the last request */
	struct request request;
	struct buf stream; /* of answers */
	/* The file that the reader needs with the next request. */
	bool wants_file;
	struct lang_side_file side_file;
	int side_fd; /* -1: it is missing */
};

int lang_client_new(struct lang_client **out, const struct lang_client_opts *opts, struct err *err)
{
	const struct role_pool_opts pool = {
		.max_children = 1,
		.max_abandoned = READERS_HUNG_MAX,
		.max_abandoned_by_owner = READERS_HUNG_BY_USER_MAX,
		.memory_bytes = opts->reader_bytes,
	};
	_cleanup_(lang_client_freep) struct lang_client *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->opts = *opts;
	c->side_fd = -1;
	lang_memories_init(&c->memories);
	r = role_pool_new(&c->pool, &reader_role, &pool, err);
	if (r < 0)
		return r;
	c->used_ns = clock_monotonic_ns();
	*out = steal_ptr(&c);
	return 0;
}

void lang_client_free(struct lang_client *c)
{
	if (!c)
		return;
	role_pool_free(c->pool);
	lang_memories_fini(&c->memories);
	buf_fini(&c->stream);
	free(c);
}

void lang_client_upkeep(struct lang_client *c)
{
	if (clock_monotonic_ns() - c->used_ns >= IDLE_S * (uint64_t)CLOCK_SECOND_NS)
		lang_client_stop_idle(c);
}

void lang_client_stop_idle(struct lang_client *c)
{
	role_pool_stop_idle(c->pool);
}

void lang_client_counters(const struct lang_client *c, struct role_counters *out)
{
	role_pool_counters(c->pool, out);
}

pid_t lang_client_pid(const struct lang_client *c)
{
	return role_pool_pid(c->pool);
}

/* ---- the time that is lost ------------------------------------------------------------------ */

/*
 * The time that was lost is a debt, which is paid back with LOSS_SHARE of the time since then. A
 * process that has answered before is exempt: the pool refuses it for growing intervals after its
 * own failures.
 */
static void pay_back(struct lang_client *c, uint64_t now_ns)
{
	uint64_t paid = (now_ns - c->lost_at_ns) / LOSS_SHARE;

	c->lost_ns = c->lost_ns > paid ? c->lost_ns - paid : 0;
	c->lost_at_ns = now_ns;
}

/* Returns true if a process that no reader has read before has to wait. */
static bool must_wait(struct lang_client *c, const struct lang_memory *m)
{
	pay_back(c, clock_monotonic_ns());
	return !m->has_answered && c->lost_ns > LOSS_MAX_MS * CLOCK_MS_NS;
}

/* ---- processes ------------------------------------------------------------------------------ */

/*
 * Calls a reader for the process @p, whose memory is @request->fds[0], and waits. Return: as
 * role_pool_call().
 */
static int call_for(struct lang_client *c, const struct lang_process *p,
		    struct role_request *request, struct role_exchange **out)
{
	struct lang_memory *m = lang_memories_get(&c->memories, p);
	uint64_t began_ns = clock_monotonic_ns(), took_ns;
	int fds[2], r;

	*out = NULL;
	if (!m)
		return -ESRCH;
	if (must_wait(c, m))
		return -ETIME;
	fds[0] = m->fd;
	fds[1] = c->side_fd;
	request->fds = fds;
	request->n_fds = c->side_fd >= 0 ? 2 : 1;
	request->timeout_ms = c->opts.timeout_ms;
	request->is_urgent = true;
	request->waited_ns = &c->waited_ns;
	/* the program is charged, so a later one with the same pid is not refused for it */
	request->owner = proc_user_of(p->pid);
	request->payers[0] = p->start_ns ^ (uint64_t)p->pid << 40 ^ p->pid;
	c->waited_ns = 0;
	r = role_pool_call(c->pool, request, out);
	c->used_ns = clock_monotonic_ns();
	took_ns = c->used_ns - began_ns;
	if (r == 0)
		m->has_answered = true;
	else if (!m->has_answered)
		c->lost_ns += took_ns > c->waited_ns ? took_ns - c->waited_ns : 0;
	return r;
}

static struct lang_process_id id_of(const struct lang_process *p)
{
	return (struct lang_process_id){ .start_ns = p->start_ns, .pid = p->pid };
}

static void fill_vm(struct lang_vm *v, const struct vm_tables *tables, uint32_t vm,
		    uint32_t file_vm, uint64_t bias)
{
	size_t len;
	const void *entry = lang_entry(tables, tables->codes[vm].lang, vm, &len);

	memset(v, 0, sizeof(*v));
	v->vm = vm;
	v->file_vm = file_vm ? file_vm : vm;
	v->bias = bias;
	v->code = tables->codes[vm];
	if (entry)
		memcpy(&v->entry, entry, len);
}

/* ---- questions ------------------------------------------------------------------------------ */

/* Adds the entry of @vm to the request, unless it is there. Returns false if there is no room. */
static bool add_vm(struct request *q, const struct lang_batch *b, uint32_t vm)
{
	const struct lang_process *p = b->process;
	uint32_t file_vm = b->file_vms[vm] ? b->file_vms[vm] : vm;

	for (uint32_t i = 0; i < q->head.n_vms; i++)
		if (q->vms[i].vm == vm)
			return true;
	if (q->head.n_vms == LANG_VMS_MAX)
		return false;
	fill_vm(&q->vms[q->head.n_vms++], b->tables, vm, file_vm,
		p->bias ? p->bias(p->ctx, file_vm) : 0);
	return true;
}

/* Makes a request of the questions from @first on. Returns its length in bytes. */
static size_t make_request(struct request *q, const struct lang_batch *b, size_t first)
{
	size_t n = 0, at;

	q->head = (struct lang_ask_request){
		.process = id_of(b->process),
		.signatures = b->process->signatures,
	};
	while (n < LANG_QUESTIONS_MAX && first + n < b->n &&
	       add_vm(q, b, VM_FRAME_INDEX(b->questions[first + n].words[0])))
		n++;
	at = q->head.n_vms * sizeof(struct lang_vm);
	memcpy(q->bytes + at, b->questions + first, n * sizeof(b->questions[0]));
	q->head.n = (uint32_t)n;
	return sizeof(q->head) + at + n * sizeof(b->questions[0]);
}

/*
 * Collects the stream of answers, whose parts may end anywhere. STREAM_MAX bounds the memory that a
 * compromised reader can make this process use.
 */
static int on_part(void *ctx, uint32_t kind, const void *data, size_t len)
{
	struct lang_client *c = ctx;

	(void)kind;
	if (c->stream.len + len > STREAM_MAX)
		return -EBADMSG;
	buf_put(&c->stream, data, len);
	return buf_error(&c->stream);
}

/*
 * Passes the answers on. Return: 0 and their number; -EBADMSG if a reader that works as intended
 * would not have sent this; -ENOMEM.
 */
static int take_answers(struct lang_client *c, const struct role_reply *reply,
			const struct lang_batch *b, size_t first, size_t *out_n)
{
	const uint8_t *at = c->stream.data;
	size_t left = c->stream.len;
	struct lang_ask_reply r;
	struct lang_answer a;
	int e = 1;

	if (reply->result < 0)
		return reply->result == -ENOMEM ? -ENOMEM : -EBADMSG;
	if (reply->len != sizeof(r))
		return -EBADMSG;
	memcpy(&r, reply->data, sizeof(r));
	if ((!r.n && !r.wants_file) || r.n > c->request.head.n)
		return -EBADMSG;
	if (r.wants_file && (!lang_side_file_is_valid(&r.side_file) || r.n == c->request.head.n))
		return -EBADMSG;
	c->wants_file = r.wants_file;
	c->side_file = r.side_file;
	for (uint32_t i = 0; i < r.n; i++) {
		e = lang_answer_next(&at, &left, i, b->questions[first + i].kind, &a);
		if (e <= 0)
			return e < 0 ? e : -EBADMSG;
		b->answer(b->ctx, first + i, &a);
		lang_function_fini(&a.function);
		*out_n = i + 1;
	}
	return left ? -EBADMSG : 0;
}

/* Sends the questions from @first on. Returns how many were answered. */
static size_t ask_some(struct lang_client *c, const struct lang_batch *b, size_t first)
{
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	struct role_request request = {
		.kind = READER_LANG_ASK,
		.data = &c->request,
		.len = make_request(&c->request, b, first),
		.part = on_part,
		.ctx = c,
	};
	size_t n = 0;

	c->request.head.has_side_file = c->wants_file;
	c->request.head.side_file = c->side_file;
	c->side_fd = c->wants_file ? side_path_open(b->process, &c->side_file) : -1;
	c->wants_file = false;
	buf_fini(&c->stream);
	if (call_for(c, b->process, &request, &x) == 0 &&
	    take_answers(c, role_exchange_reply(x), b, first, &n) == -EBADMSG)
		role_exchange_reject(x);
	closep(&c->side_fd);
	c->side_fd = -1;
	return n;
}

/*
 * A request has a limit of questions, and a reader stops after a while or for a file, so one batch
 * may take several requests. It ends early if a request yields neither an answer nor a file that is
 * needed. A question needs one file.
 */
static size_t ask(void *ctx, const struct lang_batch *b)
{
	struct lang_client *c = ctx;
	size_t n = 0, got;
	bool had_file;

	c->wants_file = false;
	do {
		had_file = c->wants_file;
		got = ask_some(c, b, n);
		n += got;
	} while ((got || (c->wants_file && !had_file)) && n < b->n);
	return n;
}

/* ---- generated code ------------------------------------------------------------------------- */

/* A failure of the reader is reported as -EAGAIN, so the process is read again later. */
static void find_regions(void *ctx, const struct vm_tables *tables, uint32_t vm, uint64_t bias,
			 const struct lang_process *p, struct lang_regions *out)
{
	struct lang_client *c = ctx;
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	struct lang_regions_request q = { .process = id_of(p) };
	struct role_request request = {
		.kind = READER_LANG_REGIONS,
		.data = &q,
		.len = sizeof(q),
	};
	const struct role_reply *reply;

	memset(out, 0, sizeof(*out));
	out->result = -EAGAIN;
	fill_vm(&q.vm, tables, vm, vm, bias);
	if (call_for(c, p, &request, &x) < 0)
		return;
	reply = role_exchange_reply(x);
	if (reply->result == 0 && reply->len == sizeof(*out) &&
	    lang_regions_check(reply->data, q.vm.code.lang) == 0)
		memcpy(out, reply->data, sizeof(*out));
	else
		role_exchange_reject(x);
}

/* ---- process contexts ----------------------------------------------------------------------- */

static void read_context(void *ctx, const struct lang_process *p, uint64_t at,
			 struct process_context *out)
{
	struct lang_client *c = ctx;
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	struct lang_context_request q = { .process = id_of(p), .at = at };
	struct role_request request = {
		.kind = READER_LANG_CONTEXT,
		.data = &q,
		.len = sizeof(q),
	};
	const struct role_reply *reply;

	memset(out, 0, sizeof(*out));
	out->result = -EAGAIN;
	if (call_for(c, p, &request, &x) < 0)
		return;
	reply = role_exchange_reply(x);
	if (reply->result == 0 && reply->len == sizeof(*out) &&
	    process_context_check(reply->data) == 0)
		memcpy(out, reply->data, sizeof(*out));
	else
		role_exchange_reject(x);
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Return: 0 and *@out; -EBADMSG if a reader that works as intended would not send this; -errno. */
static int take_detection(const struct role_reply *reply, struct lang_detection *out)
{
	if (reply->result < 0)
		return reply->result;
	if (reply->len != sizeof(*out) || lang_detection_check(reply->data) < 0)
		return -EBADMSG;
	memcpy(out, reply->data, sizeof(*out));
	return 0;
}

/*
 * A reader may be killed for reasons that have nothing to do with the file, so the file is read up
 * to TRIES times before that counts as its failure.
 */
static void detect(void *ctx, int fd, bool fold, struct lang_detection *out)
{
	struct lang_client *c = ctx;
	const struct lang_detect_request q = { .fold = fold };
	const struct role_request request = {
		.kind = READER_LANG_DETECT,
		.data = &q,
		.len = sizeof(q),
		.fds = &fd,
		.n_fds = 1,
		.timeout_ms = c->opts.detect_ms,
		.is_urgent = true,
	};
	struct role_exchange *x = NULL;
	int r = -EPIPE;

	memset(out, 0, sizeof(*out));
	for (int i = 0; i < TRIES && r == -EPIPE; i++)
		r = role_pool_call(c->pool, &request, &x);
	c->used_ns = clock_monotonic_ns();
	if (r == 0)
		r = take_detection(role_exchange_reply(x), out);
	if (r == -EBADMSG && x)
		role_exchange_reject(x);
	role_exchange_end(x);
	if (r < 0)
		out->result = r;
}

void lang_client_source(struct lang_client *c, struct lang_source *out)
{
	*out = (struct lang_source){
		.ask = ask,
		.detect = detect,
		.find_regions = find_regions,
		.read_context = read_context,
		.ctx = c,
	};
}
