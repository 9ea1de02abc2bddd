/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driven by tables of the fields in profile.proto. The elements of a list may be anywhere in a
 * message, so a message is scanned once for each of its fields. That is quadratic only in the
 * number of fields, at most 14. The recursion is as deep as the schema, three levels.
 */
#include "server/pprof_json.h"

#include <stdbool.h>

#include "base/buf.h"
#include "base/json.h"
#include "codec/common/wire.h"

/* The kinds of fields. All from INTS on are repeated, and become lists in JSON. */
enum kind {
	INT,
	BOOL,
	STRING,
	MESSAGE,
	INTS,
	STRINGS,
	MESSAGES,
};

struct field {
	const char *name;
	enum kind kind;
	const struct schema *of;
};

/* Indexed by field number minus 1. */
struct schema {
	const struct field *fields;
	uint32_t n;
};

#define SCHEMA(fields)                                                                             \
	{                                                                                          \
		fields, sizeof(fields) / sizeof((fields)[0])                                       \
	}

/*
 * The messages of profile.proto, the inner ones first. Strings are indices into stringTable, so
 * they are numbers here.
 */
static const struct field type_fields[] = { { "type", INT, NULL }, { "unit", INT, NULL } };
static const struct schema value_type = SCHEMA(type_fields);

static const struct field label_fields[] = {
	{ "key", INT, NULL }, { "str", INT, NULL }, { "num", INT, NULL }, { "numUnit", INT, NULL }
};
static const struct schema label = SCHEMA(label_fields);

static const struct field sample_fields[] = { { "locationId", INTS, NULL },
					      { "value", INTS, NULL },
					      { "label", MESSAGES, &label } };
static const struct schema sample = SCHEMA(sample_fields);

static const struct field mapping_fields[] = {
	{ "id", INT, NULL },
	{ "memoryStart", INT, NULL },
	{ "memoryLimit", INT, NULL },
	{ "fileOffset", INT, NULL },
	{ "filename", INT, NULL },
	{ "buildId", INT, NULL },
	{ "hasFunctions", BOOL, NULL },
	{ "hasFilenames", BOOL, NULL },
	{ "hasLineNumbers", BOOL, NULL },
	{ "hasInlineFrames", BOOL, NULL },
};
static const struct schema mapping = SCHEMA(mapping_fields);

static const struct field line_fields[] = { { "functionId", INT, NULL },
					    { "line", INT, NULL },
					    { "column", INT, NULL } };
static const struct schema line = SCHEMA(line_fields);

static const struct field location_fields[] = { { "id", INT, NULL },
						{ "mappingId", INT, NULL },
						{ "address", INT, NULL },
						{ "line", MESSAGES, &line },
						{ "isFolded", BOOL, NULL } };
static const struct schema location = SCHEMA(location_fields);

static const struct field function_fields[] = { { "id", INT, NULL },
						{ "name", INT, NULL },
						{ "systemName", INT, NULL },
						{ "filename", INT, NULL },
						{ "startLine", INT, NULL } };
static const struct schema function = SCHEMA(function_fields);

static const struct field profile_fields[] = {
	{ "sampleType", MESSAGES, &value_type },
	{ "sample", MESSAGES, &sample },
	{ "mapping", MESSAGES, &mapping },
	{ "location", MESSAGES, &location },
	{ "function", MESSAGES, &function },
	{ "stringTable", STRINGS, NULL },
	{ "dropFrames", INT, NULL },
	{ "keepFrames", INT, NULL },
	{ "timeNanos", INT, NULL },
	{ "durationNanos", INT, NULL },
	{ "periodType", MESSAGE, &value_type },
	{ "period", INT, NULL },
	{ "comment", INTS, NULL },
	{ "defaultSampleType", INT, NULL },
};
static const struct schema profile = SCHEMA(profile_fields);

static int put_fields(const struct schema *s, struct wire w, struct json *j);

static int put_object(const struct schema *s, struct wire w, struct json *j)
{
	int r;

	json_object(j);
	r = put_fields(s, w, j);
	json_object_end(j);
	return r;
}

/* Writes the numbers of one occurrence of the field: one, or many if they are packed. */
static int put_ints(const struct wire_field *f, struct json *j)
{
	struct wire_nums it = wire_nums(f, WIRE_VARINT);
	uint64_t v;
	int r;

	while ((r = wire_nums_next(&it, &v)) > 0)
		json_int_text(j, (int64_t)v);
	return r;
}

/* Writes one value; a repeated field of numbers may be packed. */
static int put_value(const struct field *field, const struct wire_field *f, struct json *j)
{
	switch (field->kind) {
	case INT:
		json_int_text(j, (int64_t)f->value);
		return 0;
	case BOOL:
		json_bool(j, f->value);
		return 0;
	case STRING:
	case STRINGS:
		json_strn(j, (const char *)f->bytes.p, wire_len(f->bytes));
		return 0;
	case INTS:
		return put_ints(f, j);
	default:
		return put_object(field->of, f->bytes, j);
	}
}

/* Writes the key, and opens the list, at the first value found. */
static int put_field(const struct field *field, uint32_t number, struct wire w, struct json *j)
{
	bool is_list = field->kind >= INTS, any = false;
	struct wire_field f;
	int r;

	while ((r = wire_next(&w, &f)) > 0) {
		if (f.number != number)
			continue;
		if (!any) {
			json_key(j, field->name);
			if (is_list)
				json_array(j);
		}
		any = true;
		r = put_value(field, &f, j);
		if (r < 0)
			break;
	}
	if (any && is_list)
		json_array_end(j);
	return r;
}

static int put_fields(const struct schema *s, struct wire w, struct json *j)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < s->n; i++)
		r = put_field(&s->fields[i], i + 1, w, j);
	return r;
}

int pprof_json(const void *proto, size_t len, struct json *j)
{
	int r = put_fields(&profile, wire_of(proto, len), j);

	return r < 0 ? r : buf_error(j->out);
}
