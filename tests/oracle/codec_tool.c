/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codecs as commands for test scripts:
 *
 *	codec-tool sample SEED OUT   write a profile of tests/unit/codec/fixture.h (0: fixed)
 *	codec-tool convert IN OUT    convert from any format to that of OUT's suffix
 *	codec-tool sum IN            print the sum of each sample type
 *	codec-tool time IN OUT       convert, and print the times of reading and writing
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "codec/format.h"
#include "profile/profile.h"
#include "tests/unit/codec/fixture.h"

static int fail(const char *name, const struct err *err)
{
	fprintf(stderr, "codec-tool: %s: %s\n", name, err->msg);
	return 1;
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int load(const char *name, struct buf *out)
{
	_cleanup_(fclosep) FILE *f = fopen(name, "rb");
	uint8_t chunk[65536];
	size_t n;

	if (!f)
		return -1;
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		buf_put(out, chunk, n);
	return ferror(f) ? -1 : buf_error(out);
}

static int read_profile(const char *name, struct profile **out, double *out_ms)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct err err = { 0 };
	double start;
	int r;

	if (load(name, &b) < 0) {
		perror(name);
		return 1;
	}
	start = now_ms();
	r = format_read(out, b.data, b.len, NULL, &err);
	*out_ms = now_ms() - start;
	return r < 0 ? fail(name, &err) : 0;
}

static int write_profile(const char *name, const struct profile *p, double *out_ms)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	const struct format *format = format_by_name(name);
	struct err err = { 0 };
	double start = now_ms();
	FILE *f;

	if (!format) {
		fprintf(stderr, "codec-tool: %s: not one of %s\n", name, format_suffixes());
		return 1;
	}
	if (format_write(format, p, NULL, &b, &err) < 0)
		return fail(name, &err);
	*out_ms = now_ms() - start;
	f = fopen(name, "wb");
	if (!f || fwrite(b.data, 1, b.len, f) != b.len || fclose(f) != 0) {
		perror(name);
		return 1;
	}
	return 0;
}

static struct profile *sample(uint32_t seed)
{
	const struct fixture_size size = {
		.n_samples = seed < 1000 ? 300 : 60000,
		.n_functions = seed < 1000 ? 100 : 20000,
		.n_mappings = 5,
		.n_labels = 4,
		.depth = 40,
	};

	return seed ? fixture_random(seed, &size) : fixture_small();
}

static void print_sums(const struct profile *p)
{
	for (size_t k = 0; k < profile_n_sample_types(p); k++) {
		struct profile_value_type t = profile_sample_type(p, k);
		int64_t sum = 0;

		for (uint32_t i = 0; i < profile_n_samples(p); i++)
			sum += profile_sample(p, i).values[k];
		printf("%s/%s %" PRId64 "\n", profile_string(p, t.type), profile_string(p, t.unit),
		       sum);
	}
}

int main(int argc, char **argv)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	double read_ms = 0, write_ms = 0;
	int r;

	if (argc == 4 && !strcmp(argv[1], "sample")) {
		p = sample((uint32_t)strtoul(argv[2], NULL, 10));
		return write_profile(argv[3], p, &write_ms);
	}
	if (argc < 3 || read_profile(argv[2], &p, &read_ms))
		return 1;
	if (argc == 3 && !strcmp(argv[1], "sum")) {
		print_sums(p);
		return 0;
	}
	r = argc == 4 ? write_profile(argv[3], p, &write_ms) : 1;
	if (r == 0 && !strcmp(argv[1], "time"))
		printf("read %.1f ms, write %.1f ms\n", read_ms, write_ms);
	return r;
}
