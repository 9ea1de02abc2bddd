/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a function in the list of modules, as bpf/lib/lang/beam_code.h does, but in all generations
 * of that list: the process has run since the sample.
 */
#include <errno.h>
#include <stdbool.h>

#include "lang/beam/beam.h"
#include "lang/find.h"

enum { SPAN_MAX = 1 << 28 }; /* bytes of a module */

int beam_read_bytes(const struct lang_process *p, uint64_t addr, void *out, size_t len)
{
	return p->read(p->ctx, addr, out, len) < 0 ? -EFAULT : 0;
}

/*
 * Finds the last of @n sorted entries of @stride bytes at @table that is not above @addr, the first
 * one included.
 */
static int bisect(const struct lang_process *p, uint64_t table, uint64_t n, uint32_t stride,
		  uint64_t addr, uint64_t *out)
{
	uint64_t lo = 0, entry;

	while (n > 1) {
		uint64_t half = n / 2;
		int r = lang_read_u64(p, table + (lo + half) * stride, &entry);

		if (r < 0)
			return r;
		if (entry <= addr)
			lo += half;
		n -= half;
	}
	*out = lo;
	return 0;
}

/* Finds where the module that contains @addr begins, in generation @generation. */
static int find_module(const struct beam_process *b, uint32_t generation, uint64_t addr,
		       uint64_t *out)
{
	uint64_t ranges[3], range[2], i;
	int r = beam_read_bytes(b->p,
				b->bias + b->vm->ranges + (uint64_t)generation * BEAM_RANGES_BYTES,
				ranges, sizeof(ranges));

	if (r < 0)
		return r;
	if (!ranges[1] || ranges[1] > ranges[2] || ranges[1] > BEAM_MODULES_MAX)
		return -ENOENT;
	r = bisect(b->p, ranges[0], ranges[1], BEAM_RANGE_BYTES, addr, &i);
	if (r == 0)
		r = beam_read_bytes(b->p, ranges[0] + i * BEAM_RANGE_BYTES, range, sizeof(range));
	if (r < 0)
		return r;
	if (addr < range[0] || addr >= range[1] || range[1] - range[0] > SPAN_MAX)
		return -ENOENT;
	*out = range[0];
	return 0;
}

/* Reads the function out->info, which begins at an entry of the table of its module. */
static int read_function(const struct beam_process *b, struct beam_function *out)
{
	uint64_t n, i = 0, entry, md5, table = out->module + b->vm->functions;
	int r = lang_read_u64(b->p, out->module, &n);

	if (r == 0 && (!n || n > BEAM_FUNCTIONS_MAX))
		return -EBADMSG;
	if (r == 0)
		r = bisect(b->p, table, n, 8, out->info, &i);
	if (r == 0)
		r = lang_read_u64(b->p, table + i * 8, &entry);
	if (r == 0 && entry != out->info)
		return -ENOENT;
	if (r == 0)
		r = beam_read_bytes(b->p, out->info + BEAM_INFO_MFA, out->mfa, sizeof(out->mfa));
	if (r == 0)
		r = lang_read_u64(b->p, table - BEAM_HEADER_MD5, &md5);
	if (r == 0)
		r = lang_read_u64(b->p, md5, &out->md5);
	if (r < 0)
		return r;
	out->index = (uint32_t)i;
	return beam_is_atom(out->mfa[0]) && beam_is_atom(out->mfa[1]) &&
			       out->mfa[2] <= BEAM_ARITY_MAX
		       ? 0
		       : -EBADMSG;
}

int beam_find(const struct beam_process *b, uint64_t info, struct beam_function *out)
{
	int result = -ENOENT;

	*out = (struct beam_function){ .info = info };
	for (uint32_t i = 0; i < BEAM_GENERATIONS; i++) {
		int r = find_module(b, i, info, &out->module);

		if (r == 0)
			r = read_function(b, out);
		if (r == 0)
			return 0;
		if (r != -ENOENT)
			result = r;
	}
	return result;
}
