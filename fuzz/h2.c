/* SPDX-License-Identifier: Apache-2.0 */
/* A client sends arbitrary HTTP/2 bytes in pieces of any size; its requests get no response. */
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "net/h2_session.h"
#include "net/http_work.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void ignore(void *ctx, struct http_request *rq)
{
}

static void feed(struct h2_session *s, const uint8_t *data, size_t len)
{
	const uint8_t *out;

	while (len) {
		size_t n = data[0] + 1u < len ? data[0] + 1u : len;

		if (h2_session_feed(s, data, n) < 0)
			return;
		while (h2_session_take(s, &out) > 0)
			;
		data += n;
		len -= n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	const struct http_peer peer = { 0 };
	const struct http_server_options opt = { .max_body = 1 << 16, .max_memory = 1 << 20 };
	_cleanup_(http_work_closep) struct http_work *work = NULL;
	_cleanup_(h2_session_freep) struct h2_session *s = NULL;

	if (http_work_open(&work, &opt) < 0 ||
	    h2_session_new(&s, work, &peer, ignore, NULL, NULL) < 0)
		return 0;
	if (h2_session_feed(s, preface, strlen(preface)) == 0)
		feed(s, data, len);
	return 0;
}
