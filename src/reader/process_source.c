/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/process_source.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "elf/image.h"
#include "lang/tasks/task_memory.h"
#include "roles/role.h"

enum { MAPPED_BYTES = 4096 }; /* mappings begin at multiples, in memory and in files */

/* ---- memory ---------------------------------------------------------------------------------- */

/* Offsets are signed, so addresses in the upper half cannot be read. */
static int read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	const int *fd = ctx;
	ssize_t n;

	if (addr > INT64_MAX)
		return -EFAULT;
	do
		n = pread(*fd, dst, len, (off_t)addr);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (size_t)n == len ? 0 : -EFAULT;
}

struct task_memory *process_source_memory(const int *fd, uint32_t limit_ms)
{
	struct task_memory *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->read = read_memory;
	m->ctx = (void *)(uintptr_t)fd;
	m->deadline_ns = clock_monotonic_ns() + (uint64_t)limit_ms * CLOCK_MS_NS;
	return m;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* True if the process has mapped the segment at @code_off. */
static bool is_mapped(const struct elf_segment *seg, uint64_t code_off)
{
	return code_off == PROCESS_PROGRAM ||
	       seg->file_off - seg->file_off % MAPPED_BYTES == code_off;
}

/* For a program, the kernel reports the address of its lowest executable segment. */
static int find_bias(const struct elf_image *img, uint64_t code_addr, uint64_t code_off,
		     uint64_t *out)
{
	const struct elf_segment *segs;
	size_t n = elf_image_segments(img, &segs);
	uint64_t lowest = UINT64_MAX;

	for (size_t i = 0; i < n; i++)
		if (segs[i].exec && segs[i].vaddr < lowest && is_mapped(&segs[i], code_off))
			lowest = segs[i].vaddr;
	if (lowest == UINT64_MAX)
		return -ENOENT;
	if (code_off != PROCESS_PROGRAM)
		lowest -= lowest % MAPPED_BYTES;
	*out = code_addr - lowest;
	return 0;
}

int process_source_open(int fd, uint64_t code_addr, uint64_t code_off, struct elf_image **out,
			uint64_t *out_bias)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	int r = elf_image_open(&img, fd, NULL);

	if (r == 0)
		r = find_bias(img, code_addr, code_off, out_bias);
	if (r == 0)
		*out = steal_ptr(&img);
	return r;
}

/* ---- the result ------------------------------------------------------------------------------ */

int process_source_send(struct role_call *call, const struct buf *b, size_t max)
{
	int r = buf_error(b);

	if (r == 0 && b->len > max)
		r = -EFBIG;
	return r < 0 ? r : role_call_stream(call, 0, b->data, b->len);
}
