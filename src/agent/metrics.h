/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The agent's own statistics, as Prometheus metrics (/metrics) and as a log line. Pure
 * functions; any thread.
 */
struct agent_stats;
struct buf;
struct exporter_stats;

/* Appends all metrics in the Prometheus text format 0.0.4. @exports may be NULL. */
void agent_metrics_text(struct buf *out, const struct agent_stats *s,
			const struct exporter_stats *exports);

/*
 * Appends what happened since @before as one logfmt line without a newline. @exports may be
 * NULL.
 */
void agent_metrics_line(struct buf *out, const struct agent_stats *s,
			const struct agent_stats *before, const struct exporter_stats *exports);
