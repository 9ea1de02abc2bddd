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

struct options {
	const char *listen, *otlp, *dir, *tokens, *basic, *cert, *key;
	const char *days, *gigabytes;
	int insecure, tenants;
};

/* Options without a letter. */
enum {
	OPT_BASIC = 256,
	OPT_BYTES,
	OPT_CERT,
	OPT_DAYS,
	OPT_KEY,
	OPT_OTLP,
	OPT_TOKENS,
};

static int usage(FILE *f, int status)
{
	fputs("Usage: cameo server --data DIR [OPTION...]\n\n"
	      "Keep profiles that are pushed, show them on a web page, and answer Grafana's\n"
	      "Pyroscope data source.\n\n"
	      "  -d, --data DIR              where profiles are kept\n"
	      "  -l, --listen HOST:PORT      127.0.0.1:4040; port 0 is any that is free\n"
	      "      --otlp-listen HOST:PORT listen there too, for OTLP's own port 4317\n"
	      "      --keep-days N           drop days older than this (30; 0: never)\n"
	      "      --keep-gib N            drop the oldest days beyond this size (10; 0: never)\n"
	      "      --auth-token-file FILE  only who has a token of FILE may ask: one a line\n"
	      "      --auth-basic-file FILE  or a name and password: USER:PASSWORD a line; after\n"
	      "                              either a tenant may stand, the only one of this "
	      "client\n"
	      "      --tls-cert FILE         answer by HTTPS with this certificate (PEM),\n"
	      "      --tls-key FILE          and its key\n"
	      "      --tenants               keep apart what X-Scope-OrgID tells apart\n"
	      "      --insecure              listen on more than this machine without asking who "
	      "it is\n",
	      f);
	return status;
}

static int parse_number(const char *option, const char *s, unsigned long *out)
{
	char *end;

	errno = 0;
	*out = strtoul(s, &end, 10);
	if (!errno && *s >= '0' && *s <= '9' && !*end && *out < 100000)
		return 0;
	cli_fail("%s: %s is not a number", option, s);
	return EXIT_USAGE;
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
	case OPT_KEY:
		return &o->key;
	case OPT_OTLP:
		return &o->otlp;
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
		{ "help", no_argument, NULL, 'h' },
		{ "insecure", no_argument, &out->insecure, 1 },
		{ "keep-days", required_argument, NULL, OPT_DAYS },
		{ "keep-gib", required_argument, NULL, OPT_BYTES },
		{ "listen", required_argument, NULL, 'l' },
		{ "otlp-listen", required_argument, NULL, OPT_OTLP },
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
		else if (c)
			return usage(stderr, EXIT_USAGE);
	}
	if (optind < argc || !out->dir)
		return usage(stderr, EXIT_USAGE);
	return -1;
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
static int configure(const struct options *o, char *listen, char *otlp, struct server_options *so)
{
	unsigned long days = 30, gigabytes = 10;
	int r = take_listen("--listen", listen, &so->host, &so->port);

	if (r < 0 && otlp)
		r = take_listen("--otlp-listen", otlp, &so->otlp_host, &so->otlp_port);
	if (r < 0 && o->days && parse_number("--keep-days", o->days, &days))
		r = EXIT_USAGE;
	if (r < 0 && o->gigabytes && parse_number("--keep-gib", o->gigabytes, &gigabytes))
		r = EXIT_USAGE;
	if (r < 0)
		r = check_open(o, so);
	so->dir = o->dir;
	so->max_age_ns = (int64_t)days * DAY_NS;
	so->max_bytes = (uint64_t)gigabytes << 30;
	so->auth = (struct auth_options){ o->tokens, o->basic };
	so->cert_file = o->cert;
	so->key_file = o->key;
	so->tenants = o->tenants;
	return r;
}

static void warn(void *ctx, const char *message)
{
	cli_fail("%s", message);
}

int cli_server(int argc, char **argv)
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
	if (server_open(&s, &so, &err) < 0)
		return cli_fail("%s", err.msg);
	printf("cameo server: http%s://%s:%u\n", so.cert_file ? "s" : "", so.host, server_port(s));
	if (so.otlp_host)
		printf("OTLP, too: http%s://%s:%u\n", so.cert_file ? "s" : "", so.otlp_host,
		       server_otlp_port(s));
	fflush(stdout);
	sigwait(&stop, &sig);
	return 0;
}
