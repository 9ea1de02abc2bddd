/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes and decodes packets. Integers have fixed sizes and host byte order,
 * since both sides run the same binary. A string is a 16-bit length, its bytes
 * and a NUL, so readers can use it in place.
 */
#include "symbol/protocol.h"

#include <errno.h>
#include <string.h>

#include "dwarf/dwarf_cursor.h"

static void put_u16(struct buf *b, uint16_t v)
{
	buf_put(b, &v, sizeof(v));
}

static void put_u32(struct buf *b, uint32_t v)
{
	buf_put(b, &v, sizeof(v));
}

static void put_u64(struct buf *b, uint64_t v)
{
	buf_put(b, &v, sizeof(v));
}

static void put_string(struct buf *b, const char *s)
{
	size_t len = strnlen(s, PROTOCOL_STRING_MAX);

	put_u16(b, (uint16_t)len);
	buf_put(b, s, len);
	buf_put_byte(b, '\0');
}

static void put_header(struct buf *b, enum protocol_type type, uint32_t seq)
{
	put_u32(b, type);
	put_u32(b, seq);
}

void protocol_put_hello(struct buf *b, const char *text)
{
	put_header(b, PROTOCOL_HELLO, 0);
	put_string(b, text);
}

void protocol_put_request(struct buf *b, uint32_t seq, uint64_t key, const uint64_t *addrs,
			  size_t n)
{
	put_header(b, PROTOCOL_REQUEST, seq);
	put_u64(b, key);
	put_u32(b, (uint32_t)n);
	buf_put(b, addrs, n * sizeof(*addrs));
}

void protocol_put_need(struct buf *b, uint32_t seq, const struct protocol_need *need)
{
	size_t id_len = need->id_len > PROTOCOL_ID_MAX ? PROTOCOL_ID_MAX : need->id_len;

	put_header(b, PROTOCOL_NEED, seq);
	put_u32(b, need->kind);
	put_string(b, need->name);
	put_string(b, need->dir);
	put_u16(b, (uint16_t)id_len);
	buf_put(b, need->id, id_len);
}

void protocol_put_result(struct buf *b, enum protocol_type type, uint32_t seq, int32_t result)
{
	put_header(b, type, seq);
	put_u32(b, (uint32_t)result);
}

void protocol_put_response_header(struct buf *b, uint32_t seq)
{
	put_header(b, PROTOCOL_RESPONSE, seq);
}

static void put_frame(struct buf *b, const struct protocol_frame *f)
{
	put_u32(b, f->line);
	put_u32(b, f->start_line);
	put_u32(b, f->lang);
	put_string(b, f->name);
	put_string(b, f->linkage);
	put_string(b, f->file);
}

/* The number of frames is written last, because it depends on how many fit. */
void protocol_put_response(struct buf *b, uint32_t index, const struct protocol_frame *frames,
			   size_t n)
{
	enum { FRAME_MAX = 3 * (PROTOCOL_STRING_MAX + 3) + 12 };
	size_t n_at = b->len + sizeof(uint32_t), start = b->len;
	uint16_t n_put = 0;

	put_u32(b, index);
	put_u16(b, 0);
	for (; n_put < n && n_put < PROTOCOL_FRAMES_MAX; n_put++) {
		/* Frames that would not fit into one packet are omitted. */
		if (b->len - start > PROTOCOL_PACKET_MAX - FRAME_MAX - 16)
			break;
		put_frame(b, &frames[n_put]);
	}
	if (!buf_error(b))
		memcpy(b->data + n_at, &n_put, sizeof(n_put));
}

/*
 * The other side may be compromised, so the length is checked against the packet, and the text must
 * end exactly there.
 */
static const char *get_string(struct dwarf_cursor *c)
{
	size_t len = dwarf_u16(c);
	const char *s = (const char *)c->p;

	if (c->bad || len > PROTOCOL_STRING_MAX || len >= dwarf_left(c) || memchr(s, 0, len) ||
	    s[len]) {
		dwarf_fail(c);
		return "";
	}
	dwarf_skip(c, len + 1);
	return s;
}

static void parse_request(struct protocol_msg *m, struct dwarf_cursor *c)
{
	m->key = dwarf_u64(c);
	m->n_addrs = dwarf_u32(c);
	m->addrs = c->p;
	if (m->n_addrs > PROTOCOL_ADDRS_MAX)
		dwarf_fail(c);
	else
		dwarf_skip(c, m->n_addrs * sizeof(uint64_t));
}

static void parse_need(struct protocol_msg *m, struct dwarf_cursor *c)
{
	uint32_t kind = dwarf_u32(c);

	if (kind >= PROTOCOL_NEED_MAX)
		dwarf_fail(c);
	m->need.kind = (enum protocol_need_kind)kind;
	m->need.name = get_string(c);
	m->need.dir = get_string(c);
	m->need.id_len = dwarf_u16(c);
	m->need.id = c->p;
	if (m->need.id_len > PROTOCOL_ID_MAX)
		dwarf_fail(c);
	dwarf_skip(c, m->need.id_len);
}

static void parse_body(struct protocol_msg *m, struct dwarf_cursor *c)
{
	switch (m->type) {
	case PROTOCOL_HELLO:
		m->text = get_string(c);
		break;
	case PROTOCOL_REQUEST:
		parse_request(m, c);
		break;
	case PROTOCOL_NEED:
		parse_need(m, c);
		break;
	case PROTOCOL_FILE:
	case PROTOCOL_DONE:
		m->result = (int32_t)dwarf_u32(c);
		break;
	case PROTOCOL_RESPONSE:
		m->response = c->p;
		m->response_len = dwarf_left(c);
		c->p = c->end;
		break;
	default:
		dwarf_fail(c);
	}
}

/* A packet must contain exactly one message. *@out is written only if it is valid. */
int protocol_parse(struct protocol_msg *out, const void *data, size_t len)
{
	struct dwarf_cursor c = { .p = data, .end = (const uint8_t *)data + len };
	struct protocol_msg m = { 0 };

	if (len > PROTOCOL_PACKET_MAX)
		return -EBADMSG;
	m.type = (enum protocol_type)dwarf_u32(&c);
	m.seq = dwarf_u32(&c);
	parse_body(&m, &c);
	if (c.bad || c.p != c.end)
		return -EBADMSG;
	*out = m;
	return 0;
}

/* Copied, because the addresses in a packet are not aligned. */
uint64_t protocol_addr(const struct protocol_msg *m, size_t i)
{
	uint64_t v;

	memcpy(&v, m->addrs + i * sizeof(v), sizeof(v));
	return v;
}

/* The strings point into the packet and become invalid with it. */
int protocol_next_response(struct protocol_msg *m, uint32_t *out_index, struct protocol_frame *out)
{
	struct dwarf_cursor c = { .p = m->response, .end = m->response + m->response_len };
	size_t n;

	if (!m->response_len)
		return 0;
	*out_index = dwarf_u32(&c);
	n = dwarf_u16(&c);
	if (c.bad || !n || n > PROTOCOL_FRAMES_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		out[i].line = dwarf_u32(&c);
		out[i].start_line = dwarf_u32(&c);
		out[i].lang = dwarf_u32(&c);
		out[i].name = get_string(&c);
		out[i].linkage = get_string(&c);
		out[i].file = get_string(&c);
	}
	if (c.bad)
		return -EBADMSG;
	m->response = c.p;
	m->response_len = dwarf_left(&c);
	return (int)n;
}
