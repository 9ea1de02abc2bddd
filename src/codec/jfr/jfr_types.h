/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The classes of one chunk of a recording. A chunk describes the layout of its own events and
 * constants in its metadata event: each class has fields, whose values follow each other. Readers
 * know classes and fields by name only, so layouts may differ between writers and versions.
 *
 * Source: jdk.jfr.internal.consumer.MetadataReader of OpenJDK.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "codec/jfr/jfr_cursor.h"

enum jfr_primitive {
	JFR_OBJECT, /* the values of its fields */
	JFR_BYTE,   /* one byte: boolean, byte */
	JFR_INT,    /* LEB128: char, short, int, long */
	JFR_FLOAT,
	JFR_DOUBLE,
	JFR_STRING,
};

struct jfr_field {
	uint32_t name;     /* string of the metadata */
	uint32_t class;    /* index, or JFR_NO_CLASS */
	uint64_t class_id; /* of the class */
	bool constant;     /* the value is an id in the pool of its class */
	bool array;        /* a length and that many values */
};

struct jfr_class {
	uint64_t id;
	uint32_t name; /* string of the metadata */
	enum jfr_primitive primitive;
	uint32_t first, n; /* its fields */
};

enum { JFR_NO_CLASS = UINT32_MAX };

/* A zeroed struct has no classes. The strings are borrowed from the chunk. */
struct jfr_types {
	struct {
		VEC(struct jfr_text);
	} strings;
	struct {
		VEC(struct jfr_class); /* in the order of ids */
	} classes;
	struct {
		VEC(struct jfr_field);
	} fields;
};

void jfr_types_fini(struct jfr_types *t);

/*
 * Reads the metadata event at the cursor, which ends where the event does. Returns 0; -EBADMSG if
 * it is malformed; -ENOMEM. The memory is limited by the length of the event. After an error @t
 * can only be freed.
 */
int jfr_types_read(struct jfr_types *t, struct jfr_cursor *c);

/* Returns the index of a class, or JFR_NO_CLASS. */
uint32_t jfr_class_by_id(const struct jfr_types *t, uint64_t id);
uint32_t jfr_class_by_name(const struct jfr_types *t, const char *name);

/* Skips a value of a class. An unknown class makes the cursor bad. */
void jfr_skip_value(const struct jfr_types *t, uint32_t class, struct jfr_cursor *c);

/* The value of a field that a reader needs. */
struct jfr_value {
	uint64_t number; /* of integers and constants */
	struct jfr_text text;
	size_t at; /* position of the value: of the length, if it is an array; 0: absent */
};

enum { JFR_SHAPE_FIELDS = 32, JFR_SHAPE_VALUES = 8 };

/* Where the fields that a reader needs are in a class. */
struct jfr_shape {
	uint32_t class;                     /* JFR_NO_CLASS: the recording has no such class */
	int8_t value_of[JFR_SHAPE_FIELDS];  /* by field: index of its value, or -1 */
	uint64_t element[JFR_SHAPE_VALUES]; /* by value: class of the field; JFR_NO_CLASS: absent */
};

/* Looks up fields of a class: @names, at most JFR_SHAPE_VALUES, terminated by NULL. */
void jfr_shape_init(struct jfr_shape *s, const struct jfr_types *t, const char *class_name,
		    const char *const names[]);

/* Reads an object of the class at the cursor. Values of absent fields are 0. */
void jfr_shape_read(const struct jfr_shape *s, const struct jfr_types *t, struct jfr_cursor *c,
		    struct jfr_value out[JFR_SHAPE_VALUES]);
