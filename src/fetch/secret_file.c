/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

/* The open file is checked, so nobody can replace it between the check and its use. */
static int check(int fd, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "cannot read \"%.120s\": %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "cannot use \"%.120s\": not a regular file", path);
	if (st.st_mode & (S_IROTH | S_IWOTH))
		return err_set(err, -EACCES,
			       "cannot use \"%.100s\": other users may access it (mode %03o); run "
			       "chmod o= on it",
			       path, (unsigned int)st.st_mode & 0777);
	return 0;
}

/* O_NONBLOCK: a named pipe must not block the thread. */
int secret_file_open(const char *path, struct err *err)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int r = fd < 0 ? err_set(err, -errno, "cannot read \"%.120s\": %s", path, strerror(errno))
		       : check(fd, path, err);

	return r < 0 ? r : steal_fd(&fd);
}

int secret_file_read(int fd, const char *path, char out[SECRET_FILE_MAX], struct err *err)
{
	ssize_t n = read(fd, out, SECRET_FILE_MAX);

	if (n < 0)
		return err_set(err, -errno, "cannot read \"%.100s\": %s", path, strerror(errno));
	while (n && strchr(" \t\r\n", out[n - 1]))
		n--;
	if (!n || n == SECRET_FILE_MAX || memchr(out, '\n', (size_t)n) ||
	    memchr(out, '\r', (size_t)n) || memchr(out, 0, (size_t)n))
		return err_set(err, -EINVAL, "\"%.100s\" must contain exactly one line", path);
	out[n] = 0;
	return 0;
}

void secret_file_header(const char *secret, bool is_basic, struct buf *out)
{
	buf_put_str(out, is_basic ? "Authorization: Basic " : "Authorization: Bearer ");
	if (is_basic)
		base64_encode(secret, strlen(secret), out);
	else
		buf_put_str(out, secret);
	buf_put_byte(out, 0);
}
