/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbol/jit_scan.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/test.h"

void jit_scan_open(struct jit_scan *s, const void *data, size_t len, const uint64_t *addrs,
		   size_t n)
{
	memset(s, 0, sizeof(*s));
	s->in.fd = memfd_create("jit", MFD_CLOEXEC);
	assert_true(s->in.fd >= 0);
	assert_int_equal(write(s->in.fd, data, len), len);
	s->in.end = len;
	assert_int_equal(jit_places_add(&s->places, addrs, n), 0);
}

void jit_scan_close(struct jit_scan *s)
{
	close(s->in.fd);
	vec_fini(&s->places);
}

void jit_scan_check_text(const struct jit_scan *s, const struct jit_text *t, const char *expected)
{
	char text[JIT_NAME_MAX + 1] = "";

	assert_int_equal(t->len, strlen(expected));
	assert_int_equal(pread(s->in.fd, text, t->len, (off_t)t->off), t->len);
	assert_string_equal(text, expected);
}

const struct jit_place *jit_scan_check(const struct jit_scan *s, uint64_t addr,
				       const char *expected)
{
	const struct jit_place *p = &s->places.data[jit_places_from(&s->places, addr)];

	assert_int_equal(p->addr, addr);
	assert_int_equal(!!p->size, !!expected);
	if (expected) {
		assert_true(addr - p->start < p->size);
		jit_scan_check_text(s, &p->name, expected);
	}
	return p;
}
