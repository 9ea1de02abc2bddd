/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records are applied in their order. Line numbers (JIT_CODE_DEBUG_INFO) precede the load record of
 * the code that they describe, so the last such record is remembered and read when its code is
 * loaded where somebody needs it.
 *
 * A function that was moved to an address is looked up at the place from which it came. That
 * address is added to the places, which are then computed again from the start of the file, as
 * often as code was moved on, within a limit.
 */
#include "symbol/jitdump.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "symbol/jit_input.h"

enum {
	MAGIC = 0x4a695444,
	HEADER_LEN = 40,
	HEADER_MAX = 4096,
	PREFIX_LEN = 16, /* of a record: id, length, time */
	JIT_CODE_LOAD = 0,
	JIT_CODE_MOVE = 1,
	JIT_CODE_DEBUG_INFO = 2,
	LOAD_LEN = 40,  /* pid, tid, vma, address, size, index; the name and the code follow */
	MOVE_LEN = 48,  /* pid, tid, vma, old address, new address, size, index */
	ENTRY_LEN = 16, /* address, line, discriminator; the file's name follows */
	DEBUG_BODY_MAX = 4 << 20,
	LINES_AT_ONCE = 64,
	PASSES_MAX = 8,
	ORIGINS_MAX = 4096, /* addresses added in all passes */
};

struct record {
	uint64_t off; /* of its body */
	uint64_t len; /* of its body */
};

struct scan {
	struct jit_input *in;
	struct jit_places *places;
	struct record lines; /* the last JIT_CODE_DEBUG_INFO; len 0: none, or its code was loaded */
	struct {
		VEC(uint64_t);
	} origins; /* addresses from which code moved that are not among the places */
	int error;
};

bool jitdump_is_path(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && fnmatch("jit-[0-9]*.dump", slash + 1, 0) == 0;
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Returns @need bytes at @off of a record that ends at @end, or NULL. */
static const uint8_t *bytes_at(struct scan *s, uint64_t off, uint64_t end, size_t need)
{
	size_t n;
	const uint8_t *p;

	if (off > end || end - off < need)
		return NULL;
	p = jit_input_at(s->in, off, need, &n);
	return n >= need ? p : NULL;
}

/*
 * Finds the string at @off of a record that ends at @end. Returns false if its terminator is
 * missing or farther than JIT_NAME_MAX.
 */
static bool text_at(struct scan *s, uint64_t off, uint64_t end, struct jit_text *out)
{
	uint64_t left = off < end ? end - off : 0;
	size_t max = left < JIT_NAME_MAX + 1 ? (size_t)left : JIT_NAME_MAX + 1, n;
	const uint8_t *p = jit_input_at(s->in, off, max, &n);
	const uint8_t *nul = memchr(p, 0, n < max ? n : max);

	if (!nul)
		return false;
	*out = (struct jit_text){ off, (uint32_t)(nul - p) };
	return true;
}

/* The file name "\377" repeats that of the previous entry. */
static bool is_repeated(struct scan *s, const struct jit_text *t)
{
	size_t n;

	return t->len == 1 && *jit_input_at(s->in, t->off, 1, &n) == 0xff;
}

/*
 * Sets the lines of the places [@i, @end), at most LINES_AT_ONCE. The line of a place is that of
 * the last entry at or before it. The entries have the addresses at which the code was generated,
 * which begins at @start now.
 */
static void apply_lines(struct scan *s, size_t i, size_t end, uint64_t start)
{
	uint64_t at = s->lines.off + 16, stop = s->lines.off + s->lines.len;
	const uint8_t *p = bytes_at(s, s->lines.off, stop, 16);
	uint64_t base = p ? get64(p) : 0, n = p ? get64(p + 8) : 0;
	uint64_t best[LINES_AT_ONCE]; /* offsets from @base of the entries found */
	struct jit_text file = { 0 };

	memset(best, 0, sizeof(best));
	for (; n && (p = bytes_at(s, at, stop, ENTRY_LEN)); n--) {
		uint64_t off = get64(p) - base;
		uint32_t line = get32(p + 8);
		struct jit_text name;

		if (!text_at(s, at + ENTRY_LEN, stop, &name))
			return;
		at = name.off + name.len + 1;
		if (!is_repeated(s, &name))
			file = name;
		for (size_t k = i; k < end; k++) {
			struct jit_place *place = &s->places->data[k];

			if (off > place->addr - start || (place->line && off < best[k - i]))
				continue;
			best[k - i] = off;
			place->line = line;
			place->file = file;
		}
	}
}

static void apply_load(struct scan *s, const struct record *rec)
{
	const uint8_t *p = bytes_at(s, rec->off, rec->off + rec->len, LOAD_LEN);
	struct record lines = s->lines;
	uint64_t addr, size;
	struct jit_text name;
	size_t i, end;

	s->lines.len = 0;
	if (!p)
		return;
	addr = get64(p + 16);
	size = get64(p + 24);
	i = jit_places_from(s->places, addr);
	if (addr + size < addr || i == s->places->len || s->places->data[i].addr - addr >= size ||
	    !text_at(s, rec->off + LOAD_LEN, rec->off + rec->len, &name))
		return;
	jit_places_put(s->places, addr, size, &name);
	end = jit_places_from(s->places, addr + size);
	p = lines.len ? bytes_at(s, lines.off, lines.off + lines.len, 8) : NULL;
	if (p && get64(p) == addr) {
		s->lines = lines;
		for (; i < end; i += LINES_AT_ONCE)
			apply_lines(s, i, end - i < LINES_AT_ONCE ? end : i + LINES_AT_ONCE, addr);
		s->lines.len = 0;
	}
}

/* Puts at @place the function that began at @from and begins at @to now. */
static void move_place(struct scan *s, struct jit_place *place, uint64_t from, uint64_t to)
{
	uint64_t addr = place->addr, origin = addr - to + from;
	size_t i = jit_places_from(s->places, origin);
	const struct jit_place *old = &s->places->data[i];

	if (i == s->places->len || old->addr != origin) {
		if (s->origins.len < ORIGINS_MAX && vec_push(&s->origins, origin) < 0)
			s->error = -ENOMEM;
	} else if (old->size && old->start == from) {
		*place = *old;
		place->addr = addr;
		place->start = to;
	}
}

static void apply_move(struct scan *s, const struct record *rec)
{
	const uint8_t *p = bytes_at(s, rec->off, rec->off + rec->len, MOVE_LEN);
	uint64_t from, to, size;

	if (!p)
		return;
	from = get64(p + 16);
	to = get64(p + 24);
	size = get64(p + 32);
	if (to + size < to || from + size < from || from == to)
		return;
	for (size_t i = jit_places_from(s->places, to);
	     i < s->places->len && s->places->data[i].addr - to < size; i++)
		move_place(s, &s->places->data[i], from, to);
}

static int read_header(struct scan *s, uint64_t *at)
{
	const uint8_t *p = bytes_at(s, 0, s->in->end, HEADER_LEN);
	uint32_t len;

	if (!p)
		return -ENODATA;
	len = get32(p + 8);
	if (get32(p) != MAGIC || get32(p + 4) != 1 || len < HEADER_LEN || len > HEADER_MAX)
		return -EBADMSG;
	*at = len;
	return 0;
}

/* Applies the record at *@at and moves past it. Returns -ENODATA if the record is incomplete. */
static int apply_record(struct scan *s, uint64_t *at)
{
	const uint8_t *p = bytes_at(s, *at, s->in->end, PREFIX_LEN);
	struct record rec = { .off = *at + PREFIX_LEN };
	uint32_t id, len;

	if (!p)
		return -ENODATA;
	id = get32(p);
	len = get32(p + 4);
	if (len < PREFIX_LEN)
		return -EBADMSG;
	if (s->in->end - *at < len)
		return -ENODATA;
	rec.len = len - PREFIX_LEN;
	*at += len;
	if (id == JIT_CODE_LOAD)
		apply_load(s, &rec);
	else if (id == JIT_CODE_MOVE)
		apply_move(s, &rec);
	else if (id == JIT_CODE_DEBUG_INFO && rec.len <= DEBUG_BODY_MAX)
		s->lines = rec;
	return s->error;
}

/* Applies all records from *@at on. */
static int scan_once(struct scan *s, uint64_t *at)
{
	int r = *at ? 0 : read_header(s, at);

	s->lines.len = 0;
	while (r == 0)
		r = apply_record(s, at);
	/* lines whose code was not loaded yet are read again */
	if (s->lines.len)
		*at = s->lines.off - PREFIX_LEN;
	return r == -ENODATA ? 0 : r;
}

int jitdump_scan(struct jit_input *in, uint64_t *at, struct jit_places *places)
{
	struct scan s = { .in = in, .places = places };
	uint64_t begin = *at;
	int r = scan_once(&s, at);

	for (int i = 0; (r == 0 || r == -EBADMSG) && s.origins.len && i < PASSES_MAX; i++) {
		if (begin) {
			r = -EAGAIN;
			break;
		}
		r = jit_places_add(places, s.origins.data, s.origins.len);
		s.origins.len = 0;
		jit_places_reset(places);
		*at = 0;
		if (r == 0)
			r = scan_once(&s, at);
	}
	vec_fini(&s.origins);
	return r;
}
