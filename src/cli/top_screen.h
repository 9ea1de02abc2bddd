/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The full-screen display of `cameo top`. */
struct err;
struct top_source;
struct top_view;

/*
 * Displays the profiles of @s, at first as @view, until the user quits or a signal arrives. @title
 * names what is being profiled. Returns 0 or -errno. The terminal is restored before it returns,
 * also after an error.
 */
int top_screen_run(struct top_source *s, const struct top_view *view, const char *title,
		   struct err *err);
