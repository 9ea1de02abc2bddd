/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How the agent is, for Cameo's servers: docs/api.md, POST /api/v1/agents. */
struct agent_stats;
struct buf;
struct exporter_stats;

/* Rates are since the start. @agent is its name. Ask @out for buf_error(). */
void agent_report(struct buf *out, const char *agent, const struct agent_stats *s,
		  const struct exporter_stats *exports);
