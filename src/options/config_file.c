/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values are those of the command line without quotes: everything after the '=' up to the end of
 * the line, without surrounding blanks.
 */
#include "options/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "options/option.h"

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

int config_file_assign(const struct option_set *set, const char *key, const char *value,
		       struct err *err)
{
	const struct option_spec *o = option_find(set->specs, key, strlen(key));

	if (!o)
		return err_set(err, -EINVAL, "unknown key \"%.60s\"", key);
	return option_assign(set, o, o->name, value, err);
}

/*
 * Only whole lines are comments: a '#' or ';' after a value is part of it, since URLs and
 * passwords may contain them.
 */
static int parse_line(const struct option_set *set, char *line, struct err *err)
{
	char *key = trim(line), *equals;

	if (!*key || *key == '#' || *key == ';')
		return 0;
	if (*key == '[')
		return err_set(err, -EINVAL, "sections are not supported: \"%.60s\"", key);
	equals = strchr(key, '=');
	if (!equals)
		return err_set(err, -EINVAL, "expected KEY = VALUE, not \"%.60s\"", key);
	*equals = 0;
	return config_file_assign(set, trim(key), trim(equals + 1), err);
}

int config_file_parse(const struct option_set *set, const char *name, const char *text, size_t len,
		      struct err *err)
{
	const char *end = text + len;

	for (unsigned int number = 1; text < end; number++) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((eol ? eol : end) - text);
		_cleanup_(freep) char *line = strndup(text, n);
		struct err why = { 0 };
		int r = 0;

		if (memchr(text, 0, n))
			r = err_set(&why, -EINVAL, "not a text file: it contains a NUL byte");
		else
			r = line ? parse_line(set, line, &why) : -ENOMEM;
		if (r < 0)
			return err_set(err, r, "%.80s:%u: %s", name, number,
				       why.msg[0] ? why.msg : strerror(-r));
		text += n + 1;
	}
	return 0;
}

/*
 * O_NONBLOCK, so that opening a FIFO cannot block. One byte more than the limit is read to detect a
 * larger file.
 */
int config_file_read(const struct option_set *set, const char *path, struct err *err)
{
	_cleanup_(freep) char *text = malloc(CONFIG_FILE_MAX + 1);
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t len = 0;
	ssize_t n = 0;

	if (!text)
		return -ENOMEM;
	if (fd < 0)
		return err_set(err, -errno, "cannot open \"%.120s\": %s", path, strerror(errno));
	while (len <= CONFIG_FILE_MAX && (n = read(fd, text + len, CONFIG_FILE_MAX + 1 - len)) > 0)
		len += (size_t)n;
	if (n < 0)
		return err_set(err, -errno, "cannot read \"%.120s\": %s", path, strerror(errno));
	if (len > CONFIG_FILE_MAX)
		return err_set(err, -EINVAL, "\"%.120s\" is larger than %d bytes", path,
			       CONFIG_FILE_MAX);
	return config_file_parse(set, path, text, len, err);
}
