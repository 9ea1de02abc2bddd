/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the layout of a HotSpot version from its exported facts (facts.def). The same
 * position is an absolute address in one version, and an offset from the blob, from its code or
 * from data outside of the blob in another; struct jvm_field records which. The slots of
 * interpreted frames are exported by no version and are constants of this file.
 */
#include <errno.h>
#include <string.h>

#include "lang/jvm/jvm.h"

enum {
	OFFSET_MAX = 4096,
	BCP_8 = 7 * 8, /* version 8, whose interpreted frames have no slot for the class mirror */
	BCP = 8 * 8,
};

struct layout_builder {
	const struct jvm_found *facts;
	struct jvm_vm *out;
	bool invalid;
};

static bool has(const struct layout_builder *m, enum jvm_fact f)
{
	return m->facts[f].found;
}

/* Returns the field of a blob's header for this fact, or an empty field if the version lacks it. */
static struct jvm_field blob_field(struct layout_builder *m, enum jvm_fact f, enum jvm_base base)
{
	const struct jvm_found *x = &m->facts[f];
	uint64_t end = x->value + x->width;

	if (!x->found)
		return (struct jvm_field){ 0 };
	if (x->value >= JVM_BLOB_BYTES || end > JVM_BLOB_BYTES || x->value % x->width) {
		m->invalid = true;
		return (struct jvm_field){ 0 };
	}
	if (end > m->out->blob_bytes)
		m->out->blob_bytes = (uint16_t)end;
	return (struct jvm_field){ (uint16_t)x->value, x->width, (uint8_t)base };
}

/*
 * Returns the field of whichever of two facts this version has. Having neither makes the layout
 * invalid.
 */
static struct jvm_field either_field(struct layout_builder *m, enum jvm_fact a,
				     enum jvm_base base_a, enum jvm_fact b, enum jvm_base base_b)
{
	if (!has(m, a) && !has(m, b))
		m->invalid = true;
	return has(m, a) ? blob_field(m, a, base_a) : blob_field(m, b, base_b);
}

static struct jvm_field required_field(struct layout_builder *m, enum jvm_fact f)
{
	return either_field(m, f, JVM_VALUE, f, JVM_VALUE);
}

/* Returns a fact that is a small number: an offset or the size of a type. */
static uint16_t small_number(struct layout_builder *m, enum jvm_fact f)
{
	if (!has(m, f) || m->facts[f].value > OFFSET_MAX) {
		m->invalid = true;
		return 0;
	}
	return (uint16_t)m->facts[f].value;
}

static uint16_t number_of_either(struct layout_builder *m, enum jvm_fact a, enum jvm_fact b)
{
	return small_number(m, has(m, a) ? a : b);
}

static void set_blob_fields(struct layout_builder *m)
{
	struct jvm_vm *vm = m->out;

	vm->block_bytes = small_number(m, JVM_FACT_SIZE_HEAP_BLOCK);
	vm->nmethod_size = small_number(m, JVM_FACT_SIZE_NMETHOD);
	if (has(m, JVM_FACT_BLOCK_USED) && m->facts[JVM_FACT_BLOCK_USED].value < vm->block_bytes)
		vm->block_used = (uint8_t)m->facts[JVM_FACT_BLOCK_USED].value;
	vm->name = required_field(m, JVM_FACT_BLOB_NAME);
	vm->header_size = required_field(m, JVM_FACT_BLOB_HEADER_SIZE);
	vm->frame_size = required_field(m, JVM_FACT_BLOB_FRAME_SIZE);
	vm->frame_complete = required_field(m, JVM_FACT_BLOB_FRAME_COMPLETE);
	vm->code = either_field(m, JVM_FACT_BLOB_CODE_BEGIN, JVM_VALUE, JVM_FACT_BLOB_CODE_OFFSET,
				JVM_FROM_BLOB);
	vm->entry = either_field(m, JVM_FACT_NMETHOD_ENTRY, JVM_VALUE,
				 JVM_FACT_NMETHOD_ENTRY_OFFSET, JVM_FROM_CODE);
	vm->method = either_field(m, JVM_FACT_NMETHOD_METHOD, JVM_VALUE, JVM_FACT_COMPILED_METHOD,
				  JVM_VALUE);
	vm->compile_id = required_field(m, JVM_FACT_NMETHOD_COMPILE_ID);
	vm->orig_pc = required_field(m, JVM_FACT_NMETHOD_ORIG_PC);
}

static void set_deopt_fields(struct layout_builder *m)
{
	struct jvm_field *deopt = m->out->deopt;

	if (has(m, JVM_FACT_COMPILED_DEOPT)) {
		deopt[0] = blob_field(m, JVM_FACT_COMPILED_DEOPT, JVM_VALUE);
		deopt[1] = blob_field(m, JVM_FACT_COMPILED_DEOPT_MH, JVM_VALUE);
	} else if (has(m, JVM_FACT_NMETHOD_DEOPT_8)) {
		deopt[0] = blob_field(m, JVM_FACT_NMETHOD_DEOPT_8, JVM_FROM_BLOB);
		deopt[1] = blob_field(m, JVM_FACT_NMETHOD_DEOPT_MH_8, JVM_FROM_BLOB);
	} else {
		deopt[0] = either_field(m, JVM_FACT_NMETHOD_DEOPT, JVM_FROM_BLOB,
					JVM_FACT_NMETHOD_DEOPT_ENTRY, JVM_FROM_BLOB);
		deopt[1] = blob_field(m, JVM_FACT_NMETHOD_DEOPT_MH, JVM_FROM_BLOB);
	}
	if (!deopt[1].width)
		deopt[1] = deopt[0];
}

/* Sets the fields for the debug information of compiled methods (scopes.c). */
static void set_scope_fields(struct layout_builder *m)
{
	struct jvm_vm *vm = m->out;
	bool outside = has(m, JVM_FACT_NMETHOD_IMMUTABLE);
	enum jvm_base base = outside ? JVM_FROM_IMMUTABLE : JVM_FROM_BLOB;

	vm->immutable_data = blob_field(m, JVM_FACT_NMETHOD_IMMUTABLE, JVM_VALUE);
	vm->mutable_data = blob_field(m, JVM_FACT_BLOB_MUTABLE_DATA, JVM_VALUE);
	vm->scopes_data = either_field(m, JVM_FACT_COMPILED_SCOPES_DATA, JVM_VALUE,
				       JVM_FACT_NMETHOD_SCOPES_DATA, base);
	vm->scopes_pcs = either_field(m, JVM_FACT_NMETHOD_SCOPES_PCS, base,
				      JVM_FACT_NMETHOD_SCOPES_PCS, base);
	/* The PcDescs are followed by the dependencies or, in other versions, by the scopes. */
	vm->pcs_end = has(m, JVM_FACT_NMETHOD_DEPENDENCIES) && !outside
			      ? blob_field(m, JVM_FACT_NMETHOD_DEPENDENCIES, base)
			      : vm->scopes_data;
	if (has(m, JVM_FACT_BLOB_MUTABLE_DATA))
		vm->metadata = blob_field(m, JVM_FACT_BLOB_RELOCATION_SIZE, JVM_FROM_MUTABLE);
	else
		vm->metadata = required_field(m, JVM_FACT_NMETHOD_METADATA);
	if (vm->metadata.base == JVM_VALUE)
		vm->metadata.base = JVM_FROM_BLOB;
	if (!vm->metadata.width)
		m->invalid = true;
}

/* The hash is in the upper half of the word with the reference count, or in a field of its own. */
static uint16_t symbol_hash(struct layout_builder *m)
{
	if (has(m, JVM_FACT_SYMBOL_HASH))
		return small_number(m, JVM_FACT_SYMBOL_HASH) + 2;
	return number_of_either(m, JVM_FACT_SYMBOL_HASH_11, JVM_FACT_SYMBOL_LENGTH);
}

static void set_symbol_fields(struct layout_builder *m)
{
	struct jvm_vm *vm = m->out;
	enum jvm_fact flags =
		has(m, JVM_FACT_CONST_FLAGS) ? JVM_FACT_CONST_FLAGS : JVM_FACT_CONST_FLAGS_21;

	vm->method_const = small_number(m, JVM_FACT_METHOD_CONST);
	vm->const_bytes = small_number(m, JVM_FACT_SIZE_CONST);
	vm->const_pool = small_number(m, JVM_FACT_CONST_POOL);
	vm->const_size = small_number(m, JVM_FACT_CONST_SIZE);
	vm->const_flags = small_number(m, flags);
	vm->const_flags_bytes = m->facts[flags].width;
	vm->code_size = small_number(m, JVM_FACT_CONST_CODE_SIZE);
	vm->name_index = small_number(m, JVM_FACT_CONST_NAME);
	vm->signature_index = small_number(m, JVM_FACT_CONST_SIGNATURE);
	vm->pool_bytes = small_number(m, JVM_FACT_SIZE_POOL);
	vm->pool_holder = small_number(m, JVM_FACT_POOL_HOLDER);
	vm->pool_length = small_number(m, JVM_FACT_POOL_LENGTH);
	vm->klass_name = small_number(m, JVM_FACT_KLASS_NAME);
	vm->symbol_length = small_number(m, JVM_FACT_SYMBOL_LENGTH);
	vm->symbol_body = small_number(m, JVM_FACT_SYMBOL_BODY);
	vm->symbol_hash = symbol_hash(m);
	vm->has_lines = number_of_either(m, JVM_FACT_HAS_LINES, JVM_FACT_HAS_LINES_21);
	if (has(m, JVM_FACT_POOL_SOURCE))
		vm->pool_source = small_number(m, JVM_FACT_POOL_SOURCE);
	else
		vm->klass_source = small_number(m, JVM_FACT_KLASS_SOURCE);
}

int jvm_layout(const struct jvm_found facts[JVM_FACT_MAX], struct jvm_vm *out)
{
	struct jvm_vm vm = { 0 };
	struct layout_builder m = { facts, &vm, false };

	set_blob_fields(&m);
	set_deopt_fields(&m);
	set_scope_fields(&m);
	set_symbol_fields(&m);
	/* Version 8 has a single heap, and is the only one without CodeCache::_heaps. */
	vm.frame_bcp = has(&m, JVM_FACT_HEAPS) ? BCP : BCP_8;
	vm.blob_bytes = (uint16_t)((vm.blob_bytes + 7) & ~7);
	if (m.invalid)
		return -ENOENT;
	memcpy(vm.symbols, out->symbols, sizeof(vm.symbols));
	vm.entry_pc = out->entry_pc;
	*out = vm;
	return 0;
}
