/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offsets that the walk requires to find the frames of a virtual thread in the heap. When a
 * virtual thread is unmounted, HotSpot copies its frames into objects of the class
 * jdk.internal.vm.StackChunk, which the thread's jdk.internal.vm.Continuation refers to.
 *
 * No table exports the fields of Java classes. Both classes are in vmClasses::_klasses, an
 * array of the VM that begins with java.lang.Object, and the fields of a class are described by
 * its InstanceKlass::_fieldinfo_stream (packed numbers, see HotSpot's oops/fieldInfo.hpp; JDK
 * 21 and later). StackChunk's saved pc is an injected field: it has no name and is identified
 * by its position among the injected fields.
 */
#include <errno.h>
#include <string.h>

#include "lang/jvm/jvm.h"

enum {
	KLASSES_MAX = 256,
	FIELDS_MAX = 64,
	STREAM_MAX = 1024,
	ARRAY_HEAD = 4, /* offset of the elements of an Array<u1>, after its length */
	OFFSET_MAX = 1024,
	TEXT_MAX = 48,
	INJECTED_PC = 2, /* index among StackChunk's injected fields: cont, flags, pc */
	/* Each of these flags announces one more number in the description of the field. */
	FIELD_INITIALIZED = 1 << 0,
	FIELD_GENERIC = 1 << 2,
	FIELD_CONTENDED = 1 << 4,
};

#define CONTINUATION "jdk/internal/vm/Continuation"
#define STACK_CHUNK  "jdk/internal/vm/StackChunk"

struct field {
	char name[TEXT_MAX];
	char type; /* first letter of its signature; 0 for an injected field */
	uint16_t offset;
};

struct class
{
	struct field fields[FIELDS_MAX];
	size_t n, n_injected; /* injected fields are the last ones */
	uint32_t bytes;       /* size of an instance */
};

struct job {
	const struct jvm_found *facts;
	const struct lang_process *p;
	const struct jvm_vm *vm;
};

static int read_at(const struct job *j, uint64_t addr, void *dst, size_t len)
{
	return j->p->read(j->p->ctx, addr, dst, len) ? -EFAULT : 0;
}

static uint64_t fact(const struct job *j, enum jvm_fact f)
{
	return j->facts[f].value;
}

static int read_symbol(const struct job *j, uint64_t at, char out[TEXT_MAX])
{
	uint16_t len;

	if (!at || read_at(j, at + j->vm->symbol_length, &len, sizeof(len)) < 0)
		return -EFAULT;
	if (len >= TEXT_MAX)
		len = TEXT_MAX - 1;
	out[len] = '\0';
	return read_at(j, at + j->vm->symbol_body, out, len);
}

/* ---- one class -------------------------------------------------------------- */

static int read_pool_symbol(const struct job *j, uint64_t pool, uint32_t index, char out[TEXT_MAX])
{
	uint64_t symbol;

	if (index > UINT16_MAX ||
	    read_at(j, pool + j->vm->pool_bytes + index * 8ULL, &symbol, sizeof(symbol)) < 0)
		return -EFAULT;
	return read_symbol(j, symbol, out);
}

static int read_field(const struct job *j, struct jvm_packed *stream, uint64_t pool, bool injected,
		      struct field *out)
{
	char type[TEXT_MAX] = "";
	uint32_t name = jvm_packed_uint(stream), signature = jvm_packed_uint(stream);
	uint32_t offset = jvm_packed_uint(stream), flags;

	(void)jvm_packed_uint(stream); /* access flags */
	flags = jvm_packed_uint(stream);
	for (uint32_t more = flags & (FIELD_INITIALIZED | FIELD_GENERIC | FIELD_CONTENDED); more;
	     more &= more - 1)
		(void)jvm_packed_uint(stream);
	*out = (struct field){ .offset = offset < OFFSET_MAX ? (uint16_t)offset : 0 };
	if (injected)
		return 0;
	if (read_pool_symbol(j, pool, name, out->name) < 0 ||
	    read_pool_symbol(j, pool, signature, type) < 0)
		return -EFAULT;
	out->type = type[0];
	return 0;
}

static int read_class(const struct job *j, uint64_t klass, struct class *out)
{
	struct jvm_packed stream = { .zero_free = j->vm->zero_free };
	uint8_t bytes[STREAM_MAX];
	uint64_t pool, at;
	uint32_t len;
	int r = 0;

	if (read_at(j, klass + fact(j, JVM_FACT_KLASS_POOL), &pool, sizeof(pool)) < 0 ||
	    read_at(j, klass + fact(j, JVM_FACT_KLASS_FIELDS), &at, sizeof(at)) < 0 ||
	    read_at(j, klass + fact(j, JVM_FACT_KLASS_LAYOUT), &out->bytes, 4) < 0 ||
	    read_at(j, at, &len, sizeof(len)) < 0 || len > sizeof(bytes) ||
	    read_at(j, at + ARRAY_HEAD, bytes, len) < 0)
		return -EFAULT;
	stream.data = bytes;
	stream.len = len;
	out->n = jvm_packed_uint(&stream);
	out->n_injected = jvm_packed_uint(&stream);
	if (out->n > FIELDS_MAX || out->n_injected > FIELDS_MAX - out->n)
		return -EBADMSG;
	out->n += out->n_injected;
	for (size_t i = 0; i < out->n && r == 0; i++)
		r = read_field(j, &stream, pool, i >= out->n - out->n_injected, &out->fields[i]);
	return r;
}

/*
 * Returns the offset of a field, or 0 if there is none: no field is at 0, where the object
 * header is.
 */
static uint16_t offset_of(const struct class *c, const char *name)
{
	for (size_t i = 0; i < c->n - c->n_injected; i++)
		if (!strcmp(c->fields[i].name, name))
			return c->fields[i].offset;
	return 0;
}

/*
 * Returns whether references are four bytes wide (compressed): only then are two reference
 * fields four bytes apart.
 */
static bool is_narrow(const struct class *c)
{
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < c->n; k++)
			if (c->fields[i].type == 'L' && c->fields[k].type == 'L' &&
			    c->fields[i].offset + 4 == c->fields[k].offset)
				return true;
	return false;
}

/* ---- layout of stack chunks -------------------------------------------------- */

/* Returns the address of the class with this name, or 0 if it is not loaded. */
static uint64_t find_class(const struct job *j, const char *name)
{
	uint64_t klasses[KLASSES_MAX], symbol;
	char text[TEXT_MAX];

	if (read_at(j, fact(j, JVM_FACT_KLASSES), klasses, sizeof(klasses)) < 0)
		return 0;
	for (size_t i = 0; i < KLASSES_MAX; i++)
		if (klasses[i] && !(klasses[i] & 7) &&
		    read_at(j, klasses[i] + j->vm->klass_name, &symbol, sizeof(symbol)) == 0 &&
		    read_symbol(j, symbol, text) == 0 && !strcmp(text, name))
			return klasses[i];
	return 0;
}

/* Returns whether the collector is generational ZGC. The variable is zero with all others. */
static bool is_colored(const struct job *j)
{
	uint64_t globals, at, shift = 0;

	return j->facts[JVM_FACT_Z_GLOBALS].found && j->facts[JVM_FACT_Z_SHIFT].found &&
	       read_at(j, fact(j, JVM_FACT_Z_GLOBALS), &globals, sizeof(globals)) == 0 &&
	       read_at(j, globals + fact(j, JVM_FACT_Z_SHIFT), &at, sizeof(at)) == 0 &&
	       read_at(j, at, &shift, sizeof(shift)) == 0 && shift;
}

static int read_references(const struct job *j, bool narrow, struct jvm_vm *out)
{
	bool old = !j->facts[JVM_FACT_OOPS_BASE].found;
	enum jvm_fact base = old ? JVM_FACT_OOPS_BASE_21 : JVM_FACT_OOPS_BASE;
	enum jvm_fact shift = old ? JVM_FACT_OOPS_SHIFT_21 : JVM_FACT_OOPS_SHIFT;
	uint32_t n;

	out->ref_kind = narrow ? JVM_REF_NARROW : is_colored(j) ? JVM_REF_COLORED : JVM_REF_PLAIN;
	if (!narrow)
		return 0;
	if (!j->facts[base].found || !j->facts[shift].found ||
	    read_at(j, fact(j, base), &out->ref_base, sizeof(out->ref_base)) < 0 ||
	    read_at(j, fact(j, shift), &n, sizeof(n)) < 0 || n > 31)
		return -EBADMSG;
	out->ref_shift = (uint16_t)n;
	return 0;
}

static int read_chunks(const struct job *j, struct jvm_vm *out)
{
	uint64_t continuation = find_class(j, CONTINUATION), chunk = find_class(j, STACK_CHUNK);
	struct class c;

	if (!continuation || read_class(j, continuation, &c) < 0 ||
	    read_references(j, is_narrow(&c), out) < 0)
		return -EBADMSG;
	out->tail = offset_of(&c, "tail");
	if (!chunk || read_class(j, chunk, &c) < 0 || c.n_injected <= INJECTED_PC)
		return -EBADMSG;
	out->chunk_parent = offset_of(&c, "parent");
	out->chunk_size = offset_of(&c, "size");
	out->chunk_bottom = offset_of(&c, "bottom");
	out->chunk_args = !out->chunk_bottom;
	if (out->chunk_args)
		out->chunk_bottom = offset_of(&c, "argsize");
	out->chunk_sp = offset_of(&c, "sp");
	out->chunk_pc = c.fields[c.n - c.n_injected + INJECTED_PC].offset;
	if (!out->tail || !out->chunk_parent || !out->chunk_size || !out->chunk_bottom ||
	    !out->chunk_sp || !out->chunk_pc || c.bytes > OFFSET_MAX)
		return -EBADMSG;
	/*
	 * Klass::_layout_helper uses its lowest bit to mark instances that need a slow
	 * allocation.
	 */
	out->chunk_stack = (uint16_t)(c.bytes & ~7u);
	return 0;
}

void jvm_chunks_read(const struct jvm_found facts[JVM_FACT_MAX], uint64_t bias,
		     const struct lang_process *p, struct jvm_vm *out)
{
	const struct job j = { facts, p, out };
	struct jvm_vm vm = *out;

	if (facts[JVM_FACT_KLASSES].found && facts[JVM_FACT_KLASS_POOL].found &&
	    facts[JVM_FACT_KLASS_FIELDS].found && facts[JVM_FACT_KLASS_LAYOUT].found &&
	    read_chunks(&j, &vm) == 0) {
		if (facts[JVM_FACT_CONTINUATION_PC].found)
			vm.entry_pc = fact(&j, JVM_FACT_CONTINUATION_PC) - bias;
		*out = vm;
	}
}
