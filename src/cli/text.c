/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols, paths, labels and names of processes are written by anybody. The strings of a profile
 * are safe on a terminal (profile/profile.h); text_put_safe() is for those from elsewhere, and
 * text_print_message() for messages that contain such strings.
 */
#include "cli/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"
#include "profile/unit.h"

/* A unit that values are shown in, and its size in ns or bytes. */
struct scale {
	const char *text;
	double factor;
};

/* Largest first: scaled() takes the first unit of which a value has at least one. */
static const struct scale times[] = {
	{ "h", 3600e9 }, { "min", 60e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 },
};

static const struct scale sizes[] = {
	{ "TB", 1099511627776.0 },
	{ "GB", 1073741824 },
	{ "MB", 1048576 },
	{ "kB", 1024 },
	{ "B", 1 },
};

static const char *scaled(double v, const struct scale *scales, size_t n, char *out)
{
	size_t i = 0;

	/* Minutes and hours are used from ten of them on, so "90.00s" is not "1.50min". */
	while (i + 1 < n && fabs(v) < (i < 2 && scales == times ? 10 : 1) * scales[i].factor)
		i++;
	snprintf(out, TEXT_VALUE_LEN, i + 1 == n ? "%.0f%s" : "%.2f%s", v / scales[i].factor,
		 scales[i].text);
	return out;
}

/* Two decimals keep the columns narrow; --json prints exact values. */
const char *text_value(int64_t v, const char *unit, char out[TEXT_VALUE_LEN])
{
	double ns = profile_unit_ns(unit);

	if (ns > 0)
		return scaled((double)v * ns, times, sizeof(times) / sizeof(times[0]), out);
	if (!strcmp(unit, "bytes"))
		return scaled((double)v, sizes, sizeof(sizes) / sizeof(sizes[0]), out);
	snprintf(out, TEXT_VALUE_LEN, "%" PRId64, v);
	return out;
}

double text_percent(int64_t part, int64_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

void text_put_safe(struct buf *out, const char *s)
{
	utf8_put_line(out, s, strlen(s));
}

void text_print_message(const char *s)
{
	_cleanup_(buf_fini) struct buf line = { 0 };

	text_put_safe(&line, s);
	buf_put_byte(&line, '\n');
	if (buf_error(&line) == 0)
		fwrite(line.data, 1, line.len, stderr);
}

const char *text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Writes and flushes, so that a full disk is reported here and not lost at exit. */
static int put_all(FILE *f, const struct buf *text)
{
	size_t n = text->len ? fwrite(text->data, 1, text->len, f) : 0;

	return n == text->len && fflush(f) == 0 ? 0 : -errno;
}

/* SIGPIPE is ignored, because the user may quit the pager before it has read everything. */
static int print_paged(const struct buf *text)
{
	const char *pager = getenv("PAGER");
	FILE *f;
	int r;

	fflush(stdout);
	/* F: less quits at once if the text fits on one screen. */
	setenv("LESS", "FRX", 0);
	signal(SIGPIPE, SIG_IGN);
	f = popen(pager && *pager ? pager : "less", "w");
	if (!f)
		return -errno;
	r = put_all(f, text);
	/* 127: the shell did not find the pager. */
	if (pclose(f) == 127 << 8)
		return put_all(stdout, text);
	return r;
}

int text_check(const struct buf *text, struct err *err)
{
	int r = buf_error(text);

	if (r == -EFBIG)
		return err_set(err, r, "the output exceeds the limit of %zu bytes", text->max);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

int text_print(const struct buf *text, struct err *err)
{
	int r = text_check(text, err);

	if (r < 0)
		return r;
	r = isatty(STDOUT_FILENO) ? print_paged(text) : put_all(stdout, text);
	if (r == 0 || r == -EPIPE)
		return 0;
	return err_set(err, r, "cannot write to standard output: %s", strerror(-r));
}

bool text_is_above(int64_t part, int64_t of, double percent)
{
	return fabs(text_percent(part, of)) >= percent;
}

void text_put_shares(struct buf *out, const char *unit, int64_t self, int64_t total, int64_t sum)
{
	char a[TEXT_VALUE_LEN], b[TEXT_VALUE_LEN];

	buf_printf(out, "%12s %6.2f%% %12s %6.2f%%  ", text_value(self, unit, a),
		   text_percent(self, sum), text_value(total, unit, b), text_percent(total, sum));
}

/* --json prints complete paths. */
void text_put_function(struct buf *out, const char *name, const char *binary)
{
	text_put_safe(out, name);
	if (*binary) {
		buf_put_str(out, "  ");
		text_put_safe(out, text_base_name(binary));
	}
}
