/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the agent says about itself: to Prometheus, and as a line for a log. */
struct agent_stats;
struct buf;
struct exporter_stats;

/* In Prometheus' text format 0.0.4. @exports may be NULL. */
void agent_metrics_text(struct buf *out, const struct agent_stats *s,
			const struct exporter_stats *exports);

/* What happened since @before, in logfmt, without a line's end. */
void agent_metrics_line(struct buf *out, const struct agent_stats *s,
			const struct agent_stats *before, const struct exporter_stats *exports);
