/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Bytes of HTTP/2 that a client sends, and the paths of methods, for the targets that need both. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

static inline void http2_frame(struct buf *b, uint8_t type, uint8_t flags, uint32_t stream,
			       const void *payload, size_t len)
{
	const uint8_t head[9] = {
		(uint8_t)(len >> 16),   (uint8_t)(len >> 8), (uint8_t)len, type, flags, 0, 0,
		(uint8_t)(stream >> 8), (uint8_t)stream,
	};

	buf_put(b, head, sizeof(head));
	buf_put(b, payload, len);
}

/* HPACK's literal without indexing and without compression (RFC 7541, 6.2.2). */
static inline void http2_header(struct buf *b, const char *name, const char *value)
{
	buf_put_byte(b, 0);
	buf_put_byte(b, (uint8_t)strlen(name));
	buf_put(b, name, strlen(name));
	buf_put_byte(b, (uint8_t)strlen(value));
	buf_put(b, value, strlen(value));
}

static inline void http2_preface(struct buf *b)
{
	buf_put(b, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
}

/* A path of a method, chosen by a byte of the input. */
static inline const char *http2_path(uint8_t choice)
{
	static const char *const paths[] = {
		"/push.v1.PusherService/Push",
		"/ingest?name=a&format=folded&from=1795200000",
		"/v1development/profiles",
		"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
		"/querier.v1.QuerierService/SelectMergeStacktraces",
		"/querier.v1.QuerierService/SelectSeries",
		"/querier.v1.QuerierService/LabelNames",
		"/querier.v1.QuerierService/ProfileTypes",
	};

	return paths[choice % (sizeof(paths) / sizeof(paths[0]))];
}
