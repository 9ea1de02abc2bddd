/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of 1 MiB per stream and 8 MiB per connection let an agent send a window of profiles
 * without waiting for a round trip. nghttp2 extends them as data arrives, since a body is complete
 * in memory before it is handled; max_body and max_memory are what bounds it.
 */
#include "net/h2_setup.h"

#include <errno.h>

enum { MAX_STREAMS = 128, STREAM_WINDOW = 1 << 20, SESSION_WINDOW = 8 << 20 };

static void set_callbacks(nghttp2_session_callbacks *cb, const struct h2_callbacks *on)
{
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on->begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(cb, on->header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on->frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on->data);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on->close);
}

static int create(nghttp2_session **out, const struct h2_callbacks *on, void *ctx)
{
	nghttp2_session_callbacks *cb = NULL;
	nghttp2_option *option = NULL;
	int r = nghttp2_session_callbacks_new(&cb);

	if (r == 0)
		r = nghttp2_option_new(&option);
	if (r == 0) {
		set_callbacks(cb, on);
		/* nghttp2 would retain closed streams for priorities, which are not used */
		nghttp2_option_set_no_closed_streams(option, 1);
		r = nghttp2_session_server_new2(out, cb, ctx, option);
	}
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(cb);
	return r;
}

int h2_setup(nghttp2_session **out, const struct h2_callbacks *on, void *ctx)
{
	static const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, MAX_STREAMS },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, H2_MAX_HEADER_BYTES },
	};

	if (create(out, on, ctx) != 0 ||
	    nghttp2_submit_settings(*out, NGHTTP2_FLAG_NONE, settings,
				    sizeof(settings) / sizeof(settings[0])) != 0 ||
	    nghttp2_session_set_local_window_size(*out, NGHTTP2_FLAG_NONE, 0, SESSION_WINDOW) != 0)
		return -ENOMEM;
	return 0;
}
