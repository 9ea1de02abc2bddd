/* SPDX-License-Identifier: Apache-2.0 */
/* Reads atoms, and writes names of functions as Erlang and Elixir do. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "lang/beam/beam.h"
#include "lang/find.h"

enum {
	TABLE_SEGMENTS = 120, /* offset in an IndexTable */
	SEGMENT_SHIFT = 10,   /* atoms of a segment */
	ATOM_INDEX = 16,      /* offsets in an Atom */
	ATOM_LEN = 24,
	ATOM_TEXT = 32,
	ATOM_BYTES = 40,
};

static const char elixir[] = "Elixir.";

static void replace_controls(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

int beam_read_atom(const struct beam_process *b, uint64_t term, char out[BEAM_ATOM_BYTES])
{
	uint64_t number = term >> BEAM_ATOM_SHIFT, segment, at, text;
	uint8_t atom[ATOM_BYTES];
	int32_t index;
	int16_t len;
	int r;

	if (!beam_is_atom(term) || number >> 32)
		return -EBADMSG;
	r = lang_read_u64(b->p, b->bias + b->vm->atoms + TABLE_SEGMENTS, &segment);
	if (r == 0)
		r = lang_read_u64(b->p, segment + (number >> SEGMENT_SHIFT) * 8, &segment);
	if (r == 0)
		r = lang_read_u64(b->p, segment + (number & ((1 << SEGMENT_SHIFT) - 1)) * 8, &at);
	if (r == 0)
		r = beam_read_bytes(b->p, at, atom, sizeof(atom));
	if (r < 0)
		return r;
	memcpy(&index, atom + ATOM_INDEX, sizeof(index));
	memcpy(&len, atom + ATOM_LEN, sizeof(len));
	memcpy(&text, atom + ATOM_TEXT, sizeof(text));
	if ((uint32_t)index != number || len < 0 || len >= BEAM_ATOM_BYTES)
		return -EBADMSG;
	memset(out, 0, BEAM_ATOM_BYTES);
	r = len ? beam_read_bytes(b->p, text, out, (size_t)len) : 0;
	replace_controls(out);
	return r;
}

/* True if all of @text are letters, digits or in @others. */
static bool consists_of(const char *text, const char *others)
{
	for (; *text; text++)
		if (!((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
		      (*text >= '0' && *text <= '9') || strchr(others, *text)))
			return false;
	return true;
}

/* Appends an atom; in @quotes unless it is a plain word, whose characters may be in @others. */
static void put_atom(struct buf *out, const char *text, const char *others, char quotes)
{
	bool is_plain = *text >= 'a' && *text <= 'z' && consists_of(text, others);

	if (!is_plain && (quotes == '\'' || *text != '_' || !consists_of(text, others))) {
		buf_put_byte(out, (uint8_t)quotes);
		buf_put_str(out, text);
		buf_put_byte(out, (uint8_t)quotes);
	} else {
		buf_put_str(out, text);
	}
}

void beam_put_name(struct buf *out, const char *module, const char *function, uint32_t arity)
{
	char text[16];

	if (!strncmp(module, elixir, sizeof(elixir) - 1)) {
		buf_put_str(out, module + sizeof(elixir) - 1);
		buf_put_byte(out, '.');
		put_atom(out, function, "_!?@", '"');
	} else {
		put_atom(out, module, "_@", '\'');
		buf_put_byte(out, ':');
		put_atom(out, function, "_@", '\'');
	}
	snprintf(text, sizeof(text), "/%u", arity);
	buf_put_str(out, text);
}
