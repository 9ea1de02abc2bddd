/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The agent's log lines in logfmt. Each is passed to a function; without one it is dropped, as is
 * a line for which there is no memory.
 */
struct lang_runtime;
struct selector;

struct agent_log {
	/* Called with one line, without a newline, on the thread that logs. May be NULL. */
	void (*put)(void *ctx, const char *line);
	void *ctx;
};

void agent_log_line(const struct agent_log *log, const char *line);

/* Logs @begin, which is part of a line, followed by error="@why". */
void agent_log_error(const struct agent_log *log, const char *begin, const char *why);

/* Logs a language runtime whose functions cannot be read, and why. */
void agent_log_unsupported(const struct agent_log *log, const struct lang_runtime *u);

/* Logs what the rules of selection do, if there are any. */
void agent_log_selection(const struct agent_log *log, const struct selector *s);
