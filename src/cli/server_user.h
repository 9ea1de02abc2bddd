/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The user as whom `cameo up` and `cameo server` run when root starts them. The agent needs root; a
 * server that runs as root could write all files of root even without capabilities.
 */

/*
 * If this process runs as root, changes to the owner of the store in @dir (NULL for none). If that
 * is root, gives the store to a user that no other program has, and changes to that user. Where
 * that is impossible, as in a container without CAP_SETUID or in a directory with other files, the
 * process continues as root and reports the reason on standard error. Capabilities stay permitted,
 * so that privileges_drop() can keep some. Call it before threads are started.
 */
void server_user_leave_root(const char *dir);

/*
 * If this process runs as root and @dir belongs to another user, becomes that user, because files
 * of root in the store could not be written by its owner's server later. @dir may be NULL. Keeps
 * capabilities and reports failures as server_user_leave_root() does.
 */
void server_user_become_owner(const char *dir);
