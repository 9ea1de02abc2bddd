/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo symbols FILE [ADDRESS...]`: symbolizes addresses of a file and prints them in the format
 * of `addr2line -a -f -i`, for debugging and for comparison with it. Addresses are looked up in
 * batches, as in a recording, so it also measures the symbolizer.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/regular_file.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/network.h"
#include "cli/text.h"
#include "opener/opener.h"
#include "options/arguments.h"
#include "symbol/facts.h"
#include "symbol/symbol_cache.h"
#include "symbol/symbolizer.h"

/* Addresses per call of the symbolizer; a batch is printed before the next one is looked up. */
enum { BATCH = 4096, ADDRESS_DIGITS = 16, LINE_CAP = 64 };

struct addrs {
	VEC(uint64_t);
};

struct symbols_args {
	unsigned int demangle; /* enum demangle_mode */
	bool offsets, no_dwarf, all, stats;
	char *debuginfod, *debuginfod_cache, *symbol_cache;
};

#define OPTION_VALUES struct symbols_args

static const struct option_spec options[] = {
	OPTION(CHOICE, 0, "demangle", "full|short|no", demangle,
	       "Show names in full, short (without parameters and template arguments) or, with no, "
	       "as stored in the file",
	       .preset = "full"),
	OPTION(FLAG, 0, "offsets", NULL, offsets, "Interpret ADDRESS as an offset in the file"),
	OPTION(FLAG, 0, "no-dwarf", NULL, no_dwarf,
	       "Use symbol tables only, without debug information (DWARF)"),
	OPTION(FLAG, 0, "all", NULL, all,
	       "Name functions without a symbol by the file and the address where they begin, as "
	       "recordings do, for example [libz.so.1+0x4970]"),
	OPTION(TEXT, 0, "debuginfod", "URLS", debuginfod,
	       "Download missing debug information from these servers, separated by spaces",
	       .preset = "$DEBUGINFOD_URLS", .flags = OPTION_LAZY_PRESET),
	OPTION(TEXT, 0, "debuginfod-cache", "DIR", debuginfod_cache,
	       "Store files downloaded from --debuginfod in DIR"),
	OPTION(TEXT, 0, "symbol-cache", "DIR", symbol_cache,
	       "Cache sorted symbol tables in DIR, at most 256 MiB"),
	OPTION(FLAG, 0, "stats", NULL, stats,
	       "Print where symbols were found, and how the process that reads debug information "
	       "is confined"),
	{ 0 },
};

/* The symbols of one batch as text. */
struct symbolized {
	struct buf text;
	size_t start[BATCH]; /* of each address in @text, plus 1; 0: no symbol */
	bool raw;
};

/*
 * Called in any order of addresses; texts are stored and printed in the order of the command line.
 */
static int on_symbol(void *ctx, size_t i, const struct symbol_frame *f, size_t n)
{
	struct symbolized *a = ctx;

	a->start[i] = a->text.len + 1;
	for (size_t k = 0; k < n; k++) {
		text_put_safe(&a->text, a->raw ? f[k].system_name : f[k].name);
		buf_put_byte(&a->text, '\n');
		text_put_safe(&a->text, *f[k].file ? f[k].file : "??");
		buf_printf(&a->text, ":%u\n", f[k].line);
	}
	buf_put_byte(&a->text, '\0');
	return 0;
}

/*
 * An address without a symbol is printed as addr2line prints it, with question marks, so that the
 * output always has the same number of records.
 */
static int print_batch(struct symbolizer *s, uint32_t id, const struct symbols_args *args,
		       const uint64_t *addrs, size_t n)
{
	_cleanup_(freep) struct symbolized *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->raw = args->demangle == DEMANGLE_NO;
	r = symbolizer_resolve(s, id, args->offsets ? SYMBOLIZER_OFFSET : SYMBOLIZER_VADDR, addrs,
			       n, on_symbol, a);
	if (r == 0)
		r = buf_error(&a->text);
	for (size_t i = 0; r == 0 && i < n; i++)
		printf("0x%016" PRIx64 "\n%s", addrs[i],
		       a->start[i] ? (char *)a->text.data + a->start[i] - 1 : "??\n??:0\n");
	buf_fini(&a->text);
	return r;
}

/* Appends the address @text: hexadecimal digits, with or without 0x. Returns 0 or -errno. */
static int add_address(struct addrs *addrs, const char *text, struct err *err)
{
	const char *digits = strncasecmp(text, "0x", 2) ? text : text + 2;
	size_t n = strspn(digits, "0123456789abcdefABCDEF");

	if (!n || n > ADDRESS_DIGITS || digits[n])
		return err_set(err, -EINVAL,
			       "invalid address \"%.60s\": expected at most %d hexadecimal digits",
			       text, ADDRESS_DIGITS);
	return vec_push(addrs, strtoull(digits, NULL, 16));
}

/* Reads addresses from standard input, one per line; empty lines are skipped. */
static int read_addrs(struct addrs *addrs, struct err *err)
{
	char line[LINE_CAP];
	int r = 0;

	while (r == 0 && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\r\n")] = '\0';
		r = *line ? add_address(addrs, line, err) : 0;
	}
	return r;
}

/* The addresses are the operands after the file, or come from standard input. */
static int get_addrs(struct addrs *addrs, const struct operands *operands, struct err *err)
{
	int r = 0;

	if (operands->len == 1)
		return read_addrs(addrs, err);
	for (size_t i = 1; i < operands->len && r == 0; i++)
		r = add_address(addrs, operands->data[i], err);
	return r;
}

/* Printed to standard error, so that standard output stays comparable with that of addr2line. */
static void print_stats(struct symbolizer *s)
{
	struct symbolizer_counters c;

	symbolizer_counters(s, &c);
	fprintf(stderr, "symbolizer: %s\n", symbolizer_confinement(s));
	fprintf(stderr, "%" PRIu64 " address%s", c.addresses, c.addresses == 1 ? "" : "es");
	for (int i = 0; i < SYMBOLIZER_SOURCE_MAX; i++)
		if (c.by_source[i])
			fprintf(stderr, ", %s %" PRIu64, symbolizer_source_label(i),
				c.by_source[i]);
	fprintf(stderr, "; %" PRIu64 " bytes of tables, %" PRIu64 " symbolizer restarts\n", c.bytes,
		c.worker_restarts);
}

static const char *open_error(int error)
{
	switch (error) {
	case ENOENT:
		return "No such file, or not a regular file";
	case EFBIG:
		return "the file is on a remote file system and larger than 64 MiB: copy it";
	default:
		return strerror(error);
	}
}

/*
 * Opens the file in another process, because its file system may not respond. Writes the real path,
 * relative to which debug files are searched for.
 */
static int open_file(const char *path, char real[PATH_MAX], struct err *err)
{
	const struct regular_file_query query = { .path = path, .root = -1 };
	struct regular_file_info info;
	char link[64];
	ssize_t n;
	int fd = opener_start(err);

	if (fd < 0)
		return fd;
	fd = regular_file_find(&query, &info);
	if (fd < 0)
		return err_set(err, fd, "cannot open \"%s\": %s", path, open_error(-fd));
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = info.is_copy ? -1 : readlink(link, real, PATH_MAX - 1);
	if (n > 0)
		real[n] = '\0';
	else
		snprintf(real, PATH_MAX, "%s", path);
	return fd;
}

/* Fails if the file has no addresses, or if the symbolizer cannot be started. */
static int check_file(struct symbolizer *s, uint32_t id, const char *path)
{
	const struct symbol_facts *facts = symbolizer_facts(s, id);

	if (!facts)
		return cli_fail("cannot read \"%s\": symbolizer: %s", path,
				symbolizer_confinement(s));
	if (!facts->is_elf)
		return cli_fail("\"%s\": not a 64-bit little-endian ELF file", path);
	return 0;
}

static int symbolize(const char *path, const struct symbols_args *a, const struct addrs *addrs)
{
	_cleanup_(network_close) struct network network = { 0 };
	struct symbolizer_opts opts = {
		.demangle = a->demangle,
		.no_dwarf = a->no_dwarf,
		.name_all = a->all,
		.debuginfod = a->debuginfod ? a->debuginfod : getenv("DEBUGINFOD_URLS"),
		.debuginfod_cache = a->debuginfod_cache,
		.symbol_cache = a->symbol_cache,
	};
	_cleanup_(symbolizer_freep) struct symbolizer *s = NULL;
	char real[PATH_MAX];
	struct err err = { 0 };
	_cleanup_(closep) int fd = open_file(path, real, &err);
	struct symbolizer_file f = { .fd = fd, .root_fd = -1, .debug_fd = -1, .path = real };
	uint32_t id;
	int r;

	if (fd < 0 || network_open(&network, opts.debuginfod ? NETWORK_DOWNLOADS : 0, &err) < 0)
		return cli_fail("%s", err.msg);
	opts.fetcher = network.fetcher;
	r = symbolizer_new(&s, &opts);
	if (r == 0)
		r = symbolizer_add_file(s, &f, &id);
	if (r < 0)
		return cli_fail("\"%s\": %s", path, strerror(-r));
	r = check_file(s, id, path);
	if (r)
		return r;
	for (size_t i = 0; r == 0 && i < addrs->len; i += BATCH)
		r = print_batch(s, id, a, addrs->data + i,
				addrs->len - i < BATCH ? addrs->len - i : BATCH);
	if (r < 0)
		return cli_fail("\"%s\": %s", path, strerror(-r));
	if (a->stats)
		print_stats(s);
	return 0;
}

/* Malformed addresses are usage errors, so they are found before the file is opened. */
static int symbols(const struct symbols_args *a, const struct operands *operands)
{
	struct addrs addrs = { 0 };
	struct err err = { 0 };
	int r;

	if (!operands->len)
		return cli_fail_usage("expected an ELF file as the first argument");
	if (a->symbol_cache && symbol_cache_check(a->symbol_cache, &err) < 0)
		return cli_fail("%s", err.msg);
	r = get_addrs(&addrs, operands, &err);
	if (r < 0)
		r = cli_fail_usage("%s", err.msg[0] ? err.msg : strerror(-r));
	else
		r = symbolize(operands->data[0], a, &addrs);
	vec_fini(&addrs);
	return r;
}

static int run_command(int argc, char **argv)
{
	struct symbols_args a = { 0 };
	const struct option_set sets[] = { { options, &a }, { 0 } };
	struct operands operands = { 0 };
	int r = cli_parse(&symbols_command, sets, 0, argc, argv, &operands);

	if (r == CLI_CONTINUE)
		r = symbols(&a, &operands);
	cli_fini(sets, &operands);
	return r;
}

const struct command symbols_command = {
	.name = "symbols",
	.summary = "symbolize addresses of an executable",
	.synopsis = "[OPTION...] FILE [ADDRESS...]",
	.description =
		"Print the symbols of hexadecimal addresses of an ELF file, in the format of "
		"\"addr2line -a -f -i\": the address, then the function name and FILE:LINE of each "
		"inlined call, innermost first, and of the function itself. Without ADDRESS, "
		"addresses are read from standard input, one per line.",
	.options = COMMAND_OPTIONS(options),
	.examples = COMMAND_EXAMPLES(
		{ "Symbolize an address of bash", "cameo symbols /bin/bash 0x30f90" }),
	.run = run_command,
};
