/* SPDX-License-Identifier: Apache-2.0 */
/* Layout that V8 does not export, by its version. Fields that are set already remain unchanged. */
#include "lang/v8/v8.h"

static void set_absent(int32_t *field, int32_t value)
{
	if (*field == V8_ABSENT)
		*field = value;
}

static bool is_before(const struct v8_vm *vm, uint16_t major, uint16_t minor)
{
	return vm->major < major || (vm->major == major && vm->minor < minor);
}

void v8_layout_by_version(struct v8_vm *vm)
{
	struct v8_fields *f = &vm->f;

	set_absent(&f->fp_context, -8);
	set_absent(&f->fp_function, -16);
	/* Since 8.9 the slot above has the number of arguments. */
	set_absent(&f->fp_bytecode_array, is_before(vm, 8, 9) ? -24 : -32);
	set_absent(&f->fp_bytecode_offset, f->fp_bytecode_array - 8);
	set_absent(&f->shared_data, 8);
	set_absent(&f->bytecode_data, 54);
	/* Not all versions export these, but their values are the same in all versions. */
	set_absent(&f->script_source, 8);
	set_absent(&f->script_name, 16);
	set_absent(&f->script_line_ends, 56);
	set_absent(&f->string_first, 16);
	set_absent(&f->string_second, 24);
	set_absent(&f->string_actual, 16);
	set_absent(&f->string_parent, 16);
	set_absent(&f->string_parent_offset, 24);
	set_absent(&f->string_resource, 16);
}
