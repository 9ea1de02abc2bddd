/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo agent`. The main thread waits for signals and writes the log line; another thread runs the
 * agent. On SIGHUP it reads the configuration again and passes the changes that a running agent can
 * apply to the agent and to a new exporter. On SIGTERM and SIGINT pending profiles are exported
 * within STOP_S seconds.
 *
 * Threads: the main thread, those of the agent (agent.h), one per exporter channel, and one of the
 * HTTP server for metrics. Signals are blocked in all of them and received by sigtimedwait() here,
 * so no handler runs except that of the final alarm. Shutdown is bounded: even if a server or a
 * file system hangs, the process exits STOP_S seconds after the signal and logs that profiles may
 * be missing. systemd would kill it silently after its own timeout.
 */
#include "cli/agent.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
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
#include "agent/scrape_metrics.h"
#include "agent/setup.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/logfmt.h"
#include "cli/agent_exporter.h"
#include "cli/agent_http.h"
#include "cli/agent_scraper.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/network.h"
#include "cli/text.h"
#include "export/export.h"
#include "net/http_server.h"
#include "opener/opener.h"
#include "options/arguments.h"
#include "scrape/scraper.h"

enum {
	LOG_S = 60,              /* between two log lines of statistics */
	STOP_S = 5,              /* from a signal to the end of the process */
	EXPORT_STOP_MS = 4800,   /* the part of STOP_S that the exporter may use */
	OLD_EXPORTER_MS = 10000, /* for a replaced exporter to send its queue */
	LARGE_BYTES = 256 << 10
};

/*
 * config is the configuration at startup. agent_reload() may replace it within the agent; it is
 * retained here because a reload compares fixed options with it.
 */
struct agent_cli {
	const struct agent_config_source *source;
	const struct agent_server *server; /* NULL: none */
	struct agent_config *config;
	char host[256]; /* the label host, by which servers know this agent */
	struct agent_prepared prepared;
	struct agent *agent;
	struct network network;
	pthread_mutex_t lock; /* protects the pointer @exporter */
	struct exporter *exporter;
	struct scraper *scraper; /* NULL: nothing is scraped */
	struct agent_http http;
	struct http_server *metrics; /* NULL: turned off */
	struct agent_stats logged;   /* as of the last log line */
	pthread_t thread;
	int status; /* of agent_run() */
	struct err err;
};

/* ---- the log ------------------------------------------------------------------------- */

static void log_line(void *ctx, const char *message)
{
	text_print_message(message);
}

/* Logs @begin followed by ="@text", escaped. */
static void log_quoted(const char *begin, const char *text)
{
	_cleanup_(buf_fini) struct buf line = { 0 };

	logfmt_put(&line, begin, text);
	buf_put_byte(&line, 0);
	if (buf_error(&line) == 0)
		log_line(NULL, (const char *)line.data);
}

static void log_warning(void *ctx, const char *message)
{
	log_quoted("level=warn msg", message);
}

/* ---- the exporter --------------------------------------------------------------------- */

/* Opens an exporter that takes over the unsent profiles of the current one, if there is one. */
static int open_exporter(struct exporter **out, const struct agent_cli *cli,
			 const struct agent_config *c, struct err *err)
{
	const struct agent_exporter_opts opts = {
		.config = c,
		.local_fd = cli->server ? cli->server->fd : -1,
		.previous = cli->exporter,
		.launcher = cli->network.launcher,
		.log = log_warning,
	};

	return agent_exporter_open(out, &opts, err);
}

/* The lock protects the exporter from being replaced while its counters are read. */
static void get_stats(struct agent_cli *cli, struct agent_stats *out,
		      struct exporter_stats *exports)
{
	agent_stats(cli->agent, out);
	pthread_mutex_lock(&cli->lock);
	exporter_stats(cli->exporter, exports);
	pthread_mutex_unlock(&cli->lock);
}

/* Sends the agent's state to the servers. */
static void send_report(struct agent_cli *cli)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	struct exporter_stats exports;
	struct agent_stats s;

	get_stats(cli, &s, &exports);
	agent_report(&text, cli->host, &s, &exports);
	if (buf_error(&text) < 0)
		return;
	pthread_mutex_lock(&cli->lock);
	exporter_report(cli->exporter, &text);
	pthread_mutex_unlock(&cli->lock);
}

/*
 * Called in the agent's symbolizer thread. The exporter takes ownership of the window, so it comes
 * last.
 */
static void on_window(void *ctx, struct export_window *w)
{
	struct agent_cli *cli = ctx;

	send_report(cli);
	if (cli->server && cli->server->on_window)
		cli->server->on_window(cli->server->ctx, w);
	pthread_mutex_lock(&cli->lock);
	exporter_put(cli->exporter, w);
	pthread_mutex_unlock(&cli->lock);
}

/* Called in the scraper's thread. `cameo up` shows only windows of samples on the terminal. */
static void on_scraped(void *ctx, struct export_window *w)
{
	struct agent_cli *cli = ctx;

	pthread_mutex_lock(&cli->lock);
	exporter_put(cli->exporter, w);
	pthread_mutex_unlock(&cli->lock);
}

/* ---- metrics ------------------------------------------------------------------------------ */

static bool is_healthy(void *ctx)
{
	struct agent_cli *cli = ctx;

	return agent_is_healthy(cli->agent);
}

static void put_metrics(void *ctx, struct buf *out)
{
	struct agent_cli *cli = ctx;
	struct exporter_stats exports;
	struct scraper_stats scraping;
	struct agent_stats s;

	get_stats(cli, &s, &exports);
	agent_metrics_text(out, &s, &exports);
	if (!cli->scraper)
		return;
	scraper_stats(cli->scraper, &scraping);
	scrape_metrics_text(out, &scraping);
}

/* The line shows differences since the previous one, except for sizes, which are current. */
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

/* ---- SIGHUP ---------------------------------------------------------------------------- */

static uint64_t in_ms(uint64_t ms)
{
	return clock_monotonic_ns() + ms * CLOCK_MS_NS;
}

/* The purposes for which the configuration needs the network. */
static unsigned int network_uses(const struct agent_config *c)
{
	return (c->server.len || c->otlp.len ? NETWORK_SENDS : 0) |
	       (c->kubelet || c->debuginfod.len ? NETWORK_DOWNLOADS : 0) |
	       (setup_scrapes(c) ? NETWORK_SCRAPES : 0);
}

/*
 * Puts a new exporter in the place of the current one, which becomes *@out_old, to be stopped by
 * the caller. In `cameo up` the exporter is not replaced, because its socket cannot have two users.
 */
static int replace_exporter(struct agent_cli *cli, const struct agent_config *c,
			    struct exporter **out_old, struct err *err)
{
	struct exporter *fresh = NULL;
	int r;

	*out_old = NULL;
	if (cli->server)
		return 0;
	if (network_uses(c) & ~network_uses(cli->config) & NETWORK_SENDS)
		return err_set(err, -EINVAL,
			       "the agent gave up network access when it started without a "
			       "destination on the network: restart it");
	r = open_exporter(&fresh, cli, c, err);
	if (r < 0)
		return r;
	pthread_mutex_lock(&cli->lock);
	*out_old = cli->exporter;
	cli->exporter = fresh;
	pthread_mutex_unlock(&cli->lock);
	return 0;
}

/*
 * Options that need a restart keep their old values; the log names them, so a reload never fails
 * because of them.
 */
static int keep_fixed_options(const struct agent_cli *cli, struct agent_config *c)
{
	_cleanup_(buf_fini) struct buf kept = { 0 };
	int r = agent_config_keep(c, cli->config, &kept);

	if (r == 0 && kept.len)
		fprintf(stderr,
			"level=warn msg=\"changes of these keys take effect only after a restart "
			"of the agent\" keys=\"%.*s\"\n",
			(int)kept.len, (const char *)kept.data);
	return r;
}

static int reload_scraper(struct agent_cli *cli, const struct agent_config *c, struct err *err)
{
	if (cli->scraper)
		return agent_scraper_configure(cli->scraper, c, cli->network.scraping, err);
	if (setup_scrapes(c))
		return err_set(err, -EINVAL,
			       "the agent gave up network access when it started without programs "
			       "to scrape: restart it");
	return 0;
}

/* An error leaves the running configuration in place. */
static void reload(struct agent_cli *cli)
{
	struct exporter *old = NULL;
	struct agent_config *c = NULL;
	struct err err = { 0 };
	int r = agent_config_read(&c, cli->source, &err);

	if (r == 0)
		r = keep_fixed_options(cli, c);
	if (r == 0)
		r = reload_scraper(cli, c, &err);
	if (r == 0)
		r = replace_exporter(cli, c, &old, &err);
	if (r < 0) {
		log_quoted("level=error msg=\"cannot reload the configuration\" error",
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

static void *agent_main(void *arg)
{
	struct agent_cli *cli = arg;

	cli->status = agent_run(cli->agent, &cli->err);
	/*
	 * Unless agent_stop() was called, agent_run() returns only after a failure: notify the main
	 * thread.
	 */
	kill(getpid(), SIGTERM);
	return NULL;
}

/*
 * A signal handler: only async-signal-safe calls. The log may be a pipe that nobody reads any
 * more, which must not delay the end.
 */
static void on_stop_timeout(int sig)
{
	struct pollfd log = { .fd = STDERR_FILENO, .events = POLLOUT };

	static const char message[] = "level=error msg=\"shutdown timed out: the latest profiles "
				      "may not have been sent\"\n";

	if (poll(&log, 1, 0) == 1 && log.revents & POLLOUT)
		(void)!write(STDERR_FILENO, message, sizeof(message) - 1);
	_exit(1);
}

/*
 * Ends the process after all profiles were sent; the memory that is still being freed returns to
 * the kernel anyway.
 */
static void on_stop_timeout_after_success(int sig)
{
	_exit(0);
}

/* WNOWAIT leaves the exit status for `cameo up` to collect. */
static bool server_has_ended(const struct agent_cli *cli)
{
	siginfo_t info = { 0 };

	return cli->server &&
	       waitid(P_PID, (id_t)cli->server->server, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid;
}

/*
 * Returns after SIGINT or SIGTERM, or when a child without which nothing can be exported has ended:
 * the server of `cameo up`, or the launcher of exporters, which a process that has dropped its
 * privileges cannot start again. Statistics are logged at fixed times, whatever signals arrive in
 * between.
 */
static void wait_for_end(struct agent_cli *cli, const sigset_t *signals)
{
	uint64_t next_log_ms = in_ms(LOG_S * 1000) / CLOCK_MS_NS;
	int sig;

	while (!server_has_ended(cli) && !network_has_died(&cli->network)) {
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

/* Logs what was lost at the end. Returns an exit status: lost samples are a failure. */
static int log_unsent(struct agent_cli *cli)
{
	struct exporter_stats exports;
	struct agent_stats s;

	get_stats(cli, &s, &exports);
	for (size_t i = 0; i < exports.n_sinks; i++) {
		const struct export_sink_stats *sink = &exports.sinks[i];
		char line[320];

		if (!sink->unsent_profiles)
			continue;
		snprintf(line, sizeof(line), "%s: %" PRIu64 " profiles were not sent: %s",
			 sink->name, sink->unsent_profiles, sink->last_error);
		log_warning(NULL, line);
	}
	if (s.n_unsent)
		fprintf(stderr,
			"level=error msg=\"%" PRIu64
			" samples were not sent: symbolizing them took too long\"\n",
			s.n_unsent);
	return s.n_unsent ? EXIT_FAILURE : 0;
}

/*
 * At shutdown the agent symbolizes its last window and passes it to the exporter, which may use the
 * remaining time to send it.
 */
static int run(struct agent_cli *cli, const sigset_t *signals)
{
	struct sigaction timeout = { .sa_handler = on_stop_timeout },
			 done = { .sa_handler = on_stop_timeout_after_success };
	int r = pthread_create(&cli->thread, NULL, agent_main, cli);
	uint64_t deadline_ns;

	if (r)
		return cli_fail("cannot start the agent thread: %s", strerror(r));
	wait_for_end(cli, signals);
	deadline_ns = in_ms(EXPORT_STOP_MS);
	sigaction(SIGALRM, &timeout, NULL);
	alarm(STOP_S);
	agent_stop(cli->agent);
	pthread_join(cli->thread, NULL);
	scraper_stop(cli->scraper);
	exporter_stop(cli->exporter, deadline_ns);
	log_stats(cli);
	if (cli->status < 0)
		return cli_fail("%s", cli->err.msg[0] ? cli->err.msg : strerror(-cli->status));
	r = log_unsent(cli);
	if (network_has_died(&cli->network))
		r = cli_fail(
			"cannot use the network any more: the launcher of exporter processes was "
			"killed; start the agent again");
	if (r == 0)
		sigaction(SIGALRM, &done, NULL);
	return r;
}

static int open_scraper(struct agent_cli *cli, struct err *err)
{
	const struct scraper_opts opts = {
		.fetcher = cli->network.scraping,
		.export = on_scraped,
		.log = log_warning,
		.ctx = cli,
	};
	int r = scraper_new(&cli->scraper, &opts, err);

	return r < 0 ? r
		     : agent_scraper_configure(cli->scraper, cli->config, cli->network.scraping,
					       err);
}

/*
 * The exporter comes first, because a wrong destination should be reported before BPF programs are
 * loaded.
 */
static int open_agent(struct agent_cli *cli, struct err *err)
{
	struct agent_opts opts = {
		.prepared = &cli->prepared,
		.config = cli->config,
		.keep_times = cli->config->otlp.len > 0 || cli->server,
		/* its user waits for the page */
		.first_window_ns = cli->server ? 2 * (uint64_t)CLOCK_SECOND_NS : 0,
		.fetcher = cli->network.fetcher,
		.export = on_window,
		.log = log_line,
		.ctx = cli,
	};
	int r = open_exporter(&cli->exporter, cli, cli->config, err);

	if (cli->config->host)
		snprintf(cli->host, sizeof(cli->host), "%s", cli->config->host);
	else
		(void)gethostname(cli->host, sizeof(cli->host) - 1);
	if (r == 0)
		r = agent_open(&cli->agent, &opts, err);
	if (r == 0 && cli->network.scraping)
		r = open_scraper(cli, err);
	if (r == 0)
		r = agent_http_open(&cli->metrics, &cli->http, cli->config->metrics, err);
	/* only exporters have the network */
	return r < 0 || cli->config->keep_privileges ? r : privileges_deny_network(err);
}

/* Runs before any thread is started, because threads inherit the privileges of their creator. */
static int drop_privileges(struct agent_cli *cli, struct err *err)
{
	char report[256];
	int r;

	agent_prepare(&cli->prepared);
	r = network_open(&cli->network, network_uses(cli->config), err);
	if (r < 0)
		return r;
	if (cli->config->keep_privileges)
		return opener_start(err);
	r = privileges_drop(privileges_kept(), report, sizeof(report), err);
	if (r == 0)
		fprintf(stderr, "level=info msg=\"privileges: %s\"\n", report);
	return r < 0 ? r : opener_start(err);
}

/* Signals that wait_for_end() receives; they have to be blocked in all threads. */
static void block_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGHUP);
	sigaddset(signals, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, signals, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/*
 * Few threads allocate, and none for long, so one arena lets each reuse what another has freed.
 * A fixed threshold returns large blocks to the kernel whenever they are freed.
 */
static void limit_heap(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
}

int agent_run_command(const struct agent_config_source *source, const struct agent_server *server)
{
	struct agent_cli cli = { .source = source, .server = server };
	sigset_t signals;
	struct err err = { 0 };
	int status = agent_config_read(&cli.config, source, &err);

	cli.http = (struct agent_http){ is_healthy, put_metrics, &cli };
	if (status == ARGUMENTS_HELP)
		return cli_help(&agent_command);
	if (status < 0)
		return cli_fail_usage("%s", err.msg[0] ? err.msg : strerror(-status));
	pthread_mutex_init(&cli.lock, NULL);
	block_signals(&signals);
	limit_heap();
	if (drop_privileges(&cli, &err) < 0 || open_agent(&cli, &err) < 0)
		status = cli_fail("%s", err.msg);
	else
		status = run(&cli, &signals);
	http_server_close(cli.metrics);
	scraper_free(cli.scraper);
	agent_free(cli.agent);
	exporter_free(cli.exporter);
	network_close(&cli.network);
	agent_config_free(cli.config);
	pthread_mutex_destroy(&cli.lock);
	return status;
}

static int run_command(int argc, char **argv)
{
	const struct agent_config_source source = { .argc = argc, .argv = argv };

	return agent_run_command(&source, NULL);
}

const struct command agent_command = {
	.name = "agent",
	.summary = "profile this machine continuously and export profiles",
	.synopsis = "[--config FILE] [OPTION...]",
	.description = "Profile this machine until SIGTERM or SIGINT, and export one profile per "
		       "label set and window.\n\nEvery option can also be set in the config file, "
		       "as KEY = VALUE. On SIGHUP the agent reads the file again.",
	.options = COMMAND_OPTIONS(agent_config_flags, agent_config_options),
	.examples = COMMAND_EXAMPLES(
		{ "Profile this machine and push to a server on the same machine",
		  "cameo agent --server http://127.0.0.1:4040" },
		{ "Exclude the processes called \"test\"",
		  "cameo agent --server http://127.0.0.1:4040 --rule 'comm=~^test : "
		  "drop-process'" },
		{ "Export OpenTelemetry profiles, and buffer them on disk while the receiver is "
		  "down",
		  "cameo agent --otlp grpc://collector:4317 --spool /var/lib/cameo-agent/spool" }),
	.run = run_command,
};
