/* SPDX-License-Identifier: Apache-2.0 */
/* cameo server: keep profiles and answer questions about them until told to stop. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/cli.h"
#include "cli/listen.h"
#include "cli/server.h"
#include "server/server.h"
#include "store/store.h"

#define DAY_NS 86400000000000LL

struct options {
	const char *listen, *otlp, *dir, *store, *tokens, *basic, *cert, *key, *debuginfod;
	const char *days, *gigabytes, *memory, *range, *seconds, *series;
	int insecure, tenants, store_info;
};

/* Options without a letter. */
enum {
	OPT_BASIC = 256,
	OPT_BYTES,
	OPT_CERT,
	OPT_DAYS,
	OPT_DEBUGINFOD,
	OPT_KEY,
	OPT_MEMORY,
	OPT_OTLP,
	OPT_RANGE,
	OPT_SECONDS,
	OPT_SERIES,
	OPT_STORE,
	OPT_TOKENS,
};

static int usage(FILE *f, int status)
{
	fputs("Usage: cameo server --data DIR|--store URL [OPTION...]\n\n"
	      "Keep profiles that are pushed, show them on a web page, and answer Grafana's\n"
	      "Pyroscope data source.\n\n"
	      "  -d, --data DIR              where profiles are kept\n"
	      "      --store URL             or in a ClickHouse, which several servers may share:\n"
	      "                              clickhouse://[USER[:PASSWORD]@]HOST:PORT/DATABASE\n"
	      "  -l, --listen HOST:PORT      127.0.0.1:4040; port 0 is any that is free\n"
	      "      --otlp-listen HOST:PORT listen there too, for OTLP's own port 4317\n"
	      "      --keep-days N           drop days older than this (30; 0: never)\n"
	      "      --keep-gib N            drop the oldest days beyond this size (10; 0: never)\n"
	      "      --memory MIB            refuse requests beyond so much memory (512; 0: "
	      "never)\n"
	      "      --max-series N          refuse profiles of a service with more sets of labels "
	      "a\n"
	      "                              day (50000; 0: never)\n"
	      "      --debuginfod URLS       ask these servers for debug files of what comes "
	      "unnamed\n"
	      "      --query-days N          refuse questions about more days (0: never)\n"
	      "      --query-seconds N       end questions that take longer (30)\n"
	      "      --auth-token-file FILE  only who has a token of FILE may ask: one a line\n"
	      "      --auth-basic-file FILE  or a name and password: USER:PASSWORD a line; after\n"
	      "                              either a tenant may stand, the only one of this "
	      "client\n"
	      "      --tls-cert FILE         answer by HTTPS with this certificate (PEM),\n"
	      "      --tls-key FILE          and its key\n"
	      "      --tenants               keep apart what X-Scope-OrgID tells apart\n"
	      "      --store-info            say what takes the space, and do nothing else\n"
	      "      --insecure              listen on more than this machine without asking who "
	      "it is\n",
	      f);
	return status;
}

/* Where the text of an option goes; NULL: it is none of these. */
static const char **text_of(struct options *o, int c)
{
	switch (c) {
	case 'd':
		return &o->dir;
	case 'l':
		return &o->listen;
	case OPT_BASIC:
		return &o->basic;
	case OPT_BYTES:
		return &o->gigabytes;
	case OPT_CERT:
		return &o->cert;
	case OPT_DAYS:
		return &o->days;
	case OPT_DEBUGINFOD:
		return &o->debuginfod;
	case OPT_KEY:
		return &o->key;
	case OPT_MEMORY:
		return &o->memory;
	case OPT_OTLP:
		return &o->otlp;
	case OPT_RANGE:
		return &o->range;
	case OPT_SECONDS:
		return &o->seconds;
	case OPT_SERIES:
		return &o->series;
	case OPT_STORE:
		return &o->store;
	case OPT_TOKENS:
		return &o->tokens;
	default:
		return NULL;
	}
}

/* -1: go on; else an exit status. */
static int parse(int argc, char **argv, struct options *out)
{
	const struct option long_options[] = {
		{ "auth-basic-file", required_argument, NULL, OPT_BASIC },
		{ "auth-token-file", required_argument, NULL, OPT_TOKENS },
		{ "data", required_argument, NULL, 'd' },
		{ "debuginfod", required_argument, NULL, OPT_DEBUGINFOD },
		{ "help", no_argument, NULL, 'h' },
		{ "insecure", no_argument, &out->insecure, 1 },
		{ "keep-days", required_argument, NULL, OPT_DAYS },
		{ "keep-gib", required_argument, NULL, OPT_BYTES },
		{ "listen", required_argument, NULL, 'l' },
		{ "max-series", required_argument, NULL, OPT_SERIES },
		{ "memory", required_argument, NULL, OPT_MEMORY },
		{ "otlp-listen", required_argument, NULL, OPT_OTLP },
		{ "query-days", required_argument, NULL, OPT_RANGE },
		{ "query-seconds", required_argument, NULL, OPT_SECONDS },
		{ "store", required_argument, NULL, OPT_STORE },
		{ "store-info", no_argument, &out->store_info, 1 },
		{ "tenants", no_argument, &out->tenants, 1 },
		{ "tls-cert", required_argument, NULL, OPT_CERT },
		{ "tls-key", required_argument, NULL, OPT_KEY },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "d:hl:", long_options, NULL)) != -1) {
		const char **text = text_of(out, c);

		if (c == 'h')
			return usage(stdout, 0);
		if (text)
			*text = optarg;
		else if (c) /* getopt has said what is wrong */
			return EXIT_USAGE;
	}
	if (optind == argc && !out->dir != !out->store)
		return -1;
	if (optind < argc)
		cli_fail("%s: nothing is expected there (`cameo server --help`)", argv[optind]);
	else
		cli_fail("say where profiles are kept: either --data DIR or --store URL "
			 "(`cameo server --help`)");
	return EXIT_USAGE;
}

/* Cut HOST:PORT, which is told of as @option. -1: go on. */
static int take_listen(const char *option, char *text, const char **out_host, uint16_t *out_port)
{
	if (listen_split(text, out_host, out_port))
		return -1;
	cli_fail("%s: HOST:PORT is expected", option);
	return EXIT_USAGE;
}

/* More than this machine, and nobody is asked who he is? -1: no. */
static int check_open(const struct options *o, const struct server_options *so)
{
	bool open = !listen_is_loopback(so->host);
	const char *host = open || !so->otlp_host ? so->host : so->otlp_host;

	if (o->insecure || o->tokens || o->basic || listen_is_loopback(host))
		return -1;
	return cli_fail("%s is not this machine alone, and anybody there could read and write: "
			"give --auth-token-file or --auth-basic-file, or say --insecure if that is "
			"meant",
			host);
}

/* -1: go on; else an exit status. */
static int parse_numbers(const struct options *o, struct server_options *so)
{
	struct {
		const char *option, *text;
		unsigned long value;
	} n[] = {
		{ "--keep-days", o->days, 30 },        { "--keep-gib", o->gigabytes, 10 },
		{ "--memory", o->memory, 512 },        { "--query-days", o->range, 0 },
		{ "--query-seconds", o->seconds, 30 }, { "--max-series", o->series, 50000 },
	};

	for (size_t i = 0; i < sizeof(n) / sizeof(n[0]); i++) {
		char *end;

		if (!n[i].text)
			continue;
		errno = 0;
		n[i].value = strtoul(n[i].text, &end, 10);
		if (errno || *n[i].text < '0' || *n[i].text > '9' || *end || n[i].value >= 100000) {
			cli_fail("%s: %s is not a number", n[i].option, n[i].text);
			return EXIT_USAGE;
		}
	}
	so->max_age_ns = (int64_t)n[0].value * DAY_NS;
	so->max_bytes = (uint64_t)n[1].value << 30;
	so->max_memory = (size_t)n[2].value << 20;
	so->max_range_ns = (int64_t)n[3].value * DAY_NS;
	so->max_series = n[5].value;
	so->max_query_ns = (int64_t)n[4].value * CLOCK_SECOND_NS;
	return -1;
}

/* -1: go on; else an exit status. */
static int configure(const struct options *o, char *listen, char *otlp, struct server_options *so)
{
	int r = take_listen("--listen", listen, &so->host, &so->port);

	if (r < 0 && otlp)
		r = take_listen("--otlp-listen", otlp, &so->otlp_host, &so->otlp_port);
	if (r < 0)
		r = parse_numbers(o, so);
	if (r < 0)
		r = check_open(o, so);
	so->dir = o->dir;
	so->store_url = o->store;
	so->auth = (struct auth_options){ o->tokens, o->basic };
	so->naming.debuginfod = o->debuginfod;
	so->cert_file = o->cert;
	so->key_file = o->key;
	so->tenants = o->tenants;
	return r;
}

static void warn(void *ctx, const char *message)
{
	cli_fail("%s", message);
}

/* What takes the space */

struct sums {
	struct usage_day all;
	unsigned int n_days;
};

static void print_day(const char *day, const struct usage_day *d)
{
	printf("%-10s %-16s %10.1f %9" PRIu64 " %9" PRIu64, day, d->tenant, (double)d->bytes / 1024,
	       d->n_series, d->n_windows);
	for (int i = 0; i < USAGE_PARTS; i++)
		printf(" %9.1f", (double)d->parts[i] / 1024);
	putchar('\n');
}

static int on_day(void *ctx, const struct usage_day *d)
{
	time_t t = (time_t)(d->start_ns / CLOCK_SECOND_NS);
	struct sums *s = ctx;
	char day[32];
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(day, sizeof(day), "%Y-%m-%d", &tm);
	print_day(day, d);
	s->n_days++;
	s->all.bytes += d->bytes;
	s->all.n_windows += d->n_windows;
	for (int i = 0; i < USAGE_PARTS; i++)
		s->all.parts[i] += d->parts[i];
	return 0;
}

/* A directory is read beside the process that has it. */
static int each_day(const struct options *o, struct sums *s, struct err *err)
{
	const struct store_options opt = { .url = o->store };
	_cleanup_(store_closep) struct store *store = NULL;
	int r;

	if (!o->store)
		return usage_days(o->dir, NULL, on_day, s, err);
	r = store_open(&store, &opt, err);
	return r < 0 ? r : store_days(store, NULL, on_day, s, err);
}

static int store_info(const struct options *o)
{
	struct sums s = { .all.tenant = "" };
	struct err err = { 0 };

	printf("%-10s %-16s %10s %9s %9s", "day", "tenant", "KiB", "series", "profiles");
	for (int i = 0; i < USAGE_PARTS; i++)
		printf(" %9s", usage_part_label(i));
	putchar('\n');
	if (each_day(o, &s, &err) < 0)
		return cli_fail("%s", err.msg);
	print_day("all", &s.all);
	if (s.all.n_windows)
		printf("%u days, %.1f KiB a profile\n", s.n_days,
		       (double)s.all.bytes / 1024 / (double)s.all.n_windows);
	return 0;
}

/*
 * What a question takes for an instant is taken again by the next: fresh pages from the kernel
 * would cost a tenth of it. Few arenas, so that not each thread keeps some.
 */
static void keep_memory(void)
{
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 8 << 20);
	mallopt(M_TRIM_THRESHOLD, 16 << 20);
}

/* A connection is a file. */
static void allow_connections(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

int cli_server_fed(int argc, char **argv, int fd)
{
	_cleanup_(server_closep) struct server *s = NULL;
	_cleanup_(freep) char *listen = NULL, *otlp = NULL;
	struct options opt = { .listen = "127.0.0.1:4040" };
	struct server_options so = { .warn = warn };
	struct err err = { 0 };
	sigset_t stop;
	int r = parse(argc, argv, &opt), sig;

	if (r >= 0)
		return r;
	if (opt.store_info)
		return store_info(&opt);
	listen = strdup(opt.listen);
	otlp = opt.otlp ? strdup(opt.otlp) : NULL;
	if (!listen || (opt.otlp && !otlp))
		return cli_fail("no memory");
	r = configure(&opt, listen, otlp, &so);
	if (r >= 0)
		return r;
	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &stop, NULL);
	signal(SIGPIPE, SIG_IGN);
	keep_memory();
	allow_connections();
	if (server_open(&s, &so, &err) < 0)
		return cli_fail("%s", err.msg);
	printf("cameo server: http%s://%s:%u\n", so.cert_file ? "s" : "", so.host, server_port(s));
	if (so.otlp_host)
		printf("OTLP, too: http%s://%s:%u\n", so.cert_file ? "s" : "", so.otlp_host,
		       server_otlp_port(s));
	fflush(stdout);
	if (fd < 0)
		sigwait(&stop, &sig);
	else if (server_feed(s, fd) < 0)
		return cli_fail("the agent's profiles can't be read");
	return 0;
}

int cli_server(int argc, char **argv)
{
	return cli_server_fed(argc, argv, -1);
}
