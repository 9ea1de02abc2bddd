/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo agent`: the main thread waits for signals; another samples. SIGHUP reads the
 * config again and gives what can change to the agent and to a new exporter;
 * SIGTERM and SIGINT send what there is, within five seconds.
 */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/config.h"
#include "agent/metrics.h"
#include "agent/privileges.h"
#include "agent/report.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "cli/agent.h"
#include "cli/cli.h"
#include "cli/listen.h"
#include "export/export.h"
#include "net/http_server.h"

enum {
	LOG_S = 60,
	STOP_S = 5,
	EXPORT_STOP_MS = 4800,
	OLD_EXPORTER_MS = 10000,
	LARGE_BYTES = 256 << 10
};

struct agent_cli {
	const struct agent_extra *extra; /* or NULL */
	int argc;
	char **argv;
	struct agent_config *config;
	char name[256]; /* what servers call it: the label host */
	struct agent_prepared prepared;
	struct agent *agent;
	pthread_mutex_t lock; /* of the exporter */
	struct exporter *exporter;
	struct http_server *metrics; /* NULL: nowhere */
	struct agent_stats logged;   /* what the last line was about */
	pthread_t thread;
	int status; /* of agent_run() */
	struct err err;
};

static void log_line(void *ctx, const char *message)
{
	fprintf(stderr, "%s\n", message);
}

/* A line that begins with @begin and ends with the value @text: plain text, maybe a stranger's. */
static void log_text(const char *begin, const char *text)
{
	_cleanup_(buf_fini) struct buf line = { 0 };

	buf_printf(&line, "%s=\"", begin);
	for (const char *p = text; *p; p++) {
		if (*p == '"' || *p == '\\')
			buf_put_byte(&line, '\\');
		buf_put_byte(&line, (uint8_t)*p);
	}
	buf_put(&line, "\"", 2);
	if (buf_error(&line) == 0)
		log_line(NULL, (const char *)line.data);
}

static void log_export(void *ctx, const char *message)
{
	log_text("level=warn msg", message);
}

/* ---- the exporter --------------------------------------------------------------------- */

struct sinks {
	VEC(struct export_sink_options);
};

static int add_sinks(struct sinks *out, const struct agent_config *c, enum export_kind kind,
		     const struct config_texts *urls)
{
	int r = 0;

	for (size_t i = 0; i < urls->len && r == 0; i++)
		r = vec_push(out, (struct export_sink_options){
					  .kind = kind,
					  .url = urls->data[i],
					  .tenant = c->tenant,
					  .bearer = c->bearer,
					  .bearer_file = c->bearer_file,
					  .basic = c->basic,
					  .basic_file = c->basic_file,
					  .headers = (const char *const *)c->header.data,
					  .n_headers = c->header.len,
					  .ca_file = c->ca_file,
					  .cert_file = c->cert_file,
					  .key_file = c->key_file,
					  .tls_insecure = c->tls_insecure,
					  .timeout_ms = (unsigned int)(c->timeout / CLOCK_MS_NS),
					  .no_gzip = !c->gzip,
					  .sample_labels = c->sample_labels,
					  .dir_bytes = c->dir_bytes,
					  .dir_age_ns = (int64_t)c->dir_age,
				  });
	return r;
}

/* In the place of the one there is, if any. */
static int open_exporter(struct exporter **out, const struct agent_cli *cli,
			 const struct agent_config *c, struct err *err)
{
	struct sinks sinks = { 0 };
	struct exporter_options opt = {
		.queue_bytes = c->queue_bytes,
		.spool_dir = c->spool,
		.spool_bytes = c->spool_bytes,
		.max_age_ns = (int64_t)c->max_age,
		.host = c->host,
		.previous = cli->exporter,
		.log = log_export,
	};
	int r = add_sinks(&sinks, c, EXPORT_PYROSCOPE, &c->server);

	if (r == 0)
		r = add_sinks(&sinks, c, EXPORT_OTLP, &c->otlp);
	if (r == 0)
		r = add_sinks(&sinks, c, EXPORT_DIR, &c->dir);
	if (r == 0 && cli->extra)
		r = vec_push(&sinks, (struct export_sink_options){ .kind = EXPORT_LOCAL,
								   .url = "store",
								   .fd = cli->extra->fd });
	opt.sinks = sinks.data;
	opt.n_sinks = sinks.len;
	if (r == 0 && !sinks.len)
		r = err_set(err, -EINVAL, "say where profiles go: --server, --otlp or --dir");
	if (r == 0 && sinks.len > EXPORT_MAX_SINKS)
		r = err_set(err, -EINVAL, "more than %d of server, otlp and dir", EXPORT_MAX_SINKS);
	if (r == 0)
		r = exporter_new(out, &opt, err);
	vec_fini(&sinks);
	return r;
}

static void get_stats(struct agent_cli *cli, struct agent_stats *out,
		      struct exporter_stats *exports)
{
	agent_stats(cli->agent, out);
	pthread_mutex_lock(&cli->lock);
	exporter_stats(cli->exporter, exports);
	pthread_mutex_unlock(&cli->lock);
}

/* How the agent is, with each window. */
static void report(struct agent_cli *cli)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	struct exporter_stats exports;
	struct agent_stats s;

	get_stats(cli, &s, &exports);
	agent_report(&text, cli->name, &s, &exports);
	if (buf_error(&text) < 0)
		return;
	pthread_mutex_lock(&cli->lock);
	exporter_report(cli->exporter, &text);
	pthread_mutex_unlock(&cli->lock);
}

static void on_window(void *ctx, struct export_window *w)
{
	struct agent_cli *cli = ctx;

	report(cli);
	if (cli->extra && cli->extra->on_window)
		cli->extra->on_window(cli->extra->ctx, w);
	pthread_mutex_lock(&cli->lock);
	exporter_put(cli->exporter, w);
	pthread_mutex_unlock(&cli->lock);
}

/* ---- what it says of itself -------------------------------------------------------------- */

static void answer(void *ctx, const struct http_request *rq, struct http_response *rs)
{
	const char *path = http_request_path(rq);
	struct exporter_stats exports;
	struct agent_cli *cli = ctx;
	struct agent_stats s;

	rs->content_type = "text/plain; version=0.0.4; charset=utf-8";
	if (!strcmp(path, "/healthz")) {
		rs->status = agent_is_well(cli->agent) ? 200 : 503;
		buf_put_str(&rs->body, rs->status == 200 ? "ok\n" : "not sampling\n");
	} else if (!strcmp(path, "/metrics")) {
		get_stats(cli, &s, &exports);
		agent_metrics_text(&rs->body, &s, &exports);
	} else {
		rs->status = 404;
		buf_put_str(&rs->body, "/metrics and /healthz are here\n");
	}
}

static int open_metrics(struct agent_cli *cli, struct err *err)
{
	_cleanup_(freep) char *listen = NULL;
	struct http_server_options opt = {
		.n_workers = 1,
		.max_connections = 16,
		.idle_seconds = 10,
		.max_body = 1024,
		.max_memory = 64 << 10,
		.handler = answer,
		.ctx = cli,
	};
	int r;

	if (!cli->config->metrics || !strcmp(cli->config->metrics, "no"))
		return 0;
	listen = strdup(cli->config->metrics);
	if (!listen)
		return -ENOMEM;
	if (!listen_split(listen, &opt.host, &opt.port))
		return err_set(err, -EINVAL, "metrics takes HOST:PORT or no");
	if (!listen_is_loopback(opt.host))
		return err_set(err, -EINVAL, "metrics: %.80s is not this machine alone", opt.host);
	r = http_server_open(&cli->metrics, &opt, err);
	if (r == 0)
		fprintf(stderr, "level=info msg=\"metrics are at http://%s:%u/metrics\"\n",
			opt.host, http_server_port(cli->metrics));
	return r;
}

static void log_stats(struct agent_cli *cli)
{
	_cleanup_(buf_fini) struct buf line = { 0 };
	struct exporter_stats exports;
	struct agent_stats s;

	get_stats(cli, &s, &exports);
	agent_metrics_line(&line, &s, &cli->logged, &exports);
	buf_put_byte(&line, 0);
	if (buf_error(&line) == 0)
		log_line(NULL, (const char *)line.data);
	cli->logged = s;
}

/* ---- config ---------------------------------------------------------------------------- */

static int read_config(const struct agent_cli *cli, struct agent_config **out, struct err *err)
{
	_cleanup_(agent_config_freep) struct agent_config *c = NULL;
	int r = agent_config_new(&c);

	if (r == 0)
		r = agent_config_flags(c, cli->argc, cli->argv, err);
	if (r == 0)
		r = agent_config_check(c, err);
	if (r == 0)
		*out = steal_ptr(&c);
	return r;
}

static uint64_t in_ms(uint64_t ms)
{
	return clock_monotonic_ns() + ms * CLOCK_MS_NS;
}

/* The way to a server beside stays as it is: its socket has one user. *@out_old: to be stopped. */
static int replace_exporter(struct agent_cli *cli, const struct agent_config *c,
			    struct exporter **out_old, struct err *err)
{
	struct exporter *fresh = NULL;
	int r;

	*out_old = NULL;
	if (cli->extra)
		return 0;
	r = open_exporter(&fresh, cli, c, err);
	if (r < 0)
		return r;
	pthread_mutex_lock(&cli->lock);
	*out_old = cli->exporter;
	cli->exporter = fresh;
	pthread_mutex_unlock(&cli->lock);
	return 0;
}

/* What can't change while it runs does not, and is told. */
static int keep_the_rest(const struct agent_cli *cli, struct agent_config *c)
{
	_cleanup_(buf_fini) struct buf kept = { 0 };
	int r = agent_config_keep(c, cli->config, &kept);

	if (r == 0 && kept.len)
		fprintf(stderr,
			"level=warn msg=\"not while the agent runs: start it again\" "
			"keys=\"%.*s\"\n",
			(int)kept.len, (const char *)kept.data);
	return r;
}

/* What is wrong leaves everything as it was. */
static void reload(struct agent_cli *cli)
{
	struct exporter *old = NULL;
	struct agent_config *c = NULL;
	struct err err = { 0 };
	int r = read_config(cli, &c, &err);

	if (r == 0)
		r = keep_the_rest(cli, c);
	if (r == 0)
		r = replace_exporter(cli, c, &old, &err);
	if (r < 0) {
		log_text("level=error msg=\"config not taken\" error",
			 err.msg[0] ? err.msg : strerror(-r));
		agent_config_free(c);
		return;
	}
	agent_reload(cli->agent, c);
	if (old)
		exporter_stop(old, in_ms(OLD_EXPORTER_MS));
	exporter_free(old);
}

/* ---- running --------------------------------------------------------------------------- */

static void *sampling_main(void *arg)
{
	struct agent_cli *cli = arg;

	cli->status = agent_run(cli->agent, &cli->err);
	/* by itself only when it failed: the main thread is to hear of it */
	kill(getpid(), SIGTERM);
	return NULL;
}

static void out_of_time(int sig)
{
	static const char said[] = "level=error msg=\"out of time: what was seen last may not "
				   "have been sent\"\n";

	(void)!write(STDERR_FILENO, said, sizeof(said) - 1);
	_exit(1);
}

/* Everything is sent: only what the kernel frees anyway is not freed yet. */
static void late_but_done(int sig)
{
	_exit(0);
}

/* The server beside has ended? It is left for its parent to take note of. */
static bool server_has_ended(const struct agent_cli *cli)
{
	siginfo_t info = { 0 };

	return cli->extra &&
	       waitid(P_PID, (id_t)cli->extra->server, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid;
}

/* Until a signal says so, or the server beside has ended. */
static void wait_for_end(struct agent_cli *cli, const sigset_t *signals)
{
	uint64_t next_log_ms = in_ms(LOG_S * 1000) / CLOCK_MS_NS;
	int sig;

	while (!server_has_ended(cli)) {
		int64_t left = (int64_t)next_log_ms - clock_monotonic_ms();
		struct timespec wait = { left > 0 ? left / 1000 : 0,
					 left > 0 ? left % 1000 * CLOCK_MS_NS : 0 };

		sig = sigtimedwait(signals, NULL, &wait);
		if (sig == SIGHUP)
			reload(cli);
		else if (sig == SIGINT || sig == SIGTERM)
			return;
		if (clock_monotonic_ms() >= (int64_t)next_log_ms) {
			next_log_ms += LOG_S * 1000;
			log_stats(cli);
		}
	}
}

/* What could not be sent, exactly. 0: nothing. */
static int tell_unsent(struct agent_cli *cli)
{
	struct exporter_stats exports;
	struct agent_stats s;

	get_stats(cli, &s, &exports);
	for (size_t i = 0; i < exports.n_sinks; i++) {
		const struct export_sink_stats *sink = &exports.sinks[i];
		char line[320];

		if (!sink->unsent_profiles)
			continue;
		snprintf(line, sizeof(line), "%s: %" PRIu64 " profiles are not sent: %s",
			 sink->name, sink->unsent_profiles, sink->last_error);
		log_export(NULL, line);
	}
	if (s.n_unsent)
		fprintf(stderr,
			"level=error msg=\"%" PRIu64 " samples are not sent: there was no time to "
			"name them\"\n",
			s.n_unsent);
	return s.n_unsent ? EXIT_FAILURE : 0;
}

static int run(struct agent_cli *cli, const sigset_t *signals)
{
	struct sigaction out = { .sa_handler = out_of_time },
			 done = { .sa_handler = late_but_done };
	int r = pthread_create(&cli->thread, NULL, sampling_main, cli);
	uint64_t deadline_ns;

	if (r)
		return cli_fail("can't start a thread: %s", strerror(r));
	wait_for_end(cli, signals);
	deadline_ns = in_ms(EXPORT_STOP_MS);
	sigaction(SIGALRM, &out, NULL);
	alarm(STOP_S);
	agent_stop(cli->agent);
	pthread_join(cli->thread, NULL);
	exporter_stop(cli->exporter, deadline_ns);
	log_stats(cli);
	if (cli->status < 0)
		return cli_fail("%s", cli->err.msg[0] ? cli->err.msg : strerror(-cli->status));
	r = tell_unsent(cli);
	if (r == 0)
		sigaction(SIGALRM, &done, NULL);
	return r;
}

static int start(struct agent_cli *cli, struct err *err)
{
	struct agent_opts opts = {
		.prepared = &cli->prepared,
		.config = cli->config,
		.keep_times = cli->config->otlp.len > 0 || cli->extra,
		.export = on_window,
		.log = log_line,
		.ctx = cli,
	};
	int r = open_exporter(&cli->exporter, cli, cli->config, err);

	if (cli->config->host)
		snprintf(cli->name, sizeof(cli->name), "%s", cli->config->host);
	else
		(void)gethostname(cli->name, sizeof(cli->name) - 1);
	if (r == 0)
		r = agent_open(&cli->agent, &opts, err);
	return r < 0 ? r : open_metrics(cli, err);
}

/* Nothing of what follows takes more, and threads have what they are started with. */
static int drop_privileges(struct agent_cli *cli, struct err *err)
{
	char report[256];
	int r;

	agent_prepare(&cli->prepared);
	if (cli->config->keep_privileges)
		return 0;
	r = privileges_drop(report, sizeof(report), err);
	if (r == 0)
		fprintf(stderr, "level=info msg=\"privileges: %s\"\n", report);
	return r;
}

static int usage(void)
{
	fputs("Usage: cameo agent [--config FILE] [--KEY VALUE...]\n\n"
	      "Profile this machine until told to stop, and send what was seen.\n"
	      "Each flag is a key of the config file too (KEY = VALUE) and the other way round.\n"
	      "SIGHUP reads the file again; SIGTERM sends the rest and ends.\n",
	      stdout);
	agent_config_help(stdout);
	fputs("\nExample: cameo agent --server http://127.0.0.1:4040 --rule 'comm=~^test : "
	      "drop-process'\n",
	      stdout);
	return 0;
}

int cli_agent_with(int argc, char **argv, const struct agent_extra *extra)
{
	struct agent_cli cli = { .argc = argc, .argv = argv, .extra = extra };
	sigset_t signals;
	struct err err = { 0 };
	int status;

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return usage();
	if (read_config(&cli, &cli.config, &err) < 0) {
		cli_fail("%s", err.msg);
		return EXIT_USAGE;
	}
	pthread_mutex_init(&cli.lock, NULL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	if (extra)
		sigaddset(&signals, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* few threads allocate, and never at once for long: what one has freed serves the others */
	mallopt(M_ARENA_MAX, 1);
	/* what is large goes back when it is freed, whatever was freed before */
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	if (drop_privileges(&cli, &err) < 0 || start(&cli, &err) < 0)
		status = cli_fail("%s", err.msg);
	else
		status = run(&cli, &signals);
	http_server_close(cli.metrics);
	agent_free(cli.agent);
	exporter_free(cli.exporter);
	agent_config_free(cli.config);
	pthread_mutex_destroy(&cli.lock);
	return status;
}

int cli_agent(int argc, char **argv)
{
	return cli_agent_with(argc, argv, NULL);
}
