/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo symbols FILE [ADDRESS...]`: what the symbolizer says of addresses, in
 * the layout of `addr2line -a -f -i`, for debugging and for comparison with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "elf/image.h"
#include "symbol/symbol_cache.h"
#include "symbol/symbolizer.h"

enum { BATCH = 4096 };

struct addrs {
	VEC(uint64_t);
};

struct options {
	struct symbolizer_opts symbolizer;
	enum symbolizer_address kind;
	bool stats, help;
};

/* One batch's answers as text: where each begins in @text, plus 1; 0: no name. */
struct answers {
	struct buf text;
	size_t at[BATCH];
	bool raw;
};

static const char help[] =
	"Usage: cameo symbols [OPTION...] FILE [ADDRESS...]\n"
	"Names addresses of FILE (or those on standard input) as `addr2line -a -f -i` does:\n"
	"the address, then function and file:line of each inlined call and of the function.\n\n"
	"  --demangle=full|short|no  how names are shown (full)\n"
	"  --offsets                 ADDRESS is an offset in the file\n"
	"  --no-dwarf                symbol tables only\n"
	"  --debuginfod=URL...       fetch missing debug files (DEBUGINFOD_URLS)\n"
	"  --debuginfod-cache=DIR    keep them there\n"
	"  --symbol-cache=DIR        keep sorted symbol tables there, at most 256 MiB of them\n"
	"  --stats                   sources of the names, and how the worker is confined\n"
	"\nExample: cameo symbols /bin/bash 0x30f90\n";

static int on_answer(void *ctx, size_t i, const struct symbol_frame *f, size_t n)
{
	struct answers *a = ctx;

	a->at[i] = a->text.len + 1;
	for (size_t k = 0; k < n; k++) {
		buf_printf(&a->text, "%s\n", a->raw ? f[k].system_name : f[k].name);
		buf_printf(&a->text, "%s:%u\n", *f[k].file ? f[k].file : "??", f[k].line);
	}
	buf_put_byte(&a->text, '\0');
	return 0;
}

static int show_batch(struct symbolizer *s, uint32_t id, const struct options *o,
		      const uint64_t *addrs, size_t n)
{
	_cleanup_(freep) struct answers *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->raw = o->symbolizer.demangle == DEMANGLE_NO;
	r = symbolizer_ask(s, id, o->kind, addrs, n, on_answer, a);
	if (r == 0)
		r = buf_error(&a->text);
	for (size_t i = 0; r == 0 && i < n; i++)
		printf("0x%016" PRIx64 "\n%s", addrs[i],
		       a->at[i] ? (char *)a->text.data + a->at[i] - 1 : "??\n??:0\n");
	buf_fini(&a->text);
	return r;
}

static int read_addrs(struct addrs *addrs)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin))
		if (vec_push(addrs, strtoull(line, NULL, 16)) < 0)
			return -ENOMEM;
	return 0;
}

static void show_stats(struct symbolizer *s)
{
	struct symbolizer_counters c;

	symbolizer_counters(s, &c);
	fprintf(stderr, "worker: %s\n", symbolizer_confinement(s));
	fprintf(stderr, "asked %" PRIu64, c.asked);
	for (int i = 0; i < SYMBOLIZER_SOURCE_MAX; i++)
		if (c.by_source[i])
			fprintf(stderr, ", %s %" PRIu64, symbolizer_source_label(i),
				c.by_source[i]);
	fprintf(stderr, "; %" PRIu64 " bytes of tables, %" PRIu64 " worker restarts\n", c.bytes,
		c.worker_restarts);
}

static int run(const char *path, const struct options *o, const struct addrs *addrs)
{
	_cleanup_(symbolizer_freep) struct symbolizer *s = NULL;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(freep) char *real = realpath(path, NULL);
	struct symbolizer_file f = {
		.fd = fd, .root_fd = -1, .debug_fd = -1, .path = real ? real : path
	};
	struct err err = { 0 };
	uint32_t id;
	int r;

	if (fd < 0)
		return cli_fail("can't open %s: %s", path, strerror(errno));
	if (elf_image_open(&img, fd, &err) < 0)
		return cli_fail("%s: %s", path, err.msg);
	r = symbolizer_new(&s, &o->symbolizer);
	if (r == 0)
		r = symbolizer_add_file(s, &f, &id);
	for (size_t i = 0; r == 0 && i < addrs->len; i += BATCH)
		r = show_batch(s, id, o, addrs->data + i,
			       addrs->len - i < BATCH ? addrs->len - i : BATCH);
	if (r < 0)
		return cli_fail("%s: %s", path, strerror(-r));
	if (o->stats)
		show_stats(s);
	return 0;
}

/* Options into @o: 0, or an exit status. */
static int parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "demangle", required_argument, NULL, 'd' },
		{ "offsets", no_argument, NULL, 'o' },
		{ "no-dwarf", no_argument, NULL, 'n' },
		{ "stats", no_argument, NULL, 's' },
		{ "debuginfod", required_argument, NULL, 'u' },
		{ "debuginfod-cache", required_argument, NULL, 'c' },
		{ "symbol-cache", required_argument, NULL, 'k' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct err err = { 0 };
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (c) {
		case 'd':
			if (!demangle_mode_parse(optarg, &o->symbolizer.demangle))
				return cli_fail("--demangle takes full, short or no, not %s",
						optarg);
			break;
		case 'o':
			o->kind = SYMBOLIZER_OFFSET;
			break;
		case 'n':
			o->symbolizer.no_dwarf = true;
			break;
		case 'u':
			o->symbolizer.debuginfod = optarg;
			break;
		case 'c':
			o->symbolizer.debuginfod_cache = optarg;
			break;
		case 'k':
			o->symbolizer.symbol_cache = optarg;
			if (symbol_cache_check(optarg, &err) < 0)
				return cli_fail("%s", err.msg);
			break;
		case 's':
			o->stats = true;
			break;
		case 'h':
			o->help = true;
			break;
		default:
			return EXIT_USAGE;
		}
	}
	return 0;
}

int cli_symbols(int argc, char **argv)
{
	struct options o = {
		.symbolizer.debuginfod = getenv("DEBUGINFOD_URLS"),
		.kind = SYMBOLIZER_VADDR,
	};
	struct addrs addrs = { 0 };
	int r = parse(argc, argv, &o);

	if (r)
		return r;
	if (o.help || optind >= argc) {
		fputs(help, o.help ? stdout : stderr);
		return o.help ? 0 : EXIT_USAGE;
	}
	for (int i = optind + 1; i < argc; i++)
		if (vec_push(&addrs, strtoull(argv[i], NULL, 16)) < 0)
			return cli_fail("out of memory");
	r = optind + 1 < argc ? 0 : read_addrs(&addrs);
	r = r < 0 ? cli_fail("out of memory") : run(argv[optind], &o, &addrs);
	vec_fini(&addrs);
	return r;
}
