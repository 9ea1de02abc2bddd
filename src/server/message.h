/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The requests of the RPCs: a table of fields says where in a struct a message's
 * fields go, read alike from protobuf and from proto3 JSON.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct err;

struct message_strings {
	VEC(const char *);
};

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

struct message_field {
	uint32_t number;
	const char *name; /* as in JSON; case and _ don't matter */
	enum message_kind kind;
	size_t offset;
	const struct message *nested;
	const char *const *names; /* of an enum's values, from 0, up to NULL */
};

struct message {
	const struct message_field *fields;
	size_t n, size;
};

/* What the strings and lists of messages lie in. */
struct message_memory {
	VEC(void *);
};

enum { MESSAGE_MAX_ELEMENTS = 1 << 20 };

void message_memory_fini(struct message_memory *m);

/*
 * Read into the zeroed struct @out. Byte strings of protobuf stay in @data. 0; -EBADMSG,
 * and @err says why; -ENOMEM.
 */
int message_read(const struct message *m, bool json, const void *data, size_t len,
		 struct message_memory *memory, void *out, struct err *err);
