/* SPDX-License-Identifier: Apache-2.0 */
/* cameo server: keep profiles and answer questions about them until told to stop. */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cli/cli.h"
#include "cli/listen.h"
#include "server/server.h"

#define DAY_NS 86400000000000LL

enum { OPT_INSECURE = 256, OPT_DAYS, OPT_BYTES, OPT_OTLP };

struct options {
	char *listen, *otlp;
	const char *dir;
	bool insecure;
	unsigned long days, gigabytes;
};

static const struct option long_options[] = {
	{ "data", required_argument, NULL, 'd' },
	{ "help", no_argument, NULL, 'h' },
	{ "insecure", no_argument, NULL, OPT_INSECURE },
	{ "keep-days", required_argument, NULL, OPT_DAYS },
	{ "keep-gib", required_argument, NULL, OPT_BYTES },
	{ "listen", required_argument, NULL, 'l' },
	{ "otlp-listen", required_argument, NULL, OPT_OTLP },
	{ 0 },
};

static int usage(FILE *f, int status)
{
	fputs("Usage: cameo server --data DIR [OPTION...]\n\n"
	      "Keep profiles that are pushed, and answer Grafana's Pyroscope data source.\n\n"
	      "  -d, --data DIR          where profiles are kept\n"
	      "  -l, --listen HOST:PORT  127.0.0.1:4040; port 0 is any that is free\n"
	      "      --otlp-listen HOST:PORT  listen there too, for OTLP's own port 4317\n"
	      "      --keep-days N       drop days older than this (30; 0: never)\n"
	      "      --keep-gib N        drop the oldest days beyond this size (10; 0: never)\n"
	      "      --insecure          listen on more than this machine, without any lock\n",
	      f);
	return status;
}

static bool parse_number(const char *s, unsigned long *out)
{
	char *end;

	errno = 0;
	*out = strtoul(s, &end, 10);
	return !errno && *s >= '0' && *s <= '9' && !*end && *out < 100000;
}

/* -1: go on; else an exit status. */
static int parse(int argc, char **argv, struct options *out)
{
	int c;

	while ((c = getopt_long(argc, argv, "d:hl:", long_options, NULL)) != -1) {
		bool ok = true;

		if (c == 'h')
			return usage(stdout, 0);
		else if (c == 'd')
			out->dir = optarg;
		else if (c == 'l')
			out->listen = optarg;
		else if (c == OPT_OTLP)
			out->otlp = optarg;
		else if (c == OPT_INSECURE)
			out->insecure = true;
		else if (c == OPT_DAYS)
			ok = parse_number(optarg, &out->days);
		else if (c == OPT_BYTES)
			ok = parse_number(optarg, &out->gigabytes);
		else
			return usage(stderr, EXIT_USAGE);
		if (!ok) {
			cli_fail("%s is not a number", optarg);
			return EXIT_USAGE;
		}
	}
	if (optind < argc || !out->dir)
		return usage(stderr, EXIT_USAGE);
	return -1;
}

static void warn(void *ctx, const char *message)
{
	cli_fail("%s", message);
}

int cli_server(int argc, char **argv)
{
	_cleanup_(server_closep) struct server *s = NULL;
	char listen[] = "127.0.0.1:4040";
	struct options opt = { .listen = listen, .days = 30, .gigabytes = 10 };
	struct server_options so = { .warn = warn };
	struct err err = { 0 };
	sigset_t stop;
	int r = parse(argc, argv, &opt), sig;

	if (r >= 0)
		return r;
	if (!listen_split(opt.listen, &so.host, &so.port)) {
		cli_fail("--listen: HOST:PORT is expected");
		return EXIT_USAGE;
	}
	if (opt.otlp && !listen_split(opt.otlp, &so.otlp_host, &so.otlp_port)) {
		cli_fail("--otlp-listen: HOST:PORT is expected");
		return EXIT_USAGE;
	}
	if ((!listen_is_loopback(so.host) || (so.otlp_host && !listen_is_loopback(so.otlp_host))) &&
	    !opt.insecure)
		return cli_fail(
			"%s is not this machine alone, and anybody there could read and write: "
			"say --insecure if that is meant",
			listen_is_loopback(so.host) ? so.otlp_host : so.host);
	so.dir = opt.dir;
	so.max_age_ns = (int64_t)opt.days * DAY_NS;
	so.max_bytes = (uint64_t)opt.gigabytes << 30;
	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &stop, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (server_open(&s, &so, &err) < 0)
		return cli_fail("%s", err.msg);
	printf("cameo server: http://%s:%u\n", so.host, server_port(s));
	if (so.otlp_host)
		printf("OTLP, too: http://%s:%u\n", so.otlp_host, server_otlp_port(s));
	fflush(stdout);
	sigwait(&stop, &sig);
	return 0;
}
