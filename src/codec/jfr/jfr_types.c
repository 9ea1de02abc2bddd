/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metadata is a tree of elements with attributes, like an XML document without text: a class is
 * an element with its fields as children. Depth is limited because elements are read recursively.
 */
#include "codec/jfr/jfr_types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"

enum { ELEMENT_DEPTH = 16, VALUE_DEPTH = 16, DECIMAL_MAX = 20 };

void jfr_types_fini(struct jfr_types *t)
{
	vec_fini(&t->strings);
	vec_fini(&t->classes);
	vec_fini(&t->fields);
}

/*
 * The list grows with each string that is read, because the number that the event states may be
 * forged.
 */
static int read_strings(struct jfr_types *t, struct jfr_cursor *c)
{
	uint64_t n = jfr_varint(c);
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < n && !c->bad; i++)
		r = vec_push(&t->strings, jfr_text(c));
	return r;
}

/* The attributes of an element that are of interest. */
struct attributes {
	uint32_t name;
	uint64_t id, class_id;
	bool constant, array;
};

static struct jfr_text string(const struct jfr_types *t, uint64_t i)
{
	return i < t->strings.len ? t->strings.data[i] : (struct jfr_text){ 0 };
}

/* Returns a decimal number; 0 for anything else. */
static uint64_t decimal(struct jfr_text t)
{
	char digits[DECIMAL_MAX + 1] = "";

	if (t.len <= DECIMAL_MAX && t.bytes)
		memcpy(digits, t.bytes, t.len);
	return strtoull(digits, NULL, 10);
}

static struct attributes read_attributes(const struct jfr_types *t, struct jfr_cursor *c)
{
	struct attributes a = { 0 };
	uint64_t n = jfr_varint(c);

	for (uint64_t i = 0; i < n && !c->bad; i++) {
		struct jfr_text key = string(t, jfr_varint(c));
		uint64_t value = jfr_varint(c);

		if (jfr_text_is(key, "name"))
			a.name = value < t->strings.len ? (uint32_t)value : 0;
		else if (jfr_text_is(key, "id"))
			a.id = decimal(string(t, value));
		else if (jfr_text_is(key, "class"))
			a.class_id = decimal(string(t, value));
		else if (jfr_text_is(key, "constantPool"))
			a.constant = jfr_text_is(string(t, value), "true");
		else if (jfr_text_is(key, "dimension"))
			a.array = decimal(string(t, value)) > 0;
	}
	return a;
}

static enum jfr_primitive primitive_of(struct jfr_text name)
{
	static const struct {
		const char *name;
		enum jfr_primitive primitive;
	} all[] = {
		{ "boolean", JFR_BYTE },
		{ "byte", JFR_BYTE },
		{ "short", JFR_INT },
		{ "char", JFR_INT },
		{ "int", JFR_INT },
		{ "long", JFR_INT },
		{ "float", JFR_FLOAT },
		{ "double", JFR_DOUBLE },
		{ "java.lang.String", JFR_STRING },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (jfr_text_is(name, all[i].name))
			return all[i].primitive;
	return JFR_OBJECT;
}

static int add_class(struct jfr_types *t, const struct attributes *a)
{
	return vec_push(&t->classes, (struct jfr_class){
					     .id = a->id,
					     .name = a->name,
					     .primitive = primitive_of(string(t, a->name)),
					     .first = (uint32_t)t->fields.len,
				     });
}

/* A field belongs to the class that was read last, whose element encloses it. */
static int add_field(struct jfr_types *t, const struct attributes *a)
{
	if (!t->classes.len)
		return 0;
	t->classes.data[t->classes.len - 1].n++;
	return vec_push(&t->fields, (struct jfr_field){ .name = a->name,
							.class_id = a->class_id,
							.constant = a->constant,
							.array = a->array });
}

static int read_element(struct jfr_types *t, struct jfr_cursor *c, unsigned int depth)
{
	struct jfr_text name = string(t, jfr_varint(c));
	struct attributes a = read_attributes(t, c);
	uint64_t n_children = jfr_varint(c);
	int r = 0;

	if (depth == ELEMENT_DEPTH)
		c->bad = true;
	if (jfr_text_is(name, "class"))
		r = add_class(t, &a);
	else if (jfr_text_is(name, "field"))
		r = add_field(t, &a);
	for (uint64_t i = 0; r == 0 && i < n_children && !c->bad; i++)
		r = read_element(t, c, depth + 1);
	return r;
}

static int compare_classes(const void *a, const void *b)
{
	const struct jfr_class *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

int jfr_types_read(struct jfr_types *t, struct jfr_cursor *c)
{
	int r;

	jfr_varint(c); /* start time */
	jfr_varint(c); /* duration */
	jfr_varint(c); /* number of this description */
	r = read_strings(t, c);
	if (r == 0)
		r = read_element(t, c, 0);
	if (r < 0 || c->bad)
		return r < 0 ? r : -EBADMSG;
	if (t->classes.len)
		qsort(t->classes.data, t->classes.len, sizeof(*t->classes.data), compare_classes);
	for (size_t i = 0; i < t->fields.len; i++)
		t->fields.data[i].class = jfr_class_by_id(t, t->fields.data[i].class_id);
	return 0;
}

uint32_t jfr_class_by_id(const struct jfr_types *t, uint64_t id)
{
	size_t k = bisect(t->classes.len, i, t->classes.data[i].id < id);

	return k < t->classes.len && t->classes.data[k].id == id ? (uint32_t)k : JFR_NO_CLASS;
}

uint32_t jfr_class_by_name(const struct jfr_types *t, const char *name)
{
	for (size_t i = 0; i < t->classes.len; i++)
		if (jfr_text_is(string(t, t->classes.data[i].name), name))
			return (uint32_t)i;
	return JFR_NO_CLASS;
}

static void skip_object(const struct jfr_types *t, uint32_t class, struct jfr_cursor *c,
			unsigned int depth);

static void skip_one(const struct jfr_types *t, const struct jfr_field *f, struct jfr_cursor *c,
		     unsigned int depth)
{
	if (f->constant)
		jfr_varint(c);
	else
		skip_object(t, f->class, c, depth);
}

static void skip_field(const struct jfr_types *t, const struct jfr_field *f, struct jfr_cursor *c,
		       unsigned int depth)
{
	uint64_t n = f->array ? jfr_varint(c) : 1;

	for (uint64_t i = 0; i < n && !c->bad; i++)
		skip_one(t, f, c, depth);
}

static void skip_object(const struct jfr_types *t, uint32_t class, struct jfr_cursor *c,
			unsigned int depth)
{
	const struct jfr_class *k;

	if (class == JFR_NO_CLASS || depth == VALUE_DEPTH || !*c->budget) {
		c->bad = true;
		return;
	}
	(*c->budget)--;
	k = &t->classes.data[class];
	switch (k->primitive) {
	case JFR_BYTE:
		jfr_byte(c);
		break;
	case JFR_INT:
		jfr_varint(c);
		break;
	case JFR_FLOAT:
		jfr_skip(c, sizeof(float));
		break;
	case JFR_DOUBLE:
		jfr_skip(c, sizeof(double));
		break;
	case JFR_STRING:
		jfr_text(c);
		break;
	case JFR_OBJECT:
		for (uint32_t i = 0; i < k->n && !c->bad; i++)
			skip_field(t, &t->fields.data[k->first + i], c, depth + 1);
	}
}

/* VALUE_DEPTH limits how deeply objects nest, and the budget of the chunk how many there are. */
void jfr_skip_value(const struct jfr_types *t, uint32_t class, struct jfr_cursor *c)
{
	skip_object(t, class, c, 0);
}

void jfr_shape_init(struct jfr_shape *s, const struct jfr_types *t, const char *class_name,
		    const char *const names[])
{
	const struct jfr_class *k;

	s->class = jfr_class_by_name(t, class_name);
	memset(s->value_of, -1, sizeof(s->value_of));
	for (size_t i = 0; i < JFR_SHAPE_VALUES; i++)
		s->element[i] = JFR_NO_CLASS;
	if (s->class == JFR_NO_CLASS)
		return;
	k = &t->classes.data[s->class];
	for (uint32_t i = 0; i < k->n && i < JFR_SHAPE_FIELDS; i++) {
		const struct jfr_field *f = &t->fields.data[k->first + i];

		for (int8_t v = 0; v < JFR_SHAPE_VALUES && names[v]; v++) {
			if (!jfr_text_is(string(t, f->name), names[v]))
				continue;
			s->value_of[i] = v;
			s->element[v] = f->class;
		}
	}
}

/* Reads an integer, constant or text; the position is all that is known of other values. */
static struct jfr_value read_value(const struct jfr_types *t, const struct jfr_field *f,
				   struct jfr_cursor *c)
{
	enum jfr_primitive primitive =
		f->class == JFR_NO_CLASS ? JFR_OBJECT : t->classes.data[f->class].primitive;
	struct jfr_value v = { .at = c->at };

	if (f->array)
		skip_field(t, f, c, 0);
	else if (f->constant || primitive == JFR_INT)
		v.number = jfr_varint(c);
	else if (primitive == JFR_BYTE)
		v.number = jfr_byte(c);
	else if (primitive == JFR_STRING)
		v.text = jfr_text(c);
	else
		skip_one(t, f, c, 0);
	return v;
}

void jfr_shape_read(const struct jfr_shape *s, const struct jfr_types *t, struct jfr_cursor *c,
		    struct jfr_value out[JFR_SHAPE_VALUES])
{
	const struct jfr_class *k = &t->classes.data[s->class];

	memset(out, 0, JFR_SHAPE_VALUES * sizeof(*out));
	for (uint32_t i = 0; i < k->n && !c->bad; i++) {
		const struct jfr_field *f = &t->fields.data[k->first + i];
		int value = i < JFR_SHAPE_FIELDS ? s->value_of[i] : -1;

		if (value >= 0)
			out[value] = read_value(t, f, c);
		else
			skip_field(t, f, c, 0);
	}
}
