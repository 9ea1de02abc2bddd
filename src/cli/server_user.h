/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The user as whom root's `cameo up` and `cameo server` run. The agent needs root; a server that is
 * root's could write all files of root even without capabilities.
 */

/*
 * If this process is root's, changes to the owner of the store in @dir (NULL for none). If that is
 * root, gives the store to a user that no other program has, and changes to that user. Where that
 * is impossible, as in a container without CAP_SETUID or in a directory with other files, the
 * process stays root's and reports the reason on standard error. Capabilities stay permitted, so
 * that privileges_drop() can keep some. Call it before threads are started.
 */
void server_user_leave_root(const char *dir);

/*
 * If this process is root's and @dir (or NULL) belongs to another user, becomes that user: a store
 * that has files of root among its owner's could not be written by its owner's server later. Keeps
 * and reports as server_user_leave_root() does.
 */
void server_user_become_owner(const char *dir);
