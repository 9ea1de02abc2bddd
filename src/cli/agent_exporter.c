/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each URL and directory of the configuration is a sink of its own, so that a destination that is
 * down delays no other one.
 */
#include "cli/agent_exporter.h"

#include <errno.h>

#include "agent/config.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "export/export.h"

struct sinks {
	VEC(struct export_sink_options);
};

/*
 * Credentials, TLS and limits are common to all destinations; each kind of sink ignores what does
 * not apply to it.
 */
static int add_sinks(struct sinks *out, const struct agent_config *c, enum export_kind kind,
		     const struct option_texts *urls)
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

/*
 * At least one destination is required: nobody would notice that an agent without one exports
 * nothing.
 */
static int all_sinks(struct sinks *out, const struct agent_exporter_opts *opts, struct err *err)
{
	const struct agent_config *c = opts->config;
	int r = add_sinks(out, c, EXPORT_PYROSCOPE, &c->server);

	if (r == 0)
		r = add_sinks(out, c, EXPORT_OTLP, &c->otlp);
	if (r == 0)
		r = add_sinks(out, c, EXPORT_DIR, &c->dir);
	if (r == 0 && opts->local_fd >= 0)
		r = vec_push(out, (struct export_sink_options){ .kind = EXPORT_LOCAL,
								.url = "store",
								.fd = opts->local_fd });
	if (r == 0 && !out->len)
		r = err_set(
			err, -EINVAL,
			"no destination for profiles: use --server URL, --otlp URL or --dir DIR");
	if (r == 0 && out->len > EXPORT_MAX_SINKS)
		r = err_set(err, -EINVAL,
			    "--server, --otlp and --dir name more than %d destinations",
			    EXPORT_MAX_SINKS);
	return r;
}

int agent_exporter_open(struct exporter **out, const struct agent_exporter_opts *opts,
			struct err *err)
{
	const struct agent_config *c = opts->config;
	struct sinks sinks = { 0 };
	struct exporter_options opt = {
		.queue_bytes = c->queue_bytes,
		.spool_dir = c->spool,
		.spool_bytes = c->spool_bytes,
		.max_age_ns = (int64_t)c->max_age,
		.host = c->host,
		.previous = opts->previous,
		.launcher = opts->launcher,
		.log = opts->log,
	};
	int r = all_sinks(&sinks, opts, err);

	opt.sinks = sinks.data;
	opt.n_sinks = sinks.len;
	if (r == 0)
		r = exporter_new(out, &opt, err);
	vec_fini(&sinks);
	return r;
}
