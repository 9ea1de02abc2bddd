/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table made of config.def, and what reads values by it. A value that is not
 * one is refused with the name of its key and what would be right; where it stood is
 * said by whoever knows (a line, a flag).
 */
#include "agent/config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cpus.h"
#include "base/buf.h"
#include "base/err.h"
#include "symbol/demangle.h"
#include "symbol/symbol_cache.h"

enum kind { KIND_TEXT, KIND_TEXTS, KIND_FLAG, KIND_NUMBER, KIND_DURATION, KIND_BYTES };

struct option {
	enum kind kind;
	size_t at; /* in struct agent_config */
	const char *name;
	char letter; /* 0: none */
	const char *arg, *preset;
	uint64_t least, most;
	const char *help;
	bool once;         /* not while the agent runs */
	const char *group; /* not NULL: a title instead */
};

static const struct option options[] = {
#define GROUP(title) { .group = title },
#define OPTION(once_, kind_, field, name_, letter_, arg_, preset_, least_, most_, help_)           \
	{ .kind = KIND_##kind_,                                                                    \
	  .at = offsetof(struct agent_config, field),                                              \
	  .name = name_,                                                                           \
	  .letter = letter_,                                                                       \
	  .arg = arg_,                                                                             \
	  .preset = preset_,                                                                       \
	  .least = least_,                                                                         \
	  .most = most_,                                                                           \
	  .help = help_,                                                                           \
	  .once = once_ },
#define X(...)    OPTION(false, __VA_ARGS__)
#define ONCE(...) OPTION(true, __VA_ARGS__)
#include "agent/config.def"
#undef ONCE
#undef X
#undef OPTION
#undef GROUP
};

enum { N_OPTIONS = sizeof(options) / sizeof(options[0]) };

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit time_units[] = {
	{ "us", 1000 },
	{ "ms", 1000000 },
	{ "s", 1000000000 },
	{ "m", 60000000000 },
	{ "h", 3600000000000 },
	{ "d", 86400000000000 },
	{ 0 },
};

static const struct unit size_units[] = {
	{ "", 1 }, { "K", 1 << 10 }, { "M", 1 << 20 }, { "G", 1 << 30 }, { "T", 1ULL << 40 }, { 0 },
};

static const struct unit no_units[] = { { "", 1 }, { 0 } };

static void *field_of(struct agent_config *c, const struct option *o)
{
	return (char *)c + o->at;
}

/* ---- values --------------------------------------------------------------- */

static bool parse_number(const char *s, const struct unit *units, uint64_t *out)
{
	unsigned long long v;
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	v = strtoull(s, &end, 10);
	if (errno)
		return false;
	for (; units->name; units++)
		if (!strcmp(units->name, end))
			return !__builtin_mul_overflow(v, units->factor, out);
	return false;
}

static bool parse_flag(const char *s, bool *out)
{
	*out = !strcmp(s, "yes") || !strcmp(s, "true") || !strcmp(s, "1");
	return *out || !strcmp(s, "no") || !strcmp(s, "false") || !strcmp(s, "0");
}

static int set_number(struct agent_config *c, const struct option *o, const char *value,
		      struct err *err)
{
	const struct unit *units = o->kind == KIND_DURATION ? time_units
				   : o->kind == KIND_BYTES  ? size_units
							    : no_units;
	const char *what = o->kind == KIND_DURATION ? "a time as in 50us, 500ms, 15s, 1m, 2h or 1d"
			   : o->kind == KIND_BYTES  ? "a size as in 512K, 128M or 1G"
						    : "a whole number";
	uint64_t v;

	if (!parse_number(value, units, &v))
		return err_set(err, -EINVAL, "%s takes %s, not \"%.40s\"", o->name, what, value);
	if (v < o->least || v > o->most)
		return err_set(err, -EINVAL, "%s: %.40s is too %s", o->name, value,
			       v < o->least ? "little" : "much");
	*(uint64_t *)field_of(c, o) = v;
	return 0;
}

static int set_text(struct agent_config *c, const struct option *o, const char *value)
{
	char **text = field_of(c, o), *copy = NULL;

	if (*value) {
		copy = strdup(value);
		if (!copy)
			return -ENOMEM;
	}
	free(*text);
	*text = copy;
	return 0;
}

static void texts_fini(struct config_texts *t)
{
	for (size_t i = 0; i < t->len; i++)
		free(t->data[i]);
	vec_fini(t);
}

/* An empty one takes back what was said before. */
static int add_text(struct agent_config *c, const struct option *o, const char *value,
		    struct err *err)
{
	struct config_texts *texts = field_of(c, o);
	char *copy;
	int r;

	if (!*value) {
		texts_fini(texts);
		return 0;
	}
	if (texts->len >= CONFIG_TEXTS_MAX)
		return err_set(err, -EINVAL, "%s: more than %d", o->name, CONFIG_TEXTS_MAX);
	copy = strdup(value);
	r = copy ? vec_push(texts, copy) : -ENOMEM;
	if (r < 0)
		free(copy);
	return r;
}

static bool is_text(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' && *s != '\t')
			return false;
	return true;
}

static int option_set(struct agent_config *c, const struct option *o, const char *value,
		      struct err *err)
{
	bool yes;

	if (strlen(value) > CONFIG_VALUE_MAX)
		return err_set(err, -EINVAL, "%s: the value is longer than %d bytes", o->name,
			       CONFIG_VALUE_MAX);
	if (!is_text(value))
		return err_set(err, -EINVAL, "%s: the value has control characters", o->name);
	switch (o->kind) {
	case KIND_TEXT:
		return set_text(c, o, value);
	case KIND_TEXTS:
		return add_text(c, o, value, err);
	case KIND_FLAG:
		if (!parse_flag(value, &yes))
			return err_set(err, -EINVAL, "%s takes yes or no, not \"%.40s\"", o->name,
				       value);
		*(bool *)field_of(c, o) = yes;
		return 0;
	default:
		return set_number(c, o, value, err);
	}
}

static const struct option *find_name(const char *name, size_t len)
{
	for (int i = 0; i < N_OPTIONS; i++)
		if (options[i].name && strlen(options[i].name) == len &&
		    !memcmp(options[i].name, name, len))
			return &options[i];
	return NULL;
}

static const struct option *find_letter(char letter)
{
	for (int i = 0; i < N_OPTIONS; i++)
		if (letter && options[i].letter == letter)
			return &options[i];
	return NULL;
}

int agent_config_set(struct agent_config *c, const char *key, const char *value, struct err *err)
{
	const struct option *o = find_name(key, strlen(key));

	if (!o)
		return err_set(err, -EINVAL, "there is no key \"%.60s\"", key);
	return option_set(c, o, value, err);
}

int agent_config_new(struct agent_config **out)
{
	_cleanup_(agent_config_freep) struct agent_config *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	for (int i = 0; i < N_OPTIONS; i++) {
		int r = options[i].group ? 0 : option_set(c, &options[i], options[i].preset, NULL);

		if (r < 0)
			return r;
	}
	*out = steal_ptr(&c);
	return 0;
}

void agent_config_free(struct agent_config *c)
{
	if (!c)
		return;
	for (int i = 0; i < N_OPTIONS; i++) {
		if (options[i].group)
			continue;
		if (options[i].kind == KIND_TEXT)
			free(*(char **)field_of(c, &options[i]));
		if (options[i].kind == KIND_TEXTS)
			texts_fini(field_of(c, &options[i]));
	}
	free(c);
}

/* ---- while it runs ---------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_value(const struct option *o, const void *a, const void *b)
{
	const struct config_texts *x = a, *y = b;
	size_t i = 0;

	switch (o->kind) {
	case KIND_TEXT:
		return same_text(*(char *const *)a, *(char *const *)b);
	case KIND_TEXTS:
		while (i < x->len && i < y->len && !strcmp(x->data[i], y->data[i]))
			i++;
		return i == x->len && i == y->len;
	case KIND_FLAG:
		return *(const bool *)a == *(const bool *)b;
	default:
		return *(const uint64_t *)a == *(const uint64_t *)b;
	}
}

static int copy_value(struct agent_config *c, const struct option *o, const void *from)
{
	const struct config_texts *texts = from;
	const char *text;
	int r = 0;

	switch (o->kind) {
	case KIND_TEXT:
		text = *(char *const *)from;
		return set_text(c, o, text ? text : "");
	case KIND_TEXTS:
		texts_fini(field_of(c, o));
		for (size_t i = 0; i < texts->len && r == 0; i++)
			r = add_text(c, o, texts->data[i], NULL);
		return r;
	case KIND_FLAG:
		*(bool *)field_of(c, o) = *(const bool *)from;
		return 0;
	default:
		*(uint64_t *)field_of(c, o) = *(const uint64_t *)from;
		return 0;
	}
}

int agent_config_keep(struct agent_config *c, const struct agent_config *old, struct buf *out_kept)
{
	int r = 0;

	for (int i = 0; i < N_OPTIONS && r == 0; i++) {
		const struct option *o = &options[i];
		const void *was = (const char *)old + o->at;

		if (!o->once || same_value(o, field_of(c, o), was))
			continue;
		buf_printf(out_kept, "%s%s", out_kept->len ? " " : "", o->name);
		r = copy_value(c, o, was);
	}
	return r < 0 ? r : buf_error(out_kept);
}

/* ---- the file -------------------------------------------------------------- */

static char *trim(char *s)
{
	char *end;

	while (*s == ' ' || *s == '\t')
		s++;
	end = s + strlen(s);
	while (end > s && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		*--end = 0;
	return s;
}

static int set_line(struct agent_config *c, char *line, struct err *err)
{
	char *key = trim(line), *equals;

	if (!*key || *key == '#' || *key == ';')
		return 0;
	if (*key == '[')
		return err_set(err, -EINVAL, "sections are not used here");
	equals = strchr(key, '=');
	if (!equals)
		return err_set(err, -EINVAL, "KEY = VALUE is expected, not \"%.60s\"", key);
	*equals = 0;
	return agent_config_set(c, trim(key), trim(equals + 1), err);
}

int agent_config_text(struct agent_config *c, const char *name, const char *text, size_t len,
		      struct err *err)
{
	const char *end = text + len;

	for (unsigned int number = 1; text < end; number++) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		_cleanup_(freep) char *line = NULL;
		size_t n = (size_t)((eol ? eol : end) - text);
		struct err why = { 0 };
		int r = 0;

		if (memchr(text, 0, n))
			r = err_set(&why, -EINVAL, "this is not text");
		if (r == 0)
			line = strndup(text, n);
		if (r == 0)
			r = line ? set_line(c, line, &why) : -ENOMEM;
		if (r < 0)
			return err_set(err, r, "%.80s:%u: %s", name, number,
				       why.msg[0] ? why.msg : strerror(-r));
		text += n + 1;
	}
	return 0;
}

int agent_config_file(struct agent_config *c, const char *path, struct err *err)
{
	_cleanup_(freep) char *text = malloc(CONFIG_FILE_MAX + 1);
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t len = 0;
	ssize_t n;

	if (!text)
		return -ENOMEM;
	if (fd < 0)
		return err_set(err, -errno, "%.120s: %s", path, strerror(errno));
	while ((n = read(fd, text + len, CONFIG_FILE_MAX + 1 - len)) > 0)
		len += (size_t)n;
	if (n < 0)
		return err_set(err, -errno, "%.120s: %s", path, strerror(errno));
	if (len > CONFIG_FILE_MAX)
		return err_set(err, -EINVAL, "%.120s: longer than %d bytes", path, CONFIG_FILE_MAX);
	return agent_config_text(c, path, text, len, err);
}

/* ---- flags ------------------------------------------------------------------ */

/* Where a flag stands and what is said there. */
struct flag {
	const struct option *option; /* NULL: --config */
	const char *value;
};

/* Cut argv[*at]; moves *at past the value if that is a word of its own. */
static int next_flag(int argc, char *const *argv, int *at, struct flag *out, struct err *err)
{
	const char *word = argv[*at], *equals = strchr(word, '=');
	bool is_config = false;

	out->value = equals ? equals + 1 : NULL;
	if (word[0] == '-' && word[1] == '-') {
		const char *name = word + 2;
		size_t len = equals ? (size_t)(equals - name) : strlen(name);

		out->option = find_name(name, len);
		is_config = len == 6 && !memcmp(name, "config", 6);
	} else if (word[0] == '-') {
		out->option = find_letter(word[1]);
		out->value = out->option && word[2] ? word + 2 : NULL;
	} else {
		return err_set(err, -EINVAL, "\"%.60s\" is not expected", word);
	}
	if (!out->option && !is_config)
		return err_set(err, -EINVAL, "there is no flag %.60s (--help lists them)", word);
	if (!out->value && out->option && out->option->kind == KIND_FLAG)
		out->value = "yes";
	if (!out->value) {
		if (*at + 1 >= argc)
			return err_set(err, -EINVAL, "%.60s takes a value", word);
		out->value = argv[++*at];
	}
	return 0;
}

int agent_config_flags(struct agent_config *c, int argc, char *const *argv, struct err *err)
{
	struct flag flag = { 0 };
	int r = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (int i = 1; i < argc && r == 0; i++) {
			r = next_flag(argc, argv, &i, &flag, err);
			if (r == 0 && pass == 0 && !flag.option)
				r = agent_config_file(c, flag.value, err);
			if (r == 0 && pass == 1 && flag.option)
				r = option_set(c, flag.option, flag.value, err);
		}
	}
	return r;
}

static int check_choice(const char *name, const char *value, const char *a, const char *b,
			struct err *err)
{
	if (value && (!strcmp(value, a) || !strcmp(value, b)))
		return 0;
	return err_set(err, -EINVAL, "%s takes %s or %s", name, a, b);
}

int agent_config_check(const struct agent_config *c, struct err *err)
{
	struct cpu_list cpus = { 0 };
	enum demangle_mode mode;
	int r = c->cpus ? cpus_parse(&cpus, c->cpus, err) : 0;

	vec_fini(&cpus);
	if (r < 0)
		return r;
	if (!c->demangle || !demangle_mode_parse(c->demangle, &mode))
		return err_set(err, -EINVAL, "demangle takes full, short or no");
	if ((c->bearer != NULL) + (c->bearer_file != NULL) + (c->basic != NULL) +
		    (c->basic_file != NULL) >
	    1)
		return err_set(err, -EINVAL,
			       "only one of bearer, bearer-file, basic and basic-file");
	if (c->symbol_cache && symbol_cache_check(c->symbol_cache, err) < 0)
		return -EINVAL;
	if (!c->cert_file != !c->key_file)
		return err_set(err, -EINVAL, "cert-file and key-file belong together");
	return check_choice("native-frames", c->native_frames, "some", "all", err);
}

/* ---- for people ------------------------------------------------------------- */

enum { HELP_COLUMN = 30, HELP_WIDTH = 100 };

/* Words of @text from the column where the cursor is, wrapped. */
static void put_wrapped(FILE *to, const char *text)
{
	int at = HELP_COLUMN;

	while (*text) {
		int n = (int)strcspn(text, " ");

		if (at + n > HELP_WIDTH && at > HELP_COLUMN) {
			fprintf(to, "\n%*s", HELP_COLUMN, "");
			at = HELP_COLUMN;
		}
		fprintf(to, "%.*s", n, text);
		at += n + 1;
		text += n + strspn(text + n, " ");
		if (*text)
			putc(' ', to);
	}
}

static void help_option(FILE *to, const struct option *o)
{
	char flag[80], letter[8] = "    ";
	int n;

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	if (o->kind == KIND_FLAG)
		n = snprintf(flag, sizeof(flag), "  %s--%s[=no]", letter, o->name);
	else
		n = snprintf(flag, sizeof(flag), "  %s--%s %s", letter, o->name, o->arg);
	if (n >= HELP_COLUMN)
		fprintf(to, "%s\n%*s", flag, HELP_COLUMN, "");
	else
		fprintf(to, "%-*s", HELP_COLUMN, flag);
	put_wrapped(to, o->help);
	if (o->preset[0])
		fprintf(to, " (%s)", o->preset);
	putc('\n', to);
}

void agent_config_help(FILE *to)
{
	for (int i = 0; i < N_OPTIONS; i++)
		if (options[i].group)
			fprintf(to, "\n%s:\n", options[i].group);
		else
			help_option(to, &options[i]);
}

/* Text in which nothing is markup. */
static void put_man(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '-' || *text == '\\' || (*text == '\'' || *text == '.'))
			fputs(*text == '-' ? "\\-" : *text == '\\' ? "\\e" : "\\&", to);
		if (*text != '-' && *text != '\\')
			putc(*text, to);
	}
}

static void man_option(FILE *to, const struct option *o)
{
	fputs(".TP\n", to);
	if (o->letter)
		fprintf(to, "\\fB\\-%c\\fR, ", o->letter);
	fputs("\\fB\\-\\-", to);
	put_man(to, o->name);
	fputs("\\fR ", to);
	fputs("\\fI", to);
	put_man(to, o->arg);
	fputs("\\fR\n", to);
	put_man(to, o->help);
	fputs(o->once ? ".\nNot while the agent runs.\n" : ".\n", to);
	if (o->preset[0]) {
		fputs("Default: ", to);
		put_man(to, o->preset);
		fputs(".\n", to);
	}
}

void agent_config_man(FILE *to)
{
	for (int i = 0; i < N_OPTIONS; i++)
		if (options[i].group)
			fprintf(to, ".SS %s\n", options[i].group);
		else
			man_option(to, &options[i]);
}
