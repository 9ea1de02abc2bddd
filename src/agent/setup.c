/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration consists of values that were checked one by one; these functions check how they
 * fit together and convert them to the options of other modules.
 */
#include "agent/setup.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/config.h"
#include "agent/selector.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "metadata/labeler.h"
#include "metadata/process_info.h"
#include "opener/opener.h"

/* Environment variables that are read of each process; those that name services come first. */
struct env_names {
	const char *names[PROCESS_INFO_ENV_MAX];
	size_t n, n_service;
};

/*
 * OTEL_SERVICE_NAME always comes first, and therefore takes precedence over configured variables.
 */
static int env_names(const struct agent_config *c, struct env_names *out, struct err *err)
{
	*out = (struct env_names){ .names = { "OTEL_SERVICE_NAME" }, .n = 1 };
	if (1 + c->service_env.len + c->env.len > PROCESS_INFO_ENV_MAX)
		return err_set(err, -EINVAL,
			       "env and service-env name more than %d environment variables",
			       PROCESS_INFO_ENV_MAX - 1);
	for (size_t i = 0; i < c->service_env.len; i++)
		out->names[out->n++] = c->service_env.data[i];
	out->n_service = out->n;
	for (size_t i = 0; i < c->env.len; i++)
		out->names[out->n++] = c->env.data[i];
	return 0;
}

int setup_process_info(struct process_info_store **out, const struct agent_config *c,
		       struct err *err)
{
	struct env_names env;
	int r = env_names(c, &env, err);

	if (r == 0)
		r = process_info_store_new(out, "/proc", env.names, env.n);
	if (r == 0)
		process_info_store_set_environ(*out, opener_read_environ);
	return r;
}

int setup_labeler(struct labeler **out, const struct agent_config *c, struct fetcher *fetcher,
		  struct err *err)
{
	struct env_names env;
	char host[256] = "";
	struct labeler_opts opts = {
		.labels = c->labels ? c->labels : "",
		.rules = (const char *const *)c->rule.data,
		.n_rules = c->rule.len,
		.max_series = c->max_series,
		.host = c->host ? c->host : host,
		.containers = { .root = c->root ? c->root : "/",
				.kubelet_url = c->kubelet,
				.kubelet_token_file = c->kubelet_token_file,
				.kubelet_ca_file = c->kubelet_ca_file,
				.fetcher = fetcher },
	};
	int r = env_names(c, &env, err);

	if (r < 0)
		return r;
	/*
	 * A failure leaves the name empty, so that there is no label host. The configured name, if
	 * any, is in opts.host already.
	 */
	(void)gethostname(host, sizeof(host) - 1);
	opts.env = env.names;
	opts.n_env = env.n;
	opts.n_service = env.n_service;
	return labeler_new(out, &opts, err);
}

int setup_selector(struct selector **out, const struct agent_config *c, struct err *err)
{
	const struct selector_opts opts = {
		.rules = (const char *const *)c->select.data,
		.n_rules = c->select.len,
		.root = c->root ? c->root : "/",
	};

	return selector_new(out, &opts, err);
}

/* Is @word an element of @list, which is separated by commas or spaces? */
static bool list_has(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; p && (p = strstr(p, word)); p += n)
		if ((p == list || strchr(", ", p[-1])) && (!p[n] || strchr(", ", p[n])))
			return true;
	return false;
}

bool setup_has_cpu_label(const struct agent_config *c)
{
	return list_has(c->labels, "cpu");
}

bool setup_scrapes(const struct agent_config *c)
{
	return c->scrape.len || c->scrape_file || c->scrape_pods;
}

int setup_debuginfod(char **out, const struct agent_config *c)
{
	struct buf b = { 0 };

	for (size_t i = 0; i < c->debuginfod.len; i++)
		buf_printf(&b, "%s%s", i ? " " : "", c->debuginfod.data[i]);
	if (b.len)
		buf_put_byte(&b, 0);
	*out = (char *)b.data;
	return buf_error(&b);
}

/* A thread that ends meanwhile is skipped. Lowering a priority never requires privileges. */
void setup_lower_others(int priority)
{
	_cleanup_(closedirp) DIR *dir = opendir("/proc/self/task");
	const struct dirent *e;

	while (dir && (e = readdir(dir))) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid > 0 && tid != gettid())
			(void)setpriority(PRIO_PROCESS, (id_t)tid, priority);
	}
}
