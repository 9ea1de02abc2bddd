/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/facts_message.h"

const struct file_facts *file_facts_check(const void *data, size_t len)
{
	const struct file_facts *f = data;

	if (len != sizeof(*f) || f->is_elf > 1 || f->build_id.len > ELF_BUILD_ID_MAX ||
	    (f->build_id.len && !f->is_elf))
		return NULL;
	return f;
}
