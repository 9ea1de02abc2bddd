/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/server_user.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/cli.h"
#include "store/kinds/store_directory.h"

/* A number that no program assigns to users, like that of the sandboxes (roles/sandbox.c). */
enum { SERVER_USER = 2147357183 };

/*
 * Chooses the user to run as: the owner of the store, who also gets root's files in it. A store
 * that root owns is given to SERVER_USER. If files of another user's store cannot be given away,
 * the server still runs as that user; the store then reports the files that it cannot write.
 * Returns 0 or -errno.
 */
static int choose(const char *dir, struct stat *out, struct err *err)
{
	const struct stat own = { .st_uid = SERVER_USER, .st_gid = SERVER_USER };
	bool is_roots = !dir || stat(dir, out) < 0 || out->st_uid == 0;
	int r;

	if (is_roots)
		*out = own;
	r = dir ? store_directory_give(dir, out->st_uid, out->st_gid, err) : 0;
	return is_roots ? r : 0;
}

static int become(uid_t uid, gid_t gid)
{
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setgroups(0, NULL) < 0 ||
	    setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	return 0;
}

static void report(int r, const struct err *err)
{
	if (r < 0)
		cli_fail("the server runs as root: %s", err->msg[0] ? err->msg : strerror(-r));
}

void server_user_leave_root(const char *dir)
{
	struct err err = { 0 };
	struct stat user;
	int r;

	if (geteuid() != 0)
		return;
	r = choose(dir, &user, &err);
	if (r == 0)
		r = become(user.st_uid, user.st_gid);
	report(r, &err);
}

void server_user_become_owner(const char *dir)
{
	const struct err err = { 0 };
	struct stat st;

	if (geteuid() == 0 && dir && stat(dir, &st) == 0 && st.st_uid != 0)
		report(become(st.st_uid, st.st_gid), &err);
}
