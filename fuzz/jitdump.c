/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a jitdump in two pieces for some addresses. */
#include "symbol/jitdump.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/jit_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct jit_input in;
	struct jit_places places = { 0 };
	uint64_t addrs[160], at = 0;

	in = (struct jit_input){ .fd = memfd_create("fuzz", MFD_CLOEXEC), .end = len / 2 };
	for (uint64_t i = 0; i < 160; i++)
		addrs[i] = i * 0x101;
	if (in.fd < 0 || write(in.fd, data, len) != (ssize_t)len ||
	    jit_places_add(&places, addrs, 160) < 0)
		abort();
	(void)jitdump_scan(&in, &at, &places);
	in.end = len;
	if (jitdump_scan(&in, &at, &places) == -EAGAIN) {
		at = 0;
		(void)jitdump_scan(&in, &at, &places);
	}
	for (size_t i = 0; i < places.len; i++) {
		const struct jit_place *p = &places.data[i];

		if ((p->size && p->addr - p->start >= p->size) || p->name.off + p->name.len > len ||
		    p->file.off + p->file.len > len)
			abort();
	}
	vec_fini(&places);
	close(in.fd);
	return 0;
}
