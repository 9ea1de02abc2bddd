/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the primitive values of Flight Recorder's format: integers in LEB128 (whose ninth byte has
 * eight bits), big-endian words and strings in six encodings. A cursor cannot leave its data: a
 * read beyond the end returns 0 and sets bad, which sticks, so readers check it once per record.
 * Nothing is allocated. Source: jdk.jfr.internal.consumer.RecordingInput and StringParser of
 * OpenJDK, which writes the format.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

struct jfr_cursor {
	const uint8_t *data; /* borrowed; positions count from here */
	size_t at, end;
	bool bad;
	/*
	 * How many values all cursors of a chunk together may still skip; borrowed. A class that
	 * has no bytes can be nested in arrays of classes that have none, so the length of the data
	 * does not limit the work.
	 */
	uint64_t *budget;
};

enum jfr_text_kind {
	JFR_TEXT_NULL,
	JFR_TEXT_EMPTY,
	JFR_TEXT_CONSTANT, /* ref is an id in the pool of java.lang.String */
	JFR_TEXT_UTF8,
	JFR_TEXT_CHARS, /* UTF-16 code units, each a LEB128 integer */
	JFR_TEXT_LATIN1,
};

/* A string in the recording; the bytes are borrowed. */
struct jfr_text {
	enum jfr_text_kind kind;
	const uint8_t *bytes;
	size_t len; /* bytes */
	uint64_t ref;
};

uint64_t jfr_varint(struct jfr_cursor *c);
uint8_t jfr_byte(struct jfr_cursor *c);
void jfr_skip(struct jfr_cursor *c, uint64_t n);

/* Reads big-endian words, which only the header of a chunk has. */
uint16_t jfr_be16(struct jfr_cursor *c);
uint32_t jfr_be32(struct jfr_cursor *c);
uint64_t jfr_be64(struct jfr_cursor *c);

struct jfr_text jfr_text(struct jfr_cursor *c);

/* Appends a text as UTF-8, which is not validated; nothing if it is null or a constant. */
void jfr_text_put(struct jfr_text t, struct buf *out);

/* Returns true if the text is equal to @s, which is ASCII and not empty. */
bool jfr_text_is(struct jfr_text t, const char *s);
