/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by report, diff, convert and view. A sample type is a name as in the profile; which one is
 * the default is decided in tables/top.h, so all commands agree.
 */
#include "cli/sources.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/args.h"
#include "cli/input.h"
#include "cli/text.h"
#include "cli/url.h"
#include "codec/format.h"
#include "profile/profile.h"
#include "tables/labelled.h"
#include "tables/top.h"

enum { LABELS_MAX = 16, SPAN_DIGITS = 16, TRACE_DIGITS = 32 };

#define OPTION_VALUES struct sources

const struct option_spec sources_options[] = {
	OPTION_SECTION("Input"),
	OPTION(CUSTOM, 0, "from", "FORMAT", from,
	       "Read files as this format instead of detecting it",
	       .parse = args_parse_input_format, .list = format_readable_ids),
	OPTION(TEXT, 0, "sample-type", "NAME", sample_type,
	       "Use the values of this sample type (default: the profile's own choice, else its "
	       "last)"),
	OPTION(FLAG, 0, "hide-idle", NULL, hide_idle,
	       "Exclude waits of idle threads, such as those of thread pools, event loops and "
	       "timers",
	       .details = "This applies to profiles recorded with --off-cpu or --wall. Idle waits "
			  "are recognized by the functions on their stacks. How much was excluded "
			  "is reported on standard error."),
	OPTION(TEXTS, 0, "label", "KEY=VALUE", labels, "Include only samples with this label"),
	OPTION(TEXT, 0, "span", "ID", span,
	       "Include only samples of the span with this id, or of the trace with this id",
	       .details = "16 hexadecimal digits are a span's id (the label span_id), 32 digits a "
			  "trace's (trace_id). A server selects them itself; it must be "
			  "cameo server with a store of files, or a Pyroscope that has spans."),
	{ 0 },
};

/*
 * Lists the types that exist, because each profiler has its own names for them. They come from the
 * file, so control characters are replaced.
 */
static int no_such_type(const struct profile *p, const char *path, const char *type,
			struct err *err)
{
	_cleanup_(buf_fini) struct buf names = { 0 };

	for (size_t i = 0; i < profile_n_sample_types(p); i++) {
		buf_put_str(&names, i ? ", " : "");
		text_put_safe(&names, profile_string(p, profile_sample_type(p, i).type));
	}
	buf_put_byte(&names, '\0');
	if (!profile_n_sample_types(p))
		return err_set(err, -ENOENT,
			       "cannot use \"%.100s\": the profile has no sample types", path);
	return err_set(err, -ENOENT, "--sample-type \"%.60s\": expected one of %.120s", type,
		       buf_error(&names) ? "the profile's sample types" : (const char *)names.data);
}

static int parse_label(const char *text, struct label_filter *out, struct err *err)
{
	const char *value = strchr(text, '=');

	if (!value || value == text)
		return err_set(err, -EINVAL, "--label \"%.100s\": expected KEY=VALUE", text);
	*out = (struct label_filter){ text, (size_t)(value - text), value + 1 };
	return 0;
}

static int parse_span(const char *text, struct label_filter *out, struct err *err)
{
	size_t len = strlen(text);

	if ((len != SPAN_DIGITS && len != TRACE_DIGITS) || strspn(text, "0123456789abcdef") != len)
		return err_set(err, -EINVAL,
			       "--span \"%.100s\": expected 16 or 32 hexadecimal digits in lower "
			       "case",
			       text);
	*out = len == SPAN_DIGITS ? (struct label_filter){ "span_id", strlen("span_id"), text }
				  : (struct label_filter){ "trace_id", strlen("trace_id"), text };
	return 0;
}

/*
 * Decides who selects the samples of --span: a server does it itself, because its responses have no
 * labels; samples of files are selected here, by their labels. *@out is false if there is no
 * --span. Checks the id in any case.
 */
static int asks_for_span(const struct sources *s, size_t first, size_t n, bool *out,
			 struct err *err)
{
	struct label_filter unused;
	size_t n_queries = 0;
	int r = s->span ? parse_span(s->span, &unused, err) : 0;

	for (size_t i = first; i < first + n; i++)
		n_queries += url_is_query(s->paths.data[i]);
	*out = s->span && n_queries;
	if (r == 0 && *out && n_queries < n)
		return err_set(err, -EINVAL,
			       "--span cannot be used with files and servers at the same time");
	return r;
}

/* Replaces *@p by the samples that --label and --span select, if they are given. */
static int select_labelled(const struct sources *s, bool by_span, struct profile **p,
			   struct err *err)
{
	struct label_filter filters[LABELS_MAX];
	struct profile *found;
	size_t n = 0;
	int r = s->labels.len < LABELS_MAX ? 0 : -E2BIG;

	if (r < 0)
		return err_set(err, r, "--label may not be repeated more than %d times",
			       LABELS_MAX - 1);
	for (size_t i = 0; i < s->labels.len && r == 0; i++)
		r = parse_label(s->labels.data[i], &filters[n++], err);
	if (r == 0 && by_span)
		r = parse_span(s->span, &filters[n++], err);
	if (r < 0 || !n)
		return r;
	r = labelled_select(&found, *p, filters, n);
	if (r == -ENOENT && n == 1)
		return err_set(err, r, "no sample has the label %.*s=%.100s",
			       (int)filters[0].key_len, filters[0].key, filters[0].value);
	if (r == -ENOENT)
		return err_set(err, r, "no sample has all of the %zu labels of --label and --span",
			       n);
	if (r < 0)
		return err_set(err, r, "out of memory");
	profile_free(*p);
	*p = found;
	return 0;
}

/* The sample type is looked up in the merged profile, so a type must exist in all of the files. */
int sources_read(const struct sources *s, size_t first, size_t n, const char *label,
		 struct profile **out, size_t *out_value_num, struct err *err)
{
	struct input_options in = { .from = s->from, .hide_idle = s->hide_idle, .label = label };
	const char *type = s->sample_type;
	_cleanup_(profile_freep) struct profile *p = NULL;
	bool asks = false;
	int r = asks_for_span(s, first, n, &asks, err);

	in.id = asks ? s->span : NULL;
	if (r == 0)
		r = input_read(&p, s->paths.data + first, n, &in, err);
	if (r == 0)
		r = select_labelled(s, s->span && !asks, &p, err);
	if (r < 0)
		return r;
	r = top_value_num(p, type, out_value_num);
	if (r < 0)
		return no_such_type(p, s->paths.data[first], type ? type : "", err);
	*out = steal_ptr(&p);
	return 0;
}

/* Standard input has no name, so the default title of the format applies. */
const char *sources_title(const struct sources *s)
{
	const char *path = s->paths.data[0];

	return strcmp(path, "-") ? text_base_name(path) : NULL;
}
