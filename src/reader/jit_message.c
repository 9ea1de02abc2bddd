/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/jit_message.h"

#include <errno.h>
#include <string.h>

#include "symbol/jit_places.h"

/* The fixed part of a function in a PART; the name and the file follow, without terminators. */
struct head {
	uint32_t index, line;
	uint16_t name_len, file_len;
};

const uint64_t *jit_request_check(const void *data, size_t len)
{
	const struct jit_request *q = data;

	if (len < sizeof(*q) || q->n > JIT_ADDRS_MAX || len - sizeof(*q) != q->n * sizeof(uint64_t))
		return NULL;
	if ((q->format != JIT_PERF_MAP && q->format != JIT_DUMP) || q->from > q->end)
		return NULL;
	return (const uint64_t *)(q + 1);
}

size_t jit_found_len(const struct jit_found *f)
{
	return sizeof(struct head) + f->name_len + f->file_len;
}

void jit_found_put(struct buf *b, const struct jit_found *f)
{
	const struct head h = { f->index, f->line, (uint16_t)f->name_len, (uint16_t)f->file_len };

	buf_put(b, &h, sizeof(h));
	buf_put(b, f->name, f->name_len);
	buf_put(b, f->file, f->file_len);
}

int jit_found_next(const uint8_t **data, size_t *len, uint32_t n, struct jit_found *out)
{
	struct head h;
	const char *text = (const char *)*data + sizeof(h);

	if (!*len)
		return 0;
	if (*len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, *data, sizeof(h));
	if (h.index >= n || !h.name_len || h.name_len > JIT_NAME_MAX || h.file_len > JIT_NAME_MAX ||
	    *len - sizeof(h) < (size_t)h.name_len + h.file_len)
		return -EBADMSG;
	if (memchr(text, 0, (size_t)h.name_len + h.file_len))
		return -EBADMSG;
	*out = (struct jit_found){
		.index = h.index,
		.line = h.line,
		.name = text,
		.file = text + h.name_len,
		.name_len = h.name_len,
		.file_len = h.file_len,
	};
	*data += jit_found_len(out);
	*len -= jit_found_len(out);
	return 1;
}
