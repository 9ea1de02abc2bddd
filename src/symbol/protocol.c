/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Integers have host byte order, since both sides run the same binary. A string is a 16-bit length,
 * its bytes and a NUL, so readers can use it in place.
 */
#include "symbol/protocol.h"

#include <errno.h>
#include <string.h>

#include "dwarf/dwarf_cursor.h"
#include "roles/message.h"
#include "symbol/demangle.h"

_Static_assert(sizeof(struct protocol_request) <= ROLE_BODY_MAX, "a request is one message");
_Static_assert(sizeof(struct protocol_facts) <= ROLE_BODY_MAX, "facts are one message");
_Static_assert(PROTOCOL_NAME_MAX + PROTOCOL_SYSTEM_NAME_MAX + PROTOCOL_PATH_MAX + 100 <=
		       ROLE_BODY_MAX,
	       "a frame fits into a part");

/* ---- structures ------------------------------------------------------------------ */

size_t protocol_request_len(size_t n)
{
	return offsetof(struct protocol_request, addrs) + n * sizeof(uint64_t);
}

const struct protocol_request *protocol_check_request(const void *data, size_t len)
{
	const struct protocol_request *q = data;

	if (len < protocol_request_len(0) || q->config.n_addrs > PROTOCOL_ADDRS_MAX ||
	    len != protocol_request_len(q->config.n_addrs))
		return NULL;
	return q->config.demangle <= DEMANGLE_NO && !(q->config.flags & ~PROTOCOL_FLAGS_ALL) ? q
											     : NULL;
}

/* @s came from another process, so its bool may be neither true nor false. */
static bool is_valid(const struct elf_segment *s)
{
	const uint8_t *exec = (const uint8_t *)s + offsetof(struct elf_segment, exec);

	return *exec <= 1 && s->memsz <= UINT64_MAX - s->vaddr &&
	       s->filesz <= UINT64_MAX - s->file_off;
}

const struct protocol_facts *protocol_check_facts(const void *data, size_t len)
{
	const struct protocol_facts *f = data;

	if (len != sizeof(*f) || f->is_elf > 1 || f->n_segments > ELF_SEGMENTS_MAX ||
	    f->build_id.len > ELF_BUILD_ID_MAX)
		return NULL;
	for (uint32_t i = 0; i < f->n_segments; i++)
		if (!is_valid(&f->segments[i]))
			return NULL;
	return f;
}

const struct protocol_done *protocol_check_done(const void *data, size_t len, size_t n_fds)
{
	const struct protocol_done *d = data;

	if (len != sizeof(*d) || d->n_tables > PROTOCOL_TABLES_MAX || d->n_tables != n_fds)
		return NULL;
	for (uint32_t i = 0; i < d->n_tables; i++)
		if (!memchr(d->tables[i], 0, sizeof(d->tables[i])))
			return NULL;
	return d;
}

/* ---- strings --------------------------------------------------------------------- */

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

static void put_string(struct buf *b, const char *s, size_t max)
{
	size_t len = strnlen(s, max);

	put_u16(b, (uint16_t)len);
	buf_put(b, s, len);
	buf_put_byte(b, '\0');
}

/*
 * The other side may be compromised, so the length is checked against the packet, and the NUL must
 * be exactly where the length says.
 */
static const char *get_string(struct dwarf_cursor *c, size_t max)
{
	size_t len = dwarf_u16(c);
	const char *s = (const char *)c->p;

	if (c->bad || len > max || len >= dwarf_left(c) || memchr(s, 0, len) || s[len]) {
		dwarf_fail(c);
		return "";
	}
	dwarf_skip(c, len + 1);
	return s;
}

/* ---- questions ------------------------------------------------------------------- */

void protocol_put_need(struct buf *b, const struct protocol_need *need)
{
	size_t id_len = need->id_len > PROTOCOL_ID_MAX ? PROTOCOL_ID_MAX : need->id_len;

	put_u32(b, need->attempt);
	put_string(b, need->name, PROTOCOL_PATH_MAX);
	put_string(b, need->dir, PROTOCOL_PATH_MAX);
	put_u16(b, (uint16_t)id_len);
	buf_put(b, need->id, id_len);
}

int protocol_parse_need(struct protocol_need *out, uint32_t kind, const void *data, size_t len)
{
	struct dwarf_cursor c = { .p = data, .end = (const uint8_t *)data + len };

	if (!kind || kind >= PROTOCOL_NEED_MAX)
		return -EBADMSG;
	out->kind = (enum protocol_need_kind)kind;
	out->attempt = dwarf_u32(&c);
	out->name = get_string(&c, PROTOCOL_PATH_MAX);
	out->dir = get_string(&c, PROTOCOL_PATH_MAX);
	out->id_len = dwarf_u16(&c);
	out->id = c.p;
	if (out->id_len > PROTOCOL_ID_MAX)
		dwarf_fail(&c);
	dwarf_skip(&c, out->id_len);
	return c.bad || c.p != c.end ? -EBADMSG : 0;
}

/* ---- frames ---------------------------------------------------------------------- */

static void put_frame(struct buf *b, const struct protocol_frame *f)
{
	put_u32(b, f->line);
	put_u32(b, f->start_line);
	put_u16(b, f->discriminator);
	put_u16(b, f->md5 ? PROTOCOL_MD5_LEN : 0);
	if (f->md5)
		buf_put(b, f->md5, PROTOCOL_MD5_LEN);
	put_string(b, f->name, PROTOCOL_NAME_MAX);
	put_string(b, f->system_name, PROTOCOL_SYSTEM_NAME_MAX);
	put_string(b, f->file, PROTOCOL_PATH_MAX);
}

/* The number of frames is written last, because it depends on how many fit. */
bool protocol_put_response(struct buf *b, const struct protocol_response *r)
{
	size_t begin = b->len, n_at = begin + 2 * sizeof(uint32_t) + sizeof(uint64_t);
	uint16_t n = 0;

	put_u32(b, r->index);
	put_u32(b, r->source);
	put_u64(b, r->start);
	put_u16(b, 0);
	for (; n < r->n && n < PROTOCOL_FRAMES_MAX; n++) {
		size_t before = b->len;

		put_frame(b, &r->frames[n]);
		if (b->len <= ROLE_BODY_MAX)
			continue;
		b->len = before; /* the outer frames of a response that is a part by itself */
		break;
	}
	if (b->len > ROLE_BODY_MAX || (n < r->n && n < PROTOCOL_FRAMES_MAX && begin)) {
		b->len = begin;
		return false;
	}
	if (!buf_error(b))
		memcpy(b->data + n_at, &n, sizeof(n));
	return true;
}

/* Returns the bytes in the part, or NULL if there are none. */
static const uint8_t *get_md5(struct dwarf_cursor *c)
{
	uint16_t len = dwarf_u16(c);
	const uint8_t *md5 = c->p;

	if (len && len != PROTOCOL_MD5_LEN)
		dwarf_fail(c);
	dwarf_skip(c, len);
	return len && !c->bad ? md5 : NULL;
}

static void get_frame(struct dwarf_cursor *c, struct protocol_frame *f)
{
	f->line = dwarf_u32(c);
	f->start_line = dwarf_u32(c);
	f->discriminator = dwarf_u16(c);
	f->md5 = get_md5(c);
	f->name = get_string(c, PROTOCOL_NAME_MAX);
	f->system_name = get_string(c, PROTOCOL_SYSTEM_NAME_MAX);
	f->file = get_string(c, PROTOCOL_PATH_MAX);
}

int protocol_next_response(struct protocol_reader *r, struct protocol_response *out)
{
	struct dwarf_cursor c = { .p = r->data, .end = r->data + r->len };

	if (!r->len)
		return 0;
	out->index = dwarf_u32(&c);
	out->source = dwarf_u32(&c);
	out->start = dwarf_u64(&c);
	out->n = dwarf_u16(&c);
	if (c.bad || out->n > PROTOCOL_FRAMES_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < out->n && !c.bad; i++)
		get_frame(&c, &out->frames[i]);
	if (c.bad)
		return -EBADMSG;
	r->data = c.p;
	r->len = dwarf_left(&c);
	return 1;
}
