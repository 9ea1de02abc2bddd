/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* For tests of what downloads files: a role that does nothing else. */
struct fetcher;
struct role;

/* main() passes it to role_main(). */
extern const struct role fixture_fetch_role;

/* Freed with fetcher_free(). Fails the test if there is no memory. */
struct fetcher *fixture_fetcher(void);
