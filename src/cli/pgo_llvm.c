/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample counts at the address that it hit, not at those of its callers: LLVM expects how often
 * code runs, and the time in a callee does not show how often the caller runs.
 */
#include "cli/pgo_llvm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "cli/recorded_file.h"
#include "pgo/llvm_profile.h"
#include "profile/profile.h"

enum { FRAMES_MAX = 128 };

struct hit {
	uint32_t mapping;
	uint64_t address;
	uint64_t count; /* in units of the sample type */
};

struct hits {
	VEC(struct hit);
};

/* The lookup of the addresses of one mapping. */
struct batch {
	struct pgo_llvm *m;
	struct llvm_profile *profile;
	const struct hit *hits;
	uint64_t *vaddrs;
	size_t n;
};

static int by_address(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	if (x->mapping != y->mapping)
		return x->mapping < y->mapping ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* Collects the addresses of the executable that samples hit, each once, in order. */
static int collect(const struct pgo_llvm *m, struct hits *hits)
{
	size_t n = 0;

	for (uint32_t i = 0; i < profile_n_samples(m->p); i++) {
		struct profile_sample s = profile_sample(m->p, i);
		int64_t v = s.values[m->value_num];
		struct profile_location l;
		size_t depth;
		const uint32_t *ids = profile_stack(m->p, s.stack, &depth);

		if (!depth || v <= 0)
			continue;
		l = profile_location(m->p, ids[0]);
		if (l.mapping == PROFILE_NONE || profile_mapping(m->p, l.mapping)->file != m->file)
			continue;
		if (vec_push(hits, (struct hit){ l.mapping, l.address, (uint64_t)v }) < 0)
			return -ENOMEM;
	}
	if (hits->len)
		qsort(hits->data, hits->len, sizeof(*hits->data), by_address);
	for (size_t i = 0; i < hits->len; i++) {
		if (n && !by_address(&hits->data[n - 1], &hits->data[i]))
			hits->data[n - 1].count += hits->data[i].count;
		else
			hits->data[n++] = hits->data[i];
	}
	hits->len = n;
	return 0;
}

static uint64_t samples_of(const struct pgo_llvm *m, const struct hit *h)
{
	return (h->count + m->period / 2) / m->period;
}

static int on_frames(void *ctx, size_t cookie, const struct symbol_frame *frames, size_t n)
{
	struct llvm_frame out[FRAMES_MAX];
	struct batch *b = ctx;
	uint64_t count = samples_of(b->m, &b->hits[cookie]);
	int r;

	if (n > FRAMES_MAX || !count)
		return 0;
	for (size_t i = 0; i < n; i++)
		out[i] = (struct llvm_frame){ frames[i].system_name, frames[i].line,
					      frames[i].start_line, frames[i].discriminator };
	r = llvm_profile_add(b->profile, out, n, count);
	if (r == 0)
		b->m->n_used += count;
	return r == -ENODATA ? 0 : r;
}

/* Looks up the @n addresses at @hits, all in one mapping. */
static int add_mapping(struct pgo_llvm *m, struct symbolizer *s, struct llvm_profile *profile,
		       const struct hit *hits, size_t n, struct err *err)
{
	_cleanup_(recorded_file_freep) struct recorded_file *f = NULL;
	_cleanup_(freep) uint64_t *vaddrs = calloc(n + 1, sizeof(*vaddrs));
	struct batch b = { .m = m, .profile = profile, .hits = hits, .vaddrs = vaddrs, .n = n };
	int r = recorded_file_open(&f, m->p, hits[0].mapping, m->path, s, err);

	if (r < 0)
		return r;
	if (!vaddrs)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		m->n_samples += samples_of(m, &hits[i]);
		if (recorded_file_vaddr(f, hits[i].address, &vaddrs[i]) < 0)
			vaddrs[i] = UINT64_MAX; /* in no segment, so it has no name */
	}
	r = recorded_file_resolve(f, vaddrs, n, on_frames, &b);
	return r < 0 ? err_set(err, r, "\"%.120s\": %s", recorded_file_path(f), strerror(-r)) : 0;
}

static int add_hits(struct pgo_llvm *m, const struct hits *hits, struct llvm_profile *profile,
		    struct err *err)
{
	const struct symbolizer_opts opts = { .demangle = DEMANGLE_NO };
	_cleanup_(symbolizer_freep) struct symbolizer *s = NULL;
	size_t end;
	int r = symbolizer_new(&s, &opts);

	if (r < 0)
		return err_set(err, r, "out of memory");
	for (size_t i = 0; r == 0 && i < hits->len; i = end) {
		for (end = i + 1; end < hits->len; end++)
			if (hits->data[end].mapping != hits->data[i].mapping)
				break;
		r = add_mapping(m, s, profile, &hits->data[i], end - i, err);
	}
	return r;
}

int pgo_llvm_make(struct pgo_llvm *m, struct buf *out, struct err *err)
{
	_cleanup_(llvm_profile_freep) struct llvm_profile *profile = NULL;
	struct hits hits = { 0 };
	int r = llvm_profile_new(&profile);

	if (r == 0)
		r = collect(m, &hits);
	if (r < 0)
		err_set(err, r, "out of memory");
	if (r == 0)
		r = add_hits(m, &hits, profile, err);
	vec_fini(&hits);
	if (r < 0)
		return r;
	m->n_functions = llvm_profile_n_functions(profile);
	if (!m->n_functions)
		return err_set(err, -ENODATA,
			       "\"%.100s\" has no lines for the recorded addresses: build it with "
			       "clang -g -fdebug-info-for-profiling",
			       profile_string(m->p, m->file));
	r = llvm_profile_write(profile, out);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}
