/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sources.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/args.h"
#include "cli/input.h"
#include "cli/text.h"
#include "profile/profile.h"
#include "query/top.h"

enum { OPT_FROM = 1024, OPT_TYPE, OPT_HIDE_IDLE };

static const struct argp_option options[] = {
	{ "from", OPT_FROM, "FORMAT", 0, "Format of the files, if it can't be told", 0 },
	{ "hide-idle", OPT_HIDE_IDLE, NULL, 0,
	  "Leave out waits of threads with nothing to do: pools, event loops, timers", 0 },
	{ "sample-type", OPT_TYPE, "NAME", 0,
	  "Which values, where only one is shown (default: what the profile says, else its last)",
	  0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct sources *s = state->input;

	switch (key) {
	case OPT_FROM:
		args_from(arg, &s->from, s->err);
		return 0;
	case OPT_TYPE:
		s->type = arg;
		return 0;
	case OPT_HIDE_IDLE:
		s->hide_idle = true;
		return 0;
	case ARGP_KEY_ARG:
		return vec_push(&s->paths, arg) < 0 ? ENOMEM : 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp_child *sources_options(void)
{
	static const struct argp argp = { .options = options, .parser = parse };
	static const struct argp_child children[] = { { .argp = &argp }, { 0 } };

	return children;
}

void sources_fini(struct sources *s)
{
	vec_fini(&s->paths);
}

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
		return err_set(err, -ENOENT, "%.100s: it has no sample types", path);
	return err_set(err, -ENOENT, "there is no sample type %.60s: the profile has %.120s", type,
		       buf_error(&names) ? "others" : (const char *)names.data);
}

int sources_read(const struct sources *s, size_t first, size_t n, const char *label,
		 struct profile **out, size_t *out_value_num, struct err *err)
{
	const struct input_options in = { .from = s->from,
					  .hide_idle = s->hide_idle,
					  .label = label };
	_cleanup_(profile_freep) struct profile *p = NULL;
	int r = input_read(&p, s->paths.data + first, n, &in, err);

	if (r < 0)
		return r;
	r = top_value_num(p, s->type, out_value_num);
	if (r < 0)
		return no_such_type(p, s->paths.data[first], s->type ? s->type : "", err);
	*out = steal_ptr(&p);
	return 0;
}

const char *sources_title(const struct sources *s)
{
	const char *path = s->paths.data[0];

	return strcmp(path, "-") ? text_base_name(path) : NULL;
}
