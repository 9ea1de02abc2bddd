/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/metric_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

void metric_head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metric_number(struct buf *out, const char *name, const char *type, double value,
		   const char *help)
{
	metric_head(out, name, type, help);
	buf_printf(out, "%s %.15g\n", name, value);
}

static void put_count(struct buf *out, const char *name, const char *type, uint64_t value,
		      const char *help)
{
	metric_head(out, name, type, help);
	buf_printf(out, "%s %" PRIu64 "\n", name, value);
}

void metric_counter(struct buf *out, const char *name, uint64_t value, const char *help)
{
	put_count(out, name, "counter", value, help);
}

void metric_gauge(struct buf *out, const char *name, uint64_t value, const char *help)
{
	put_count(out, name, "gauge", value, help);
}

void metric_value(struct buf *out, const char *s)
{
	struct buf clean = { 0 };

	utf8_put_line(&clean, s, strlen(s));
	for (size_t i = 0; i < clean.len; i++) {
		uint8_t c = clean.data[i];

		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else
			buf_put_byte(out, c);
	}
	buf_fini(&clean);
}

void metric_labelled(struct buf *out, const char *name, const char *label, const char *value,
		     uint64_t v)
{
	buf_printf(out, "%s{%s=\"", name, label);
	metric_value(out, value);
	buf_printf(out, "\"} %" PRIu64 "\n", v);
}
