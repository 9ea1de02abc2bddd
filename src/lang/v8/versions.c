/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What V8 does not export of itself, by its version. A field that is set stays.
 */
#include "lang/v8/v8.h"

static void set_absent(int32_t *field, int32_t value)
{
	if (*field == V8_ABSENT)
		*field = value;
}

void v8_layout_by_version(struct v8_vm *vm)
{
	struct v8_fields *f = &vm->f;

	set_absent(&f->fp_context, -8);
	set_absent(&f->fp_function, -16);
}
