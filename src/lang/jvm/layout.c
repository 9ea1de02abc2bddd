/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From facts to a layout. Versions say the same in different ways: as an
 * address, as an offset from the blob, from its code, or in memory that goes
 * with it. What no version exports is fixed here: the slots of interpreted frames.
 */
#include <errno.h>
#include <string.h>

#include "lang/jvm/jvm.h"

enum {
	OFFSET_MAX = 4096,
	BCP_8 = 7 * 8, /* 8: an interpreted frame has no slot for the mirror */
	BCP = 8 * 8,
};

struct maker {
	const struct jvm_found *facts;
	struct jvm_vm *out;
	bool bad;
};

static bool has(const struct maker *m, enum jvm_fact f)
{
	return m->facts[f].found;
}

/* A field in a blob's head; one that is missing is left out. */
static struct jvm_field blob_field(struct maker *m, enum jvm_fact f, enum jvm_base base)
{
	const struct jvm_found *x = &m->facts[f];
	uint64_t end = x->value + x->width;

	if (!x->found)
		return (struct jvm_field){ 0 };
	if (x->value >= JVM_BLOB_BYTES || end > JVM_BLOB_BYTES || x->value % x->width) {
		m->bad = true;
		return (struct jvm_field){ 0 };
	}
	if (end > m->out->blob_bytes)
		m->out->blob_bytes = (uint16_t)end;
	return (struct jvm_field){ (uint16_t)x->value, x->width, (uint8_t)base };
}

/* The first of two that this version has; one of them it must have. */
static struct jvm_field either(struct maker *m, enum jvm_fact a, enum jvm_base base_a,
			       enum jvm_fact b, enum jvm_base base_b)
{
	if (!has(m, a) && !has(m, b))
		m->bad = true;
	return has(m, a) ? blob_field(m, a, base_a) : blob_field(m, b, base_b);
}

static struct jvm_field required(struct maker *m, enum jvm_fact f)
{
	return either(m, f, JVM_VALUE, f, JVM_VALUE);
}

/* A small number: an offset, or a type's size. */
static uint16_t number(struct maker *m, enum jvm_fact f)
{
	if (!has(m, f) || m->facts[f].value > OFFSET_MAX) {
		m->bad = true;
		return 0;
	}
	return (uint16_t)m->facts[f].value;
}

static uint16_t number_of(struct maker *m, enum jvm_fact a, enum jvm_fact b)
{
	return number(m, has(m, a) ? a : b);
}

static void make_blob(struct maker *m)
{
	struct jvm_vm *vm = m->out;

	vm->block_bytes = number(m, JVM_FACT_SIZE_HEAP_BLOCK);
	vm->nmethod_size = number(m, JVM_FACT_SIZE_NMETHOD);
	if (has(m, JVM_FACT_BLOCK_USED) && m->facts[JVM_FACT_BLOCK_USED].value < vm->block_bytes)
		vm->block_used = (uint8_t)m->facts[JVM_FACT_BLOCK_USED].value;
	vm->name = required(m, JVM_FACT_BLOB_NAME);
	vm->header_size = required(m, JVM_FACT_BLOB_HEADER_SIZE);
	vm->frame_size = required(m, JVM_FACT_BLOB_FRAME_SIZE);
	vm->frame_complete = required(m, JVM_FACT_BLOB_FRAME_COMPLETE);
	vm->code = either(m, JVM_FACT_BLOB_CODE_BEGIN, JVM_VALUE, JVM_FACT_BLOB_CODE_OFFSET,
			  JVM_FROM_BLOB);
	vm->entry = either(m, JVM_FACT_NMETHOD_ENTRY, JVM_VALUE, JVM_FACT_NMETHOD_ENTRY_OFFSET,
			   JVM_FROM_CODE);
	vm->method =
		either(m, JVM_FACT_NMETHOD_METHOD, JVM_VALUE, JVM_FACT_COMPILED_METHOD, JVM_VALUE);
	vm->compile_id = required(m, JVM_FACT_NMETHOD_COMPILE_ID);
	vm->orig_pc = required(m, JVM_FACT_NMETHOD_ORIG_PC);
}

static void make_deopt(struct maker *m)
{
	struct jvm_field *deopt = m->out->deopt;

	if (has(m, JVM_FACT_COMPILED_DEOPT)) {
		deopt[0] = blob_field(m, JVM_FACT_COMPILED_DEOPT, JVM_VALUE);
		deopt[1] = blob_field(m, JVM_FACT_COMPILED_DEOPT_MH, JVM_VALUE);
	} else if (has(m, JVM_FACT_NMETHOD_DEOPT_8)) {
		deopt[0] = blob_field(m, JVM_FACT_NMETHOD_DEOPT_8, JVM_FROM_BLOB);
		deopt[1] = blob_field(m, JVM_FACT_NMETHOD_DEOPT_MH_8, JVM_FROM_BLOB);
	} else {
		deopt[0] = either(m, JVM_FACT_NMETHOD_DEOPT, JVM_FROM_BLOB,
				  JVM_FACT_NMETHOD_DEOPT_ENTRY, JVM_FROM_BLOB);
		deopt[1] = blob_field(m, JVM_FACT_NMETHOD_DEOPT_MH, JVM_FROM_BLOB);
	}
	if (!deopt[1].width)
		deopt[1] = deopt[0];
}

/* Debug information of compiled methods. */
static void make_scopes(struct maker *m)
{
	struct jvm_vm *vm = m->out;
	bool outside = has(m, JVM_FACT_NMETHOD_IMMUTABLE);
	enum jvm_base base = outside ? JVM_FROM_IMMUTABLE : JVM_FROM_BLOB;

	vm->immutable_data = blob_field(m, JVM_FACT_NMETHOD_IMMUTABLE, JVM_VALUE);
	vm->mutable_data = blob_field(m, JVM_FACT_BLOB_MUTABLE_DATA, JVM_VALUE);
	vm->scopes_data = either(m, JVM_FACT_COMPILED_SCOPES_DATA, JVM_VALUE,
				 JVM_FACT_NMETHOD_SCOPES_DATA, base);
	vm->scopes_pcs =
		either(m, JVM_FACT_NMETHOD_SCOPES_PCS, base, JVM_FACT_NMETHOD_SCOPES_PCS, base);
	/* what lies behind them: dependencies, or the scopes themselves */
	vm->pcs_end = has(m, JVM_FACT_NMETHOD_DEPENDENCIES) && !outside
			      ? blob_field(m, JVM_FACT_NMETHOD_DEPENDENCIES, base)
			      : vm->scopes_data;
	if (has(m, JVM_FACT_BLOB_MUTABLE_DATA))
		vm->metadata = blob_field(m, JVM_FACT_BLOB_RELOCATION_SIZE, JVM_FROM_MUTABLE);
	else
		vm->metadata = required(m, JVM_FACT_NMETHOD_METADATA);
	if (vm->metadata.base == JVM_VALUE)
		vm->metadata.base = JVM_FROM_BLOB;
	if (!vm->metadata.width)
		m->bad = true;
}

/* Above the count of references, or a field of its own. */
static uint16_t symbol_hash(struct maker *m)
{
	if (has(m, JVM_FACT_SYMBOL_HASH))
		return number(m, JVM_FACT_SYMBOL_HASH) + 2;
	return number_of(m, JVM_FACT_SYMBOL_HASH_11, JVM_FACT_SYMBOL_LENGTH);
}

static void make_names(struct maker *m)
{
	struct jvm_vm *vm = m->out;
	enum jvm_fact flags =
		has(m, JVM_FACT_CONST_FLAGS) ? JVM_FACT_CONST_FLAGS : JVM_FACT_CONST_FLAGS_21;

	vm->method_const = number(m, JVM_FACT_METHOD_CONST);
	vm->const_bytes = number(m, JVM_FACT_SIZE_CONST);
	vm->const_pool = number(m, JVM_FACT_CONST_POOL);
	vm->const_size = number(m, JVM_FACT_CONST_SIZE);
	vm->const_flags = number(m, flags);
	vm->const_flags_bytes = m->facts[flags].width;
	vm->code_size = number(m, JVM_FACT_CONST_CODE_SIZE);
	vm->name_index = number(m, JVM_FACT_CONST_NAME);
	vm->signature_index = number(m, JVM_FACT_CONST_SIGNATURE);
	vm->pool_bytes = number(m, JVM_FACT_SIZE_POOL);
	vm->pool_holder = number(m, JVM_FACT_POOL_HOLDER);
	vm->pool_length = number(m, JVM_FACT_POOL_LENGTH);
	vm->klass_name = number(m, JVM_FACT_KLASS_NAME);
	vm->symbol_length = number(m, JVM_FACT_SYMBOL_LENGTH);
	vm->symbol_body = number(m, JVM_FACT_SYMBOL_BODY);
	vm->symbol_hash = symbol_hash(m);
	vm->has_lines = number_of(m, JVM_FACT_HAS_LINES, JVM_FACT_HAS_LINES_21);
	if (has(m, JVM_FACT_POOL_SOURCE))
		vm->pool_source = number(m, JVM_FACT_POOL_SOURCE);
	else
		vm->klass_source = number(m, JVM_FACT_KLASS_SOURCE);
}

int jvm_layout(const struct jvm_found facts[JVM_FACT_MAX], struct jvm_vm *out)
{
	struct jvm_vm vm = { 0 };
	struct maker m = { facts, &vm, false };

	make_blob(&m);
	make_deopt(&m);
	make_scopes(&m);
	make_names(&m);
	/* 8 has one heap */
	vm.frame_bcp = has(&m, JVM_FACT_HEAPS) ? BCP : BCP_8;
	vm.blob_bytes = (uint16_t)((vm.blob_bytes + 7) & ~7);
	if (m.bad)
		return -ENOENT;
	memcpy(vm.symbols, out->symbols, sizeof(vm.symbols));
	*out = vm;
	return 0;
}
