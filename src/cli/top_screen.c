/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One loop waits for a profile or a key, changes the view and redraws everything; curses sends only
 * what differs. While paused, profiles are read and discarded, so that the first one after the
 * pause is recent. Names are drawn as wide characters and cut at the edge; control characters were
 * replaced before (text_put_safe()).
 */
#include "cli/top_screen.h"

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/input.h"
#include "cli/text.h"
#include "cli/top_rows.h"
#include "cli/top_source.h"
#include "profile/profile.h"

enum { HEAD_LINES = 3, KEY_ESCAPE = 27, ESCAPE_DELAY_MS = 25 };

/* The state of the display. Rows are made again from the profile whenever the view changes. */
struct screen {
	const char *title; /* what is being profiled */
	struct top_view view;
	struct top_rows rows;
	struct profile *p;      /* the latest; NULL: none yet */
	size_t selected, first; /* indices of rows: the selected one, the first on the screen */
	bool paused, typing_filter, quit;
	struct buf line;
};

static volatile sig_atomic_t stop_requested;

/* The handler only sets a flag: wait_for_input() returns when a signal arrives. */
static void on_stop(int sig)
{
	stop_requested = 1;
}

/*
 * The colours are those of the page as far as eight colours allow; kinds without one are drawn in
 * the default colour. A terminal without colours gets none.
 */
static attr_t colour_of(uint8_t kind)
{
	static const short colours[PROFILE_FRAME_MAX] = {
		[PROFILE_FRAME_NATIVE] = COLOR_CYAN,   [PROFILE_FRAME_KERNEL] = COLOR_RED,
		[PROFILE_FRAME_GO] = COLOR_GREEN,      [PROFILE_FRAME_RUST] = COLOR_MAGENTA,
		[PROFILE_FRAME_PYTHON] = COLOR_YELLOW, [PROFILE_FRAME_JVM] = COLOR_MAGENTA,
		[PROFILE_FRAME_V8] = COLOR_GREEN,      [PROFILE_FRAME_RUBY] = COLOR_RED,
	};

	return has_colors() && kind < PROFILE_FRAME_MAX && colours[kind] ? COLOR_PAIR(colours[kind])
									 : A_NORMAL;
}

/* The number of rows that fit on the screen. */
static size_t visible_rows(void)
{
	return LINES > HEAD_LINES + 1 ? (size_t)(LINES - HEAD_LINES - 1) : 1;
}

/*
 * Rows change with every profile, so the selection is moved into the new list first and the visible
 * range follows it.
 */
static void keep_selection_visible(struct screen *s)
{
	if (s->selected >= s->rows.rows.len)
		s->selected = s->rows.rows.len ? s->rows.rows.len - 1 : 0;
	if (s->selected < s->first)
		s->first = s->selected;
	if (s->selected >= s->first + visible_rows())
		s->first = s->selected - visible_rows() + 1;
}

/* Draws the first HEAD_LINES lines: the title, the kind of rows, and the column headings. */
static void draw_head(const struct screen *s)
{
	char value[TEXT_VALUE_LEN];

	mvprintw(0, 0, "cameo top  %s  %s%s", s->title,
		 s->p ? text_value(s->rows.sum, s->rows.unit, value) : "sampling...",
		 s->paused ? "  [paused]" : "");
	if (*s->view.function)
		mvprintw(1, 0, "callers and callees of %.*s", COLS > 30 ? COLS - 24 : 6,
			 s->view.function);
	else
		mvprintw(1, 0, "%s by %s%s%s%s", top_by_label(s->view.by),
			 s->view.by_total ? "total" : "self",
			 *s->view.filter || s->typing_filter ? ", filter: " : "", s->view.filter,
			 s->typing_filter ? "_" : "");
	attrset(A_REVERSE);
	mvhline(2, 0, ' ', COLS);
	mvaddstr(2, 0, "   self   total  name");
	attrset(A_NORMAL);
}

/* Draws as much of @text as fits into the line; curses would continue in the next one. */
static void draw_truncated(const char *text)
{
	size_t len = strlen(text);
	mbstate_t state = { 0 };

	while (len) {
		wchar_t c[2] = { L'?', 0 };
		size_t n = mbrtowc(c, text, len, &state);

		if (n == 0 || n > len) {
			n = 1;
			c[0] = L'?';
			state = (mbstate_t){ 0 };
		}
		if (wcwidth(c[0]) < 0)
			c[0] = L'?';
		if (getcurx(stdscr) + wcwidth(c[0]) >= COLS)
			return;
		addwstr(c);
		text += n;
		len -= n;
	}
}

/* Draws a row: its colour shows the kind of frame, reverse video the selection. */
static void draw_row(struct screen *s, size_t i, int y)
{
	const struct top_line *row = &s->rows.rows.data[i];
	attr_t attributes = i == s->selected ? A_REVERSE : colour_of(row->kind);
	const char *mark = row->section == TOP_SECTION_CALLERS   ? "caller "
			   : row->section == TOP_SECTION_CALLEES ? "callee "
								 : "";

	top_rows_format(&s->rows, row, &s->line);
	if (buf_error(&s->line))
		return;
	attrset(attributes);
	move(y, 0);
	addstr(mark);
	draw_truncated((const char *)s->line.data);
	attrset(A_NORMAL);
}

/* Draws the complete screen; curses sends the difference to the terminal. */
static void draw(struct screen *s)
{
	erase();
	keep_selection_visible(s);
	draw_head(s);
	for (size_t i = 0; i < visible_rows() && s->first + i < s->rows.rows.len; i++)
		draw_row(s, s->first + i, HEAD_LINES + (int)i);
	move(LINES - 1, 0);
	clrtoeol();
	addnstr(s->typing_filter
			? "type part of a name; Enter: apply, Esc: clear"
			: "f functions  p processes  t threads  l languages  b binaries  s sort  "
			  "/ filter  Enter callers and callees  Esc back  space pause  q quit",
		COLS - 1);
	refresh();
}

/* Sorts and filters again what was received last, so that a key takes effect immediately. */
static int make_rows(struct screen *s)
{
	return s->p ? top_rows_make(&s->rows, s->p, &s->view) : 0;
}

/* ---- keys -------------------------------------------------------------------- */

/*
 * Editing is limited to ASCII. getch() delivers other characters byte by byte, and a partial one
 * would match nothing.
 */
static void handle_filter_key(struct screen *s, int c)
{
	size_t len = strlen(s->view.filter);

	if (c == KEY_ESCAPE)
		s->view.filter[0] = '\0';
	if (c == KEY_ESCAPE || c == '\n' || c == KEY_ENTER)
		s->typing_filter = false;
	else if ((c == KEY_BACKSPACE || c == 127 || c == 8) && len)
		s->view.filter[len - 1] = '\0';
	else if (c >= ' ' && c < 127 && len + 1 < sizeof(s->view.filter))
		snprintf(s->view.filter + len, sizeof(s->view.filter) - len, "%c", c);
}

/* Changes the kind of rows, and leaves callers and callees, which exist for functions only. */
static void select_key(struct screen *s, enum entries_by by)
{
	s->view.by = by;
	s->view.function[0] = '\0';
	s->selected = s->first = 0;
}

/* Shows callers and callees of the selected function. */
static void show_neighbours(struct screen *s)
{
	if (s->selected >= s->rows.rows.len ||
	    (s->view.by != ENTRIES_BY_FUNCTION && !*s->view.function))
		return;
	snprintf(s->view.function, sizeof(s->view.function), "%s",
		 top_rows_name(&s->rows, &s->rows.rows.data[s->selected]));
	s->selected = s->first = 0;
}

/* Checks the lower bound; keep_selection_visible() checks the upper one. */
static void move_selection(struct screen *s, long n)
{
	long at = (long)s->selected + n;

	s->selected = at < 0 ? 0 : (size_t)at;
}

static void handle_key(struct screen *s, int c)
{
	switch (c) {
	case 'q':
	case 3:
		s->quit = true;
		break;
	case ' ':
		s->paused = !s->paused;
		break;
	case 's':
		s->view.by_total = !s->view.by_total;
		break;
	case 'f':
		select_key(s, ENTRIES_BY_FUNCTION);
		break;
	case 'p':
		select_key(s, ENTRIES_BY_PROCESS);
		break;
	case 't':
		select_key(s, ENTRIES_BY_THREAD);
		break;
	case 'l':
		select_key(s, ENTRIES_BY_LANGUAGE);
		break;
	case 'b':
		select_key(s, ENTRIES_BY_BINARY);
		break;
	case '/':
		s->typing_filter = !*s->view.function;
		break;
	case '\n':
	case KEY_ENTER:
		show_neighbours(s);
		break;
	case KEY_ESCAPE:
	case KEY_BACKSPACE:
		s->view.function[0] = '\0';
		break;
	case KEY_UP:
	case 'k':
		move_selection(s, -1);
		break;
	case KEY_DOWN:
	case 'j':
		move_selection(s, 1);
		break;
	case KEY_PPAGE:
		move_selection(s, -(long)visible_rows());
		break;
	case KEY_NPAGE:
		move_selection(s, (long)visible_rows());
		break;
	default:
		break;
	}
}

/* ---- the loop ---------------------------------------------------------------- */

/* Handles all pending keys before the next redraw, so that a repeated key does not lag behind. */
static void read_keys(struct screen *s)
{
	int c;

	while ((c = getch()) != ERR) {
		if (s->typing_filter)
			handle_filter_key(s, c);
		else
			handle_key(s, c);
	}
}

/* One iteration: waits for a profile or a key and redraws. */
static int iterate(struct screen *s, struct top_source *source, struct err *err)
{
	struct profile *p;
	int r;

	top_source_set_label(source, input_label(s->view.by, s->view.key));
	r = top_source_wait(source, &p, err);
	if (r < 0)
		return r;
	if (r == 0) {
		read_keys(s);
	} else if (s->paused) {
		profile_free(p);
	} else {
		profile_free(s->p);
		s->p = p;
	}
	/* after a signal the last state is drawn once more and the loop ends */
	s->quit |= stop_requested;
	r = make_rows(s);
	if (r == 0)
		draw(s);
	return r;
}

/* newterm() instead of initscr(), which would end the process if the terminal is unknown. */
static int open_terminal(struct err *err)
{
	SCREEN *terminal;

	setlocale(LC_CTYPE, "");
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal)
		return err_set(err, -ENOTTY,
			       "unknown terminal type ($TERM): pipe the output, as in \"cameo top "
			       "| cat\"");
	set_term(terminal);
	cbreak();
	noecho();
	/* getch() never waits: top_source_wait() waits for keys and profiles at the same time */
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	set_escdelay(ESCAPE_DELAY_MS);
	curs_set(0);
	if (has_colors()) {
		start_color();
		use_default_colors();
		for (short c = COLOR_RED; c <= COLOR_CYAN; c++)
			init_pair(c, c, -1);
	}
	return 0;
}

/* Signals end the loop instead of the process, so that endwin() restores the terminal. */
int top_screen_run(struct top_source *source, const struct top_view *view, const char *title,
		   struct err *err)
{
	const struct sigaction stop = { .sa_handler = on_stop };
	struct screen s = { .title = title, .view = *view };
	int r = open_terminal(err);

	if (r < 0)
		return r;
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	draw(&s);
	while (r == 0 && !s.quit)
		r = iterate(&s, source, err);
	endwin();
	profile_free(s.p);
	top_rows_fini(&s.rows);
	buf_fini(&s.line);
	return r;
}
