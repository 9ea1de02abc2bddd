/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child. It confines itself before it reads the first byte, and then
 * answers requests until its socket closes. It has nothing to clean up: it
 * leaves by _exit(), and its parent starts another.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/debuginfod.h"
#include "symbol/sandbox.h"
#include "symbol/worker.h"
#include "symbol/worker_files.h"
#include "symbol/worker_io.h"

enum { REPORT_MAX = 200 };

/* Address space for mapped files beyond the heap: debug files of a browser are 4 GiB. */
#define MAP_LIMIT ((size_t)16 << 30)

struct worker {
	int sock;
	uint32_t seq;
	struct worker_files *files;
	struct buf answers;
	size_t header_len;
	uint8_t packet[PROTOCOL_PACKET_MAX];
	uint8_t request[PROTOCOL_PACKET_MAX];
};

static void leave(void) __attribute__((noreturn));

static void leave(void)
{
	_exit(1);
}

static void send_or_leave(struct worker *w, const struct buf *b)
{
	if (worker_send(w->sock, b, -1) < 0)
		leave();
}

/* Ask the parent for a file and wait for it. */
static int need(void *ctx, const struct protocol_need *n)
{
	struct worker *w = ctx;
	struct buf b = { 0 };
	struct protocol_msg m;
	ssize_t len;
	int fd;

	protocol_put_need(&b, w->seq, n);
	send_or_leave(w, &b);
	buf_fini(&b);
	len = worker_recv(w->sock, w->packet, sizeof(w->packet), &fd);
	if (len <= 0 || protocol_parse(&m, w->packet, (size_t)len) < 0 || m.type != PROTOCOL_GIVE)
		leave();
	if (fd >= 0)
		return fd;
	return m.result < 0 ? m.result : -ENOENT;
}

static void flush(struct worker *w)
{
	if (w->answers.len > w->header_len)
		send_or_leave(w, &w->answers);
	w->answers.len = 0;
	protocol_put_answer_header(&w->answers, w->seq);
	w->header_len = w->answers.len;
}

/* Append an answer; send what there was before it if it does not fit beside. */
static void put_answer(struct worker *w, uint32_t index, const struct protocol_frame *frames,
		       size_t n)
{
	size_t before = w->answers.len;

	protocol_put_answer(&w->answers, index, frames, n);
	if (w->answers.len <= PROTOCOL_PACKET_MAX)
		return;
	w->answers.len = before;
	flush(w);
	protocol_put_answer(&w->answers, index, frames, n);
}

static void answer(struct worker *w, const struct protocol_msg *ask)
{
	struct protocol_frame frames[PROTOCOL_FRAMES_MAX];
	struct buf done = { 0 };
	int r = 0;

	w->seq = ask->seq;
	w->answers.len = w->header_len = 0;
	flush(w);
	for (size_t i = 0; i < ask->n_addrs; i++) {
		r = worker_files_frames(w->files, ask->key, protocol_addr(ask, i), frames,
					PROTOCOL_FRAMES_MAX);
		if (r > 0)
			put_answer(w, (uint32_t)i, frames, (size_t)r);
	}
	flush(w);
	worker_files_rest(w->files);
	protocol_put_result(&done, PROTOCOL_DONE, w->seq, r < 0 ? r : 0);
	send_or_leave(w, &done);
	buf_fini(&done);
}

static void serve(struct worker *w)
{
	for (;;) {
		struct protocol_msg m;
		int fd;
		ssize_t len = worker_recv(w->sock, w->request, sizeof(w->request), &fd);

		if (len <= 0 || fd >= 0 || protocol_parse(&m, w->request, (size_t)len) < 0 ||
		    m.type != PROTOCOL_ASK)
			leave();
		answer(w, &m);
	}
}

void symbol_worker_main(int argc, char **argv)
{
	struct sandbox_opts opts = { .map_bytes = MAP_LIMIT, .keep_fd = WORKER_FD };
	char report[REPORT_MAX] = "";
	struct buf hello = { 0 };
	struct worker *w;

	debuginfod_child_main(argc, argv);
	if (argc != 3 || strcmp(argv[0], WORKER_ARGV0) || strcmp(argv[1], WORKER_MARK))
		return;
	opts.data_bytes = strtoul(argv[2], NULL, 10);
	w = calloc(1, sizeof(*w));
	if (!w || sandbox_enter(&opts, report, sizeof(report)) < 0)
		leave();
	w->sock = WORKER_FD;
	if (worker_files_new(&w->files, opts.data_bytes / 2, need, w) < 0)
		leave();
	protocol_put_hello(&hello, report);
	send_or_leave(w, &hello);
	buf_fini(&hello);
	serve(w);
}
