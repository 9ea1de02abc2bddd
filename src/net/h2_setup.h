/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A session of nghttp2 with the settings of this server. Internal to h2_session.c. */
#include <nghttp2/nghttp2.h>

enum { H2_MAX_HEADER_BYTES = 32 * 1024 }; /* of a request */

struct h2_callbacks {
	nghttp2_on_begin_headers_callback begin_headers;
	nghttp2_on_header_callback header;
	nghttp2_on_frame_recv_callback frame;
	nghttp2_on_data_chunk_recv_callback data;
	nghttp2_on_stream_close_callback close;
};

/*
 * Creates a session whose settings will be the first bytes that it sends. The caller frees *@out
 * also after a failure. Returns 0 or -ENOMEM.
 */
int h2_setup(nghttp2_session **out, const struct h2_callbacks *on, void *ctx);
