/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The status report of an agent to Cameo servers: docs/api.md, POST /api/v1/agents. Any
 * thread.
 */
struct agent_stats;
struct buf;
struct exporter_stats;

/*
 * Appends the report as JSON. @agent is the agent's name; rates are averages since start.
 * Check buf_error() of @out.
 */
void agent_report(struct buf *out, const char *agent, const struct agent_stats *s,
		  const struct exporter_stats *exports);
