/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo server`: stores profiles that are pushed to it and serves queries until a signal.
 *
 * Without authentication the server refuses to listen on anything but loopback, unless --insecure
 * is given: profiles reveal names of functions, files and arguments, and anyone who can push can
 * fill the disk.
 */
#include "cli/server.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/privileges.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/heap_claim.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/network.h"
#include "cli/server_user.h"
#include "cli/store_info.h"
#include "cli/store_url.h"
#include "options/arguments.h"
#include "server/secret.h"
#include "server/server.h"
#include "server/server_options.h"

#define DAY_NS   86400000000000LL
#define DAYS_MAX 99999

enum { MIN_SECRET = 8, SESSION_DAYS_MAX = 366 };

#define OPTION_VALUES struct server_args

const struct option_spec server_common_options[] = {
	OPTION_SECTION("Storage"),
	OPTION(TEXT, 'd', "data", "DIR", dir, "Store profiles in this directory",
	       .details = "There is one file per tenant and UTC day. When a push is acknowledged, "
			  "its profiles are on disk. Queries of a day whose file is damaged, lost "
			  "or of a "
			  "newer version fail; the file is left unchanged."),
	OPTION(NUMBER, 0, "keep-days", "N", keep_days,
	       "Delete data that is more than N days old; 0 disables the limit", .preset = "30",
	       .max = DAYS_MAX),
	OPTION(NUMBER, 0, "keep-gib", "N", keep_gib,
	       "Delete the oldest days while the store exceeds N GiB; 0 disables the limit",
	       .preset = "10", .max = DAYS_MAX),

	OPTION_SECTION("Network"),
	OPTION(CUSTOM, 'l', "listen", "HOST:PORT", listen,
	       "Listen at this address; port 0 picks a free port", .preset = "127.0.0.1:4040",
	       .parse = listen_parse,
	       .details = "The web page, the API, pushes over HTTP and OTLP over gRPC all use this "
			  "address."),
	OPTION(CUSTOM, 0, "otlp-listen", "HOST:PORT", otlp_listen,
	       "Listen at a second address, such as OTLP's own port 4317", .parse = listen_parse),
	OPTION(TEXT, 0, "tls-cert", "FILE", cert_file,
	       "Serve HTTPS with the certificate in FILE (PEM)"),
	OPTION(TEXT, 0, "tls-key", "FILE", key_file,
	       "Use the private key in FILE (PEM) for the certificate"),

	OPTION(TEXT, 0, "tls-client-ca", "FILE", client_ca_file,
	       "Identify clients by certificates that a CA in FILE (PEM) has issued",
	       .details = "A client with such a certificate may read and write, or what "
			  "--auth-subject-file allows; clients without one need other "
			  "credentials. An invalid certificate ends the handshake."),

	OPTION_SECTION("Access"),
	OPTION(TEXT, 0, "auth-token-file", "FILE", token_file,
	       "Require a bearer token that is listed in FILE, one per line",
	       .details = "A token may be followed by the name of a tenant, which clients with "
			  "this token are then restricted to (* for any), and by scopes: read, "
			  "write or admin, separated by commas; without scopes the client may read "
			  "and write. Tokens should be hashes that --hash-secret prints. The file "
			  "is read again when it changes; if the new one is invalid, the old "
			  "clients stay."),
	OPTION(TEXT, 0, "auth-basic-file", "FILE", basic_file,
	       "Require a user name and password listed in FILE, one USER:PASSWORD per line",
	       .details = "Tenant and scopes may follow, as in --auth-token-file. If both "
			  "options are used, clients may use either kind of credentials."),
	OPTION(TEXT, 0, "auth-subject-file", "FILE", subject_file,
	       "Accept only certificates whose common name is listed in FILE, one per line",
	       .details = "Tenant and scopes may follow, as in --auth-token-file. This requires "
			  "--tls-client-ca."),
	OPTION(TEXT, 0, "oidc-issuer", "URL", oidc_issuer,
	       "Accept bearer tokens (JWT) of this OpenID Connect issuer",
	       .details = "Tokens are signed with RS256, ES256 or EdDSA and have the issuer, the "
			  "audience and an expiry time; clocks may differ by a minute. This "
			  "requires --oidc-jwks and --oidc-audience."),
	OPTION(TEXT, 0, "oidc-jwks", "FILE|URL", oidc_jwks,
	       "Verify tokens with the keys in FILE or at URL, a JSON Web Key Set",
	       .details = "A file is read again when it changes, an https URL every five minutes "
			  "and when a token names an unknown key, at most every ten seconds. While "
			  "it cannot be read, the old keys stay in use."),
	OPTION(TEXT, 0, "oidc-audience", "TEXT", oidc_audience,
	       "Require this text in the claim aud of tokens"),
	OPTION(TEXT, 0, "oidc-scope-claim", "NAME", oidc_scope_claim,
	       "Read the scopes (cameo:read, cameo:write, cameo:admin) from this claim",
	       .preset = "scope"),
	OPTION(TEXT, 0, "oidc-tenant-claim", "NAME", oidc_tenant_claim,
	       "Restrict clients to the tenant in this claim, which tokens then must have"),
	OPTION(DURATION, 0, "session-idle", "TIME", session_idle_ns,
	       "Sign out users of the web page after this time without a request", .preset = "12h",
	       .unit = "s", .min = 1, .max = (uint64_t)SESSION_DAYS_MAX * DAY_NS,
	       .details = "The page sends requests while it is open and live. A session also ends "
			  "when its line in a file of credentials is removed or changed."),
	OPTION(DURATION, 0, "session-max", "TIME", session_max_ns,
	       "Sign out users of the web page after this time, active or not", .preset = "7d",
	       .unit = "s", .min = 1, .max = (uint64_t)SESSION_DAYS_MAX * DAY_NS),
	OPTION(TEXT, 0, "cors-origin", "ORIGIN,...", cors_origins,
	       "Let web pages of these origins, such as https://grafana.example.org, use the API"),
	OPTION(TEXT, 0, "host-name", "NAME,...", host_names,
	       "Accept requests whose Host header is one of these names",
	       .details =
		       "Without authentication, a server that listens on a loopback address, or "
		       "has this option, refuses requests whose Host header is not localhost, the "
		       "name of the machine, or one of these names. This prevents web pages from "
		       "reaching it by DNS rebinding. Numeric addresses are always accepted."),
	OPTION(FLAG, 0, "insecure", NULL, insecure,
	       "Allow access from other machines without authentication"),
	{ 0 },
};

const struct option_spec server_only_options[] = {
	OPTION_SECTION("Limits"),
	OPTION(SIZE, 0, "memory", "SIZE", memory,
	       "Reject requests that would make the server use more memory than this; 0 disables "
	       "the limit",
	       .preset = "512M", .unit = "M", .max = (uint64_t)DAYS_MAX << 20),
	OPTION(NUMBER, 0, "max-series", "N", max_series,
	       "Reject new label sets of a service that already has N on that day; 0 disables the "
	       "limit",
	       .preset = "50000", .max = DAYS_MAX),
	OPTION(SIZE, 0, "max-names", "SIZE", max_names,
	       "Reject profiles with more than SIZE of function and file names", .preset = "16M",
	       .unit = "M", .max = (uint64_t)1 << 30),
	OPTION(SIZE, 0, "push-rate", "SIZE", push_rate,
	       "Accept this many bytes per second from each tenant; 0 disables the limit",
	       .preset = "16M", .unit = "M", .max = (uint64_t)DAYS_MAX << 20,
	       .details = "A tenant may push up to ten seconds of its rate in one burst. Pushes "
			  "beyond that use the shared rate; when it is used up, they are refused "
			  "with status 429."),
	OPTION(NUMBER, 0, "profile-rate", "N", profile_rate,
	       "Accept this many profiles per second from each tenant; 0 disables the limit",
	       .preset = "2000", .max = 1000000),
	OPTION(SIZE, 0, "shared-push-rate", "SIZE", shared_push_rate,
	       "Share this many more bytes per second among all tenants", .preset = "64M",
	       .unit = "M", .max = (uint64_t)DAYS_MAX << 20),
	OPTION(NUMBER, 0, "shared-profile-rate", "N", shared_profile_rate,
	       "Share this many more profiles per second among all tenants", .preset = "8000",
	       .max = 1000000),
	OPTION(NUMBER, 0, "max-queries", "N", max_queries,
	       "Reject queries of a tenant that already has N waiting or running; 0 disables the "
	       "limit",
	       .preset = "64", .max = 10000),
	OPTION(NUMBER, 0, "query-nodes", "N", query_nodes,
	       "Reject queries that merge more than N distinct stack nodes; 0 disables the limit",
	       .preset = "4000000", .max = 1000000000),
	OPTION(NUMBER, 0, "query-days", "N", query_days,
	       "Reject queries over more than N days; 0 disables the limit", .preset = "0",
	       .max = DAYS_MAX),
	OPTION(DURATION, 0, "query-seconds", "TIME", query_ns,
	       "Cancel queries that take longer than this; 0 disables the limit", .preset = "30s",
	       .unit = "s", .max = (uint64_t)DAYS_MAX * CLOCK_SECOND_NS),

	OPTION_SECTION("Logs"),
	OPTION(TEXT, 0, "access-log", "FILE", access_log,
	       "Write a line for each request to FILE; - is standard output",
	       .details = "The line has time, peer, method, path, status, duration, sizes, client "
			  "and tenant, never a credential or a body. The file is opened again "
			  "after a rotation has renamed it. Without this option there is no "
			  "access log."),
	OPTION(FLAG, 0, "access-log-json", NULL, access_log_json,
	       "Write the access log as JSON instead of logfmt"),
	OPTION(DURATION, 0, "slow-query", "TIME", slow_query_ns,
	       "Log queries that take longer than this, with what they read; 0 disables the log",
	       .preset = "10s", .unit = "s", .max = (uint64_t)DAYS_MAX * CLOCK_SECOND_NS),

	OPTION_SECTION("Other"),
	OPTION(TEXT, 0, "read-only", "DIR", read_only_dir,
	       "Serve the profiles in DIR, a copy of a server's directory, and change nothing in "
	       "it",
	       .details =
		       "This option replaces --data. DIR may be a backup, a snapshot, or a copy "
		       "that "
		       "is updated from time to time; it needs no permission to write and may be "
		       "on "
		       "a read-only file system. New and replaced files are noticed; a query "
		       "during "
		       "which they change fails with status 503 and can be repeated. Pushes are "
		       "refused with status 403, and nothing is deleted. A directory that another "
		       "server writes to is refused: use \"cameo store backup\" to copy it."),
	OPTION(TEXT, 0, "store", "URL", store_url,
	       "Store profiles in ClickHouse: clickhouse://[USER@]HOST:PORT/DATABASE",
	       .details = "This option replaces --data and requires ClickHouse 18.16 or later. Any "
			  "number of servers can share a database. clickhouses:// uses TLS. A push "
			  "that was acknowledged is as durable as an INSERT that ClickHouse has "
			  "acknowledged."),
	OPTION(TEXT, 0, "store-password-file", "FILE", store_password_file,
	       "Read the password of the user in --store from FILE",
	       .details =
		       "Without this option it is read from $CAMEO_STORE_PASSWORD. A password in "
		       "the URL is refused, because every user of the machine sees command "
		       "lines."),
	OPTION(FLAG, 0, "hash-secret", NULL, hash_secret,
	       "Read a token or USER:PASSWORD from standard input, print the line for a file of "
	       "credentials, and exit",
	       .details = "The line holds a salted hash (PBKDF2) instead of the secret. A token "
			  "must be random, for example from \"openssl rand -hex 32\"."),
	OPTION(FLAG, 0, "store-info", NULL, store_info,
	       "Print the disk space that each day and tenant uses, and exit",
	       .details = "The same as \"cameo store info\", which is described there."),
	OPTION(FLAG, 0, "tenants", NULL, tenants,
	       "Separate data by the tenant in the header X-Scope-OrgID"),
	OPTION(TEXT, 0, "debuginfod", "URLS", debuginfod,
	       "Symbolize pushed addresses with debug information from these debuginfod servers, "
	       "separated by spaces",
	       .details = "Profiles with build ids but without symbols are also symbolized from "
			  "files of this machine, with or without this option."),
	{ 0 },
};

/*
 * Checks what the option tables cannot express. Returns CLI_CONTINUE or an exit status. The second
 * address is checked like the first.
 */
static int check(const struct server_args *a)
{
	const struct listen_address *l = &a->listen;

	if (a->hash_secret)
		return CLI_CONTINUE;
	if (!!a->dir + !!a->read_only_dir + !!a->store_url != 1)
		return cli_fail_usage("exactly one of --data DIR, --read-only DIR and --store URL "
				      "is required");
	if (a->read_only_dir && a->store_info)
		return cli_fail_usage("--store-info requires --data or --store");
	if (listen_is_loopback(l->host) && a->otlp_listen.host[0])
		l = &a->otlp_listen;
	if (a->insecure || a->token_file || a->basic_file || a->client_ca_file || a->oidc_issuer ||
	    a->store_info || listen_is_loopback(l->host))
		return CLI_CONTINUE;
	return cli_fail("\"%s\" is reachable from other machines, so anybody could read and write "
			"profiles: use --auth-token-file, --auth-basic-file, --tls-client-ca or "
			"--oidc-issuer, or --insecure to allow that",
			l->host);
}

static void warn(void *ctx, const char *message)
{
	cli_fail("%s", message);
}

/*
 * Limits of 0 mean "no limit" in both structs. The Host header is checked where all names of the
 * server are known: on a loopback address, or with --host-name.
 */
static struct server_options server_options_of(const struct server_args *a)
{
	return (struct server_options){
		.host = a->listen.host,
		.port = a->listen.port,
		.otlp_host = a->otlp_listen.host[0] ? a->otlp_listen.host : NULL,
		.otlp_port = a->otlp_listen.port,
		.max_age_ns = (int64_t)a->keep_days * DAY_NS,
		.max_bytes = a->keep_gib << 30,
		.max_memory = a->memory,
		.max_range_ns = (int64_t)a->query_days * DAY_NS,
		.max_series = a->max_series,
		.max_names = a->max_names,
		.max_nodes = a->query_nodes,
		.tenant_limits = { .bytes_per_s = a->push_rate,
				   .profiles_per_s = a->profile_rate,
				   .shared_bytes_per_s = a->shared_push_rate,
				   .shared_profiles_per_s = a->shared_profile_rate,
				   .max_queries = (unsigned int)a->max_queries },
		.max_query_ns = (int64_t)a->query_ns,
		.dir = a->read_only_dir ? a->read_only_dir : a->dir,
		.read_only = a->read_only_dir,
		.auth = { .token_file = a->token_file,
			  .basic_file = a->basic_file,
			  .subject_file = a->subject_file },
		.oidc = { .rules = { .issuer = a->oidc_issuer,
				     .audience = a->oidc_audience,
				     .scope_claim = a->oidc_scope_claim,
				     .tenant_claim = a->oidc_tenant_claim },
			  .jwks = a->oidc_jwks },
		.session_idle_ns = (int64_t)a->session_idle_ns,
		.session_max_ns = (int64_t)a->session_max_ns,
		.cors_origins = a->cors_origins,
		.check_host = a->host_names || listen_is_loopback(a->listen.host),
		.host_names = a->host_names,
		.symbolizer.debuginfod = a->debuginfod,
		.cert_file = a->cert_file,
		.key_file = a->key_file,
		.client_ca_file = a->client_ca_file,
		.tenants = a->tenants,
		.access_log = a->access_log,
		.access_log_json = a->access_log_json,
		.slow_query_ns = (int64_t)a->slow_query_ns,
		.warn = warn,
	};
}

/* ---- --hash-secret ------------------------------------------------------------------ */

/* Hashes what follows the first colon of USER:PASSWORD, or the complete token. */
static int print_hash(const char *text)
{
	_cleanup_(buf_fini) struct buf line = { 0 };
	const char *colon = strchr(text, ':'), *secret = colon ? colon + 1 : text;
	struct secret s;

	if (strlen(secret) < MIN_SECRET || secret[strcspn(secret, " \t")])
		return cli_fail("cannot use the secret: expected at least %d characters without "
				"spaces",
				MIN_SECRET);
	if (secret_make(secret, strlen(secret),
			colon ? SECRET_PASSWORD_ROUNDS : SECRET_TOKEN_ROUNDS, &s) < 0)
		return cli_fail("cannot hash the secret");
	buf_put(&line, text, (size_t)(secret - text));
	secret_print(&s, &line);
	buf_put_byte(&line, 0);
	if (buf_error(&line))
		return cli_fail("out of memory");
	puts((const char *)line.data);
	return 0;
}

static int hash_secret(void)
{
	char text[2048];
	int r;

	if (!fgets(text, sizeof(text), stdin))
		return cli_fail("no secret on standard input");
	text[strcspn(text, "\r\n")] = '\0';
	r = print_hash(text);
	explicit_bzero(text, sizeof(text));
	return r;
}

/* ---- serving ------------------------------------------------------------------------ */

/*
 * Retains freed memory, so that the next query reuses it: fresh pages from the kernel would cost a
 * tenth of a query's time. Few arenas prevent every thread from retaining memory of its own.
 */
static void retain_heap(void)
{
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, HEAP_CLAIM_MAPPED);
	mallopt(M_TRIM_THRESHOLD, 16 << 20);
}

/*
 * A server's configuration is its command line, so there is nothing to reload. Supervisors and
 * log rotation send SIGHUP all the same, which must not end the server.
 */
static void wait_for_stop(const sigset_t *signals)
{
	int sig;

	while (sigwait(signals, &sig) == 0 && sig == SIGHUP)
		cli_fail("SIGHUP ignored: options change at a restart");
}

/*
 * The capabilities that this command line needs: to listen on a port below 1024, and for a
 * directory and files that belong to another user. Usually it needs none.
 */
static uint64_t needed_privileges(const struct server_args *a)
{
	const char *files[] = {
		a->token_file,     a->basic_file,   a->cert_file, a->key_file,
		a->client_ca_file, a->subject_file, a->oidc_jwks, a->read_only_dir
	};
	uint64_t needed =
		privileges_to_listen(a->listen.port) | privileges_to_listen(a->otlp_listen.port);

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (files[i])
			needed |= privileges_to_read(files[i]);
	return a->dir ? needed | privileges_to_write(a->dir) : needed;
}

/*
 * Signals are blocked before threads start, so that only sigwait() receives them. With @fd the
 * feed's end is the signal.
 */
int server_run_command(const struct server_args *a, int fd)
{
	_cleanup_(network_close) struct network network = { 0 };
	_cleanup_(server_closep) struct server *s = NULL;
	_cleanup_(freep) char *store_url = NULL;
	struct server_options so = server_options_of(a);
	const char *scheme = so.cert_file ? "https" : "http";
	struct err err = { 0 };
	char report[256];
	sigset_t stop;
	int r = check(a);

	if (r != CLI_CONTINUE)
		return r;
	if (a->hash_secret)
		return hash_secret();
	if (a->store_url &&
	    store_url_complete(a->store_url, a->store_password_file, &store_url, &err) < 0)
		return cli_fail("%s", err.msg[0] ? err.msg : "out of memory");
	so.store_url = store_url;
	if (a->store_info)
		return store_info_print(a->dir, store_url);
	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &stop, NULL);
	signal(SIGPIPE, SIG_IGN);
	retain_heap();
	if (network_open(&network, a->debuginfod ? NETWORK_DOWNLOADS : 0, &err) < 0)
		return cli_fail("%s", err.msg);
	so.symbolizer.fetcher = network.fetcher;
	if (privileges_drop(needed_privileges(a), report, sizeof(report), &err) < 0)
		return cli_fail("%s", err.msg);
	if (server_open(&s, &so, &err) < 0)
		return cli_fail("%s", err.msg);
	printf("cameo server: %s://%s:%u\n", scheme, so.host, server_port(s));
	if (so.otlp_host)
		printf("OTLP: %s://%s:%u\n", scheme, so.otlp_host, server_otlp_port(s));
	fflush(stdout);
	if (fd < 0)
		wait_for_stop(&stop);
	else if (server_feed(s, fd) < 0)
		return cli_fail("cannot read profiles from the agent: the data is malformed");
	return 0;
}

static int run_command(int argc, char **argv)
{
	struct server_args a = { 0 };
	const struct option_set sets[] = { { server_common_options, &a },
					   { server_only_options, &a },
					   { 0 } };
	int r = cli_parse(&server_command, sets, ARGUMENTS_NO_OPERANDS, argc, argv, NULL);

	if (r == CLI_CONTINUE) {
		server_user_become_owner(a.dir);
		r = server_run_command(&a, -1);
	}
	cli_fini(sets, NULL);
	return r;
}

const struct command server_command = {
	.name = "server",
	.summary = "store profiles and serve the web page and the API",
	.synopsis = "--data DIR [OPTION...]\n--read-only DIR [OPTION...]\n--store URL [OPTION...]",
	.description =
		"Store the profiles that agents and SDKs push, show them on a web page, and serve "
		"Grafana's Pyroscope data source, until SIGTERM or SIGINT. SIGHUP is ignored.",
	.options = COMMAND_OPTIONS(server_common_options, server_only_options),
	.examples = COMMAND_EXAMPLES(
		{ "Store profiles below /var/lib/cameo and serve the page at http://127.0.0.1:4040",
		  "cameo server --data /var/lib/cameo" },
		{ "Accept pushes from other machines that present a token",
		  "cameo server --data /var/lib/cameo --listen :4040 --auth-token-file tokens" },
		{ "Show the disk space that each day and tenant uses",
		  "cameo server --data /var/lib/cameo --store-info" }),
	.run = run_command,
};
