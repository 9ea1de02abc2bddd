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
#include "codec/format.h"
#include "profile/profile.h"
#include "tables/top.h"

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

/* The sample type is looked up in the merged profile, so a type must exist in all of the files. */
int sources_read(const struct sources *s, size_t first, size_t n, const char *label,
		 struct profile **out, size_t *out_value_num, struct err *err)
{
	const struct input_options in = { .from = s->from,
					  .hide_idle = s->hide_idle,
					  .label = label };
	const char *type = s->sample_type;
	_cleanup_(profile_freep) struct profile *p = NULL;
	int r = input_read(&p, s->paths.data + first, n, &in, err);

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
