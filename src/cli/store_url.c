/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user part of the URL ends at its last @. Errors name the option and never the password. The
 * copy on the stack is erased.
 */
#include "cli/store_url.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

enum { PASSWORD_MAX = 128 };

/*
 * Reads the first line of a file. A line that fills the buffer is refused, because its end may be
 * missing.
 */
static int read_password(const char *path, char out[PASSWORD_MAX], struct err *err)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "re");

	if (!f)
		return err_set(err, -errno, "cannot open \"%s\": %s", path, strerror(errno));
	if (!fgets(out, PASSWORD_MAX, f))
		return err_set(err, -EINVAL, "\"%s\" has no password", path);
	if (strlen(out) == PASSWORD_MAX - 1)
		return err_set(err, -EINVAL, "the password in \"%s\" is longer than 126 characters",
			       path);
	out[strcspn(out, "\r\n")] = '\0';
	return 0;
}

/*
 * The variable is ignored for a URL without a user, as it may have been set for another database.
 */
int store_url_complete(const char *url, const char *password_file, char **out, struct err *err)
{
	const char *user = strstr(url, "://"), *at = strrchr(url, '@');
	const char *from_environment = getenv("CAMEO_STORE_PASSWORD");
	char password[PASSWORD_MAX] = "";
	int r = 0;

	user = user ? user + 3 : url;
	if (at && at > user && memchr(user, ':', (size_t)(at - user)))
		return err_set(err, -EINVAL,
			       "--store has a password, which every user of the machine can see: "
			       "use --store-password-file or $CAMEO_STORE_PASSWORD");
	if (password_file)
		r = read_password(password_file, password, err);
	else if (from_environment && at)
		r = snprintf(password, sizeof(password), "%s", from_environment) >=
				    (int)sizeof(password)
			    ? err_set(err, -EINVAL, "$CAMEO_STORE_PASSWORD is too long")
			    : 0;
	if (r == 0 && password_file && !at)
		r = err_set(err, -EINVAL, "--store-password-file requires a user in --store");
	if (r == 0 && (password[0] ? asprintf(out, "%.*s:%s%s", (int)(at - url), url, password, at)
				   : asprintf(out, "%s", url)) < 0)
		r = -ENOMEM;
	explicit_bzero(password, sizeof(password));
	return r;
}
