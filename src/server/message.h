/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decodes request messages from protobuf or proto3 JSON. A table of fields describes where in a
 * struct each field goes.
 *
 * proto3 semantics: absent fields keep their zero, null in JSON is the same as absent, the last
 * occurrence of a scalar counts, repeated fields append. Unknown fields are skipped and listed, so
 * that responses can report them, except in messages that refuse them. Names in JSON are matched
 * loosely, because clients send labelNames, label_names and profile_typeID for the same field.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct err;

/* Elements live in the message_memory; so do the strings. */
struct message_strings {
	VEC(const char *);
};

/* Borrowed from the request in protobuf, from the message_memory in JSON. */
struct message_bytes {
	const void *data;
	size_t len;
};

struct message_list {
	VEC(uint8_t); /* len counts elements of the nested size */
};

enum message_kind {
	MESSAGE_STRING,  /* const char *; NULL if absent */
	MESSAGE_STRINGS, /* struct message_strings */
	MESSAGE_INT,     /* int64_t; enums by their names too */
	MESSAGE_BOOL,    /* bool */
	MESSAGE_DOUBLE,  /* double */
	MESSAGE_BYTES,   /* struct message_bytes */
	MESSAGE_INNER,   /* the nested fields are in the same struct */
	MESSAGE_LIST,    /* struct message_list */
};

/* A field, and the member of the struct that it fills. */
struct message_field {
	uint32_t number;
	const char *name; /* in JSON; matched without regard to case and underscores */
	enum message_kind kind;
	size_t offset;                /* of the member, in bytes */
	const struct message *nested; /* of MESSAGE_INNER and MESSAGE_LIST; otherwise NULL */
	const char *const *names;     /* the enum's names from value 0 on, ended by NULL; or NULL */
};

/* A kind of message: its fields, their number, and the size of the struct that they fill. */
struct message {
	const struct message_field *fields;
	size_t n, size;
	bool is_strict; /* unknown fields in JSON are refused */
};

enum {
	MESSAGE_MAX_ELEMENTS = 1 << 20,
	MESSAGE_IGNORED_MAX = 128,
	MESSAGE_CLAIM_BYTES = 1 << 20,
};

/*
 * Owns the strings and lists of decoded messages. Zero-initialize it. It must outlive the decoded
 * struct and is freed as a whole.
 *
 * A field of two bytes can need a hundred bytes of memory. @claim, if it is set, is therefore
 * called before more than MESSAGE_CLAIM_BYTES are allocated, and again for each further ones; if it
 * fails, decoding fails with its result. Byte strings of JSON are not counted: they are shorter
 * than the request.
 */
struct message_memory {
	VEC(void *);
	int (*claim)(void *ctx, size_t bytes, struct err *err);
	void *claim_ctx;
	size_t used, claimed;
	/*
	 * Fields that no table has: names or, of protobuf, numbers, with commas in between. Names
	 * have other characters than letters, digits and _ replaced; "..." stands for further ones.
	 */
	char ignored[MESSAGE_IGNORED_MAX];
};

void message_memory_fini(struct message_memory *m);

/*
 * Decodes into the zeroed struct @out. Byte strings of protobuf point into @data. Returns 0,
 * -EBADMSG with the reason in @err, -ENOMEM, or the result of a claim that failed. @data must
 * outlive @out. Strings are copied and contain no NUL; they may be invalid UTF-8. Nesting is
 * limited to eight levels and lists to MESSAGE_MAX_ELEMENTS. After an error @out may be filled in
 * part.
 */
int message_read(const struct message *m, bool json, const void *data, size_t len,
		 struct message_memory *memory, void *out, struct err *err);
