/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each message of the protocol has a table of its fields, which drives one pass over the JSON. Each
 * field is written when it has been read; wire_end() inserts the length of a nested message.
 *
 * Converting needs less code than a second reader, and all values are checked in one place,
 * otlp_read(). Values of 64 bits that are plain numbers lose precision beyond 2^53, which is why
 * OTLP writes them as strings; both are read. Names are compared without underscores and case,
 * which accepts camelCase and snake_case by one rule.
 */
#include "codec/otlp/otlp_json.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_read.h"
#include "codec/common/wire.h"
#include "codec/otlp/otlp_fields.h"

enum { OTLP_JSON_MAX_NESTING = 24 };

enum kind { TEXT, BYTES, HEX, INT, BOOL, FIXED64, DOUBLE, INTS, FIXED64S, MESSAGE, MESSAGES };

struct message;

/*
 * nested is the message's table for MESSAGE and MESSAGES; NULL there means that elements are
 * strings.
 */
struct field {
	const char *name;
	uint32_t number;
	enum kind kind;
	const struct message *nested;
};

struct message {
	const struct field *fields;
	size_t n;
};

#define MESSAGE_OF(fields)                                                                         \
	{                                                                                          \
		fields, sizeof(fields) / sizeof((fields)[0])                                       \
	}

static const struct message any_value;

static const struct field array_fields[] = { { "values", 1, MESSAGES, &any_value } };
static const struct message array = MESSAGE_OF(array_fields);

static const struct field any_fields[] = {
	{ "stringValue", OTLP_ANY_STRING, TEXT, NULL },
	{ "boolValue", OTLP_ANY_BOOL, BOOL, NULL },
	{ "intValue", OTLP_ANY_INT, INT, NULL },
	{ "doubleValue", OTLP_ANY_DOUBLE, DOUBLE, NULL },
	{ "arrayValue", 5, MESSAGE, &array },
	{ "bytesValue", OTLP_ANY_BYTES, BYTES, NULL },
	{ "stringValueStrindex", OTLP_ANY_STRING_REF, INT, NULL },
};
static const struct message any_value = MESSAGE_OF(any_fields);

static const struct field key_value_fields[] = {
	{ "key", OTLP_KV_KEY, TEXT, NULL },
	{ "value", OTLP_KV_VALUE, MESSAGE, &any_value },
	{ "keyStrindex", OTLP_KV_KEY_REF, INT, NULL },
};
static const struct message key_value = MESSAGE_OF(key_value_fields);

static const struct field resource_fields[] = {
	{ "attributes", OTLP_RESOURCE_ATTRIBUTES, MESSAGES, &key_value },
};
static const struct message resource = MESSAGE_OF(resource_fields);

static const struct field scope_fields[] = {
	{ "name", OTLP_SCOPE_NAME, TEXT, NULL },
	{ "version", OTLP_SCOPE_VERSION, TEXT, NULL },
	{ "attributes", OTLP_SCOPE_ATTRIBUTES, MESSAGES, &key_value },
};
static const struct message scope = MESSAGE_OF(scope_fields);

static const struct field value_type_fields[] = {
	{ "typeStrindex", OTLP_VALUE_TYPE_TYPE, INT, NULL },
	{ "unitStrindex", OTLP_VALUE_TYPE_UNIT, INT, NULL },
};
static const struct message value_type = MESSAGE_OF(value_type_fields);

static const struct field sample_fields[] = {
	{ "stackIndex", OTLP_SAMPLE_STACK, INT, NULL },
	{ "attributeIndices", OTLP_SAMPLE_ATTRIBUTES, INTS, NULL },
	{ "linkIndex", OTLP_SAMPLE_LINK, INT, NULL },
	{ "values", OTLP_SAMPLE_VALUES, INTS, NULL },
	{ "timestampsUnixNano", OTLP_SAMPLE_TIMES, FIXED64S, NULL },
};
static const struct message sample = MESSAGE_OF(sample_fields);

static const struct field profile_fields[] = {
	{ "sampleType", OTLP_PROFILE_SAMPLE_TYPE, MESSAGE, &value_type },
	{ "samples", OTLP_PROFILE_SAMPLES, MESSAGES, &sample },
	{ "sample", OTLP_PROFILE_SAMPLES, MESSAGES, &sample },
	{ "timeUnixNano", OTLP_PROFILE_TIME, FIXED64, NULL },
	{ "durationNano", OTLP_PROFILE_DURATION, INT, NULL },
	{ "periodType", OTLP_PROFILE_PERIOD_TYPE, MESSAGE, &value_type },
	{ "period", OTLP_PROFILE_PERIOD, INT, NULL },
	{ "profileId", OTLP_PROFILE_ID, HEX, NULL },
	{ "attributeIndices", OTLP_PROFILE_ATTRIBUTES, INTS, NULL },
};
static const struct message profile = MESSAGE_OF(profile_fields);

static const struct field scope_profiles_fields[] = {
	{ "scope", OTLP_SP_SCOPE, MESSAGE, &scope },
	{ "profiles", OTLP_SP_PROFILES, MESSAGES, &profile },
};
static const struct message scope_profiles = MESSAGE_OF(scope_profiles_fields);

static const struct field resource_profiles_fields[] = {
	{ "resource", OTLP_RP_RESOURCE, MESSAGE, &resource },
	{ "scopeProfiles", OTLP_RP_SCOPE_PROFILES, MESSAGES, &scope_profiles },
};
static const struct message resource_profiles = MESSAGE_OF(resource_profiles_fields);

static const struct field mapping_fields[] = {
	{ "memoryStart", OTLP_MAPPING_START, INT, NULL },
	{ "memoryLimit", OTLP_MAPPING_LIMIT, INT, NULL },
	{ "fileOffset", OTLP_MAPPING_OFFSET, INT, NULL },
	{ "filenameStrindex", OTLP_MAPPING_FILE, INT, NULL },
	{ "attributeIndices", OTLP_MAPPING_ATTRIBUTES, INTS, NULL },
};
static const struct message mapping = MESSAGE_OF(mapping_fields);

static const struct field line_fields[] = {
	{ "functionIndex", OTLP_LINE_FUNCTION, INT, NULL },
	{ "line", OTLP_LINE_LINE, INT, NULL },
	{ "column", OTLP_LINE_COLUMN, INT, NULL },
};
static const struct message line = MESSAGE_OF(line_fields);

static const struct field location_fields[] = {
	{ "mappingIndex", OTLP_LOCATION_MAPPING, INT, NULL },
	{ "address", OTLP_LOCATION_ADDRESS, INT, NULL },
	{ "lines", OTLP_LOCATION_LINES, MESSAGES, &line },
	{ "line", OTLP_LOCATION_LINES, MESSAGES, &line },
	{ "attributeIndices", OTLP_LOCATION_ATTRIBUTES, INTS, NULL },
};
static const struct message location = MESSAGE_OF(location_fields);

static const struct field function_fields[] = {
	{ "nameStrindex", OTLP_FUNCTION_NAME, INT, NULL },
	{ "systemNameStrindex", OTLP_FUNCTION_SYSTEM_NAME, INT, NULL },
	{ "filenameStrindex", OTLP_FUNCTION_FILE, INT, NULL },
	{ "startLine", OTLP_FUNCTION_START_LINE, INT, NULL },
};
static const struct message function = MESSAGE_OF(function_fields);

static const struct field attribute_fields[] = {
	{ "keyStrindex", OTLP_ATTRIBUTE_KEY, INT, NULL },
	{ "value", OTLP_ATTRIBUTE_VALUE, MESSAGE, &any_value },
	{ "unitStrindex", OTLP_ATTRIBUTE_UNIT, INT, NULL },
};
static const struct message attribute = MESSAGE_OF(attribute_fields);

static const struct field stack_fields[] = {
	{ "locationIndices", OTLP_STACK_LOCATIONS, INTS, NULL },
};
static const struct message stack = MESSAGE_OF(stack_fields);

static const struct field link_fields[] = {
	{ "traceId", OTLP_LINK_TRACE, HEX, NULL },
	{ "spanId", OTLP_LINK_SPAN, HEX, NULL },
};
static const struct message link_message = MESSAGE_OF(link_fields);

static const struct field dictionary_fields[] = {
	{ "mappingTable", OTLP_DICT_MAPPING, MESSAGES, &mapping },
	{ "locationTable", OTLP_DICT_LOCATION, MESSAGES, &location },
	{ "functionTable", OTLP_DICT_FUNCTION, MESSAGES, &function },
	{ "linkTable", OTLP_DICT_LINK, MESSAGES, &link_message },
	{ "stringTable", OTLP_DICT_STRING, MESSAGES, NULL },
	{ "attributeTable", OTLP_DICT_ATTRIBUTE, MESSAGES, &attribute },
	{ "stackTable", OTLP_DICT_STACK, MESSAGES, &stack },
};
static const struct message dictionary = MESSAGE_OF(dictionary_fields);

static const struct field request_fields[] = {
	{ "resourceProfiles", OTLP_REQUEST_RESOURCE_PROFILES, MESSAGES, &resource_profiles },
	{ "dictionary", OTLP_REQUEST_DICTIONARY, MESSAGE, &dictionary },
};
static const struct message request = MESSAGE_OF(request_fields);

struct reader {
	struct json_read j;
	struct buf *out;
	unsigned int nesting;
};

static void reader_fini(struct reader *rd)
{
	json_read_fini(&rd->j);
}

/* Reads a 64-bit number, plain or as a string. */
static int read_int(struct reader *rd, uint64_t *out)
{
	char *end;
	double v;
	int r;

	if (json_read_peek(&rd->j) != '"') {
		r = json_read_number(&rd->j, &v);
		if (r < 0 || !(v >= -9.2e18 && v <= 1.8e19))
			return -EBADMSG;
		*out = v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
		return 0;
	}
	r = json_read_string(&rd->j);
	if (r < 0)
		return r;
	errno = 0;
	*out = strtoull((const char *)rd->j.text.data, &end, 10);
	return errno || *end || !rd->j.text.len ? -EBADMSG : 0;
}

/* Text is copied unmodified: readers intern it and writers replace invalid UTF-8. */
static int put_bytes(struct reader *rd, const struct field *f)
{
	_cleanup_(buf_fini) struct buf bytes = { 0 };
	int r = json_read_string(&rd->j);

	if (r == 0 && f->kind == BYTES)
		r = base64_decode((const char *)rd->j.text.data, rd->j.text.len, &bytes);
	if (r == 0 && f->kind == HEX)
		r = hex_decode((const char *)rd->j.text.data, rd->j.text.len, &bytes);
	if (r < 0)
		return r;
	if (f->kind == TEXT)
		wire_put_bytes(rd->out, f->number, rd->j.text.data, rd->j.text.len);
	else
		wire_put_bytes(rd->out, f->number, bytes.data, bytes.len);
	return 0;
}

static int put_number(struct reader *rd, const struct field *f)
{
	uint64_t v = 0;
	double d;
	int r;

	if (f->kind == DOUBLE) {
		r = json_read_number(&rd->j, &d);
		memcpy(&v, &d, sizeof(v));
		if (r == 0)
			wire_put_fixed64(rd->out, f->number, v);
		return r;
	}
	if (f->kind == BOOL) {
		v = json_read_peek(&rd->j) == 't';
		r = json_read_skip(&rd->j);
	} else {
		r = read_int(rd, &v);
	}
	if (r == 0 && f->kind == FIXED64)
		wire_put_fixed64(rd->out, f->number, v);
	else if (r == 0)
		wire_put_uint_always(rd->out, f->number, v);
	return r;
}

static int put_numbers(struct reader *rd, const struct field *f)
{
	size_t at = wire_begin(rd->out, f->number);
	int r = json_read_open(&rd->j, '[');
	uint64_t v;

	while (r == 0 && (r = json_read_item(&rd->j)) > 0) {
		r = read_int(rd, &v);
		if (r == 0 && f->kind == FIXED64S)
			wire_put_fixed64_raw(rd->out, v);
		else if (r == 0)
			wire_put_varint(rd->out, v);
	}
	wire_end(rd->out, at);
	return r;
}

/*
 * Names longer than the buffer are cut, and then match no field, since every name of the tables is
 * shorter.
 */
static const struct field *find_field(const struct message *m, const struct buf *name)
{
	char plain[32];
	size_t n = 0;

	for (size_t i = 0; i < name->len && n < sizeof(plain) - 1; i++)
		if (name->data[i] != '_')
			plain[n++] = (char)name->data[i];
	plain[n] = 0;
	for (size_t i = 0; i < m->n; i++)
		if (!strcasecmp(plain, m->fields[i].name))
			return &m->fields[i];
	return NULL;
}

static int put_field(struct reader *rd, const struct field *f);

/* Values nest only through arrays of attributes; OTLP_JSON_MAX_NESTING bounds the recursion. */
static int put_message(struct reader *rd, const struct message *m)
{
	int r = ++rd->nesting > OTLP_JSON_MAX_NESTING ? -EBADMSG : json_read_open(&rd->j, '{');

	while (r == 0 && (r = json_read_key(&rd->j)) > 0) {
		const struct field *f = find_field(m, &rd->j.text);

		r = f && json_read_peek(&rd->j) != 'n' ? put_field(rd, f) : json_read_skip(&rd->j);
	}
	rd->nesting--;
	return r;
}

static int put_nested(struct reader *rd, const struct field *f)
{
	const struct field text = { f->name, f->number, TEXT, NULL };
	size_t at;
	int r;

	if (!f->nested)
		return put_bytes(rd, &text);
	at = wire_begin(rd->out, f->number);
	r = put_message(rd, f->nested);
	wire_end(rd->out, at);
	return r;
}

static int put_field(struct reader *rd, const struct field *f)
{
	int r;

	switch (f->kind) {
	case TEXT:
	case BYTES:
	case HEX:
		return put_bytes(rd, f);
	case INTS:
	case FIXED64S:
		return put_numbers(rd, f);
	case MESSAGE:
		return put_nested(rd, f);
	case MESSAGES:
		r = json_read_open(&rd->j, '[');
		while (r == 0 && (r = json_read_item(&rd->j)) > 0)
			r = put_nested(rd, f);
		return r;
	default:
		return put_number(rd, f);
	}
}

int otlp_json_read(const void *data, size_t len, struct buf *out, struct err *err)
{
	_cleanup_(reader_fini) struct reader rd = { .out = out };
	int r;

	json_read_init(&rd.j, data, len);
	r = put_message(&rd, &request);
	if (r == 0)
		r = json_read_end(&rd.j);
	if (r == -EBADMSG)
		return err_set(err, r, "byte %zu: malformed OTLP request in JSON",
			       json_read_at(&rd.j));
	return r < 0 ? r : buf_error(out);
}
