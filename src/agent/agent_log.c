/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent_log.h"

#include <stdio.h>

#include "agent/selector.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/logfmt.h"
#include "lang/runtime.h"

void agent_log_line(const struct agent_log *log, const char *line)
{
	if (log->put)
		log->put(log->ctx, line);
}

static void log_buf(const struct agent_log *log, struct buf *line)
{
	buf_put_byte(line, 0);
	if (buf_error(line) == 0)
		agent_log_line(log, (const char *)line->data);
}

void agent_log_error(const struct agent_log *log, const char *begin, const char *why)
{
	_cleanup_(buf_fini) struct buf line = { 0 };

	buf_put_str(&line, begin);
	logfmt_put(&line, " error", why);
	log_buf(log, &line);
}

void agent_log_unsupported(const struct agent_log *log, const struct lang_runtime *u)
{
	_cleanup_(buf_fini) struct buf line = { 0 };

	buf_put_str(&line, "level=warn msg=\"language runtime is not supported\"");
	logfmt_put(&line, " runtime", u->name);
	logfmt_put(&line, " version", u->version);
	logfmt_put(&line, " file", u->path);
	logfmt_put(&line, " reason", u->problem);
	logfmt_put(&line, " effect", u->effect);
	log_buf(log, &line);
}

void agent_log_selection(const struct agent_log *log, const struct selector *s)
{
	char line[120];

	if (!selector_count(s))
		return;
	snprintf(line, sizeof(line),
		 "level=info msg=\"processes are selected\" rules=%zu others=%s", selector_count(s),
		 selector_includes_others(s) ? "included" : "excluded");
	agent_log_line(log, line);
}
