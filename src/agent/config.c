/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option table is generated from config.def, so a new option needs no code here. Values are
 * read in this order, and later ones replace earlier ones: presets of the table, defaults of the
 * command (`cameo up` has its own), the file, the command line.
 */
#include "agent/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "metadata/rules.h"
#include "metadata/select_rules.h"
#include "options/arguments.h"
#include "options/config_file.h"
#include "sampler/cpu_list.h"
#include "scrape/scrape_auth.h"
#include "scrape/scrape_targets.h"
#include "scrape/scrape_types.h"
#include "symbol/symbol_cache.h"

#define OPTION_VALUES struct agent_config

const struct option_spec agent_config_options[] = {
#define HEADING(title) OPTION_SECTION(title),
#define ENTRY(flags_, kind_, field, name_, letter_, arg_, preset_, min_, max_, help_, details_,    \
	      check_)                                                                              \
	OPTION(kind_, letter_, name_, arg_, field, help_, .preset = preset_, .min = min_,          \
	       .max = max_, .flags = flags_, .details = details_, .check = check_),
#define X(...)                            ENTRY(0, __VA_ARGS__, NULL)
#define FIXED(...)                        ENTRY(OPTION_FIXED, __VA_ARGS__, NULL)
#define CHECKED(check_, ...)              ENTRY(0, __VA_ARGS__, check_)
#define CHECKED_WITH(flags_, check_, ...) ENTRY(flags_, __VA_ARGS__, check_)
#include "agent/config.def"
#undef CHECKED_WITH
#undef CHECKED
#undef FIXED
#undef X
#undef ENTRY
#undef HEADING
	{ 0 },
};

struct flags {
	char *file;
};

#undef OPTION_VALUES
#define OPTION_VALUES struct flags

const struct option_spec agent_config_flags[] = {
	OPTION_SECTION("Configuration"),
	OPTION(TEXT, 0, "config", "FILE", file,
	       "Read options from FILE, one KEY = VALUE per line; options of the command line take "
	       "precedence"),
	{ 0 },
};

static struct option_set set_of(struct agent_config *c)
{
	return (struct option_set){ agent_config_options, c };
}

int agent_config_new(struct agent_config **out)
{
	_cleanup_(agent_config_freep) struct agent_config *c = calloc(1, sizeof(*c));
	struct option_set set = set_of(c);
	int r = c ? option_set_init(&set) : -ENOMEM;

	if (r == 0)
		*out = steal_ptr(&c);
	return r;
}

void agent_config_free(struct agent_config *c)
{
	struct option_set set = set_of(c);

	if (c)
		option_set_fini(&set);
	free(c);
}

int agent_config_keep(struct agent_config *c, const struct agent_config *old, struct buf *out_kept)
{
	struct option_set set = set_of(c);

	return option_set_keep(&set, old, out_kept);
}

static int parse_arguments(struct agent_config *c, struct flags *flags,
			   const struct agent_config_source *source, struct err *err)
{
	struct option_set sets[] = {
		{ agent_config_flags, flags },
		set_of(c),
		source->others ? *source->others : (struct option_set){ 0 },
		{ 0 },
	};

	return arguments_parse(sets, ARGUMENTS_NO_OPERANDS, source->argc, source->argv, NULL, err);
}

/*
 * The command line is read twice: first for the name of the file, discarding all other values, and
 * again after the file, whose values it overrides.
 */
static int find_file(struct flags *flags, const struct agent_config_source *source, struct err *err)
{
	_cleanup_(agent_config_freep) struct agent_config *unused = NULL;
	int r = agent_config_new(&unused);

	return r < 0 ? r : parse_arguments(unused, flags, source, err);
}

static int read_all(struct agent_config *c, const struct agent_config_source *source,
		    struct err *err)
{
	struct option_set set = set_of(c);
	struct flags flags = { 0 };
	int r = find_file(&flags, source, err);

	if (r == 0 && source->defaults)
		r = config_file_parse(&set, "defaults", source->defaults, strlen(source->defaults),
				      err);
	if (r == 0 && flags.file)
		r = config_file_read(&set, flags.file, err);
	if (r == 0)
		r = parse_arguments(c, &flags, source, err);
	free(flags.file);
	return r ? r : agent_config_check(c, err);
}

int agent_config_read(struct agent_config **out, const struct agent_config_source *source,
		      struct err *err)
{
	_cleanup_(agent_config_freep) struct agent_config *c = NULL;
	int r = agent_config_new(&c);

	if (r == 0)
		r = read_all(c, source, err);
	if (r == 0)
		*out = steal_ptr(&c);
	return r;
}

static int check_credentials(const struct agent_config *c, struct err *err)
{
	int n = (c->bearer != NULL) + (c->bearer_file != NULL) + (c->basic != NULL) +
		(c->basic_file != NULL);

	if (n > 1)
		return err_set(err, -EINVAL,
			       "bearer, bearer-file, basic and basic-file cannot be used together");
	if (!c->cert_file != !c->key_file)
		return err_set(err, -EINVAL, "cert-file and key-file must be used together");
	return 0;
}

/* The cache directory is checked here because the symbolizer would only continue without it. */
int agent_config_check(const struct agent_config *c, struct err *err)
{
	struct cpu_list cpus = { 0 };
	int r = c->cpus ? cpu_list_parse(&cpus, c->cpus, err) : 0;

	vec_fini(&cpus);
	if (r == 0)
		r = check_credentials(c, err);
	if (r == 0 && c->select.len > SELECT_RULES_LIMIT)
		r = err_set(err, -EINVAL, "select may not be repeated more than %d times",
			    SELECT_RULES_LIMIT);
	if (r == 0 && c->scrape_pods && !c->kubelet)
		r = err_set(err, -EINVAL,
			    "scrape-pods requires kubelet, the URL of this node's kubelet");
	if (r == 0)
		r = scrape_types_check(c->scrape_types, err);
	if (r == 0 && c->symbol_cache && symbol_cache_check(c->symbol_cache, err) < 0)
		r = -EINVAL;
	return r;
}
