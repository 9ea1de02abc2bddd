/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/frame_name.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "profile/profile.h"

uint32_t profile_location_n_frames(const struct profile_location *l)
{
	return l->n_lines ? l->n_lines : 1;
}

bool profile_frame_inlined(const struct profile_location *l, uint32_t i)
{
	return i + 1 < l->n_lines;
}

/* Reduces "/usr/lib/libc.so.6" to "libc.so.6" and "[kernel.kallsyms]" to "kernel.kallsyms". */
static void put_mapping_name(struct buf *out, const char *file)
{
	const char *slash = strrchr(file, '/');
	size_t len;

	if (file[0] == '[') {
		file++;
		len = strcspn(file, "]");
	} else {
		file = slash && slash[1] ? slash + 1 : file;
		len = strlen(file);
	}
	buf_put(out, file, len);
}

/*
 * An address becomes an offset in the file, for which pprof stores where the mapping starts and at
 * which offset in the file: values of different processes and machines are then equal. A hostile
 * mapping makes the subtraction wrap around, which shows a wrong number.
 */
static void put_address(const struct profile *p, const struct profile_location *l, struct buf *out)
{
	const struct profile_mapping *m;

	if (l->mapping == PROFILE_NONE) {
		buf_printf(out, "[0x%" PRIx64 "]", l->address);
		return;
	}
	m = profile_mapping(p, l->mapping);
	buf_put_byte(out, '[');
	put_mapping_name(out, m->file ? profile_string(p, m->file) : "unknown");
	buf_printf(out, "+0x%" PRIx64 "]", l->address - m->start + m->file_off);
}

void profile_put_frame_name(const struct profile *p, const struct profile_location *l, uint32_t i,
			    struct buf *out)
{
	const struct profile_function *f;
	uint32_t name = 0;

	if (i < l->n_lines) {
		f = profile_function(p, l->lines[i].function);
		name = f->name ? f->name : f->system_name;
	}
	if (name)
		buf_put(out, profile_string(p, name), profile_string_len(p, name));
	else
		put_address(p, l, out);
}
