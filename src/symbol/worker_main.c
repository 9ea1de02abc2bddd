/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main loop of the symbol worker, which runs in the child process. It
 * confines itself before it reads the first byte and then processes requests
 * until its socket closes. It needs no cleanup: on any error it calls _exit(),
 * and the parent starts another worker.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "roles/sandbox.h"
#include "symbol/debuginfod.h"
#include "symbol/worker.h"
#include "symbol/worker_files.h"
#include "symbol/worker_io.h"

enum { REPORT_MAX = 200 };

struct worker {
	int sock;
	uint32_t seq;
	struct worker_files *files;
	struct buf response;
	size_t header_len;
	uint8_t packet[PROTOCOL_PACKET_MAX];
	uint8_t request[PROTOCOL_PACKET_MAX];
};

static void exit_worker(void) __attribute__((noreturn));

static void exit_worker(void)
{
	_exit(1);
}

static void send_or_exit(struct worker *w, const struct buf *b)
{
	if (worker_send(w->sock, b, -1) < 0)
		exit_worker();
}

/* Requests a file from the parent and waits for it. Returns its descriptor or -errno. */
static int request_file(void *ctx, const struct protocol_need *n)
{
	struct worker *w = ctx;
	struct buf b = { 0 };
	struct protocol_msg m;
	ssize_t len;
	int fd;

	protocol_put_need(&b, w->seq, n);
	send_or_exit(w, &b);
	buf_fini(&b);
	len = worker_recv(w->sock, w->packet, sizeof(w->packet), &fd);
	if (len <= 0 || protocol_parse(&m, w->packet, (size_t)len) < 0 || m.type != PROTOCOL_FILE)
		exit_worker();
	if (fd >= 0)
		return fd;
	return m.result < 0 ? m.result : -ENOENT;
}

/* Sends what the response contains besides its header, and begins the next packet of it. */
static void flush(struct worker *w)
{
	if (w->response.len > w->header_len)
		send_or_exit(w, &w->response);
	w->response.len = 0;
	protocol_put_response_header(&w->response, w->seq);
	w->header_len = w->response.len;
}

/* Appends the frames of one address. If they do not fit, the packet so far is sent first. */
static void put_response(struct worker *w, uint32_t index, const struct protocol_frame *frames,
			 size_t n)
{
	size_t before = w->response.len;

	protocol_put_response(&w->response, index, frames, n);
	if (w->response.len <= PROTOCOL_PACKET_MAX)
		return;
	w->response.len = before;
	flush(w);
	protocol_put_response(&w->response, index, frames, n);
}

/*
 * Addresses without a result are omitted; the parent matches results by their index. PROTOCOL_DONE
 * ends the response.
 */
static void handle_request(struct worker *w, const struct protocol_msg *request)
{
	struct protocol_frame frames[PROTOCOL_FRAMES_MAX];
	struct buf done = { 0 };
	int r = 0;

	w->seq = request->seq;
	w->response.len = w->header_len = 0;
	flush(w);
	for (size_t i = 0; i < request->n_addrs; i++) {
		r = worker_files_frames(w->files, request->key, protocol_addr(request, i), frames,
					PROTOCOL_FRAMES_MAX);
		if (r > 0)
			put_response(w, (uint32_t)i, frames, (size_t)r);
	}
	flush(w);
	worker_files_release_pages(w->files);
	protocol_put_result(&done, PROTOCOL_DONE, w->seq, r < 0 ? r : 0);
	send_or_exit(w, &done);
	buf_fini(&done);
}

static void serve(struct worker *w)
{
	for (;;) {
		struct protocol_msg m;
		int fd;
		ssize_t len = worker_recv(w->sock, w->request, sizeof(w->request), &fd);

		if (len <= 0 || fd >= 0 || protocol_parse(&m, w->request, (size_t)len) < 0 ||
		    m.type != PROTOCOL_REQUEST)
			exit_worker();
		handle_request(w, &m);
	}
}

/* Called at the beginning of main(). Returns unless this process is a worker. */
void symbol_worker_main(int argc, char **argv)
{
	struct sandbox_opts opts = { .kind = SANDBOX_READER, .keep_fd = WORKER_FD };
	char report[REPORT_MAX] = "";
	struct buf hello = { 0 };
	struct worker *w;

	debuginfod_child_main(argc, argv);
	if (argc != 3 || strcmp(argv[0], WORKER_ARGV0) || strcmp(argv[1], WORKER_MARK))
		return;
	opts.data_bytes = strtoul(argv[2], NULL, 10);
	w = calloc(1, sizeof(*w));
	if (!w || sandbox_enter(&opts, report, sizeof(report)) < 0)
		exit_worker();
	w->sock = WORKER_FD;
	if (worker_files_new(&w->files, opts.data_bytes / 2, request_file, w) < 0)
		exit_worker();
	protocol_put_hello(&hello, report);
	send_or_exit(w, &hello);
	buf_fini(&hello);
	serve(w);
}
