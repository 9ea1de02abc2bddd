/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `cameo server`, which stores what comes from @fd as well (server_feed()) and ends
 * with that; -1: until a signal says so. Returns an exit status.
 */
int cli_server_fed(int argc, char **argv, int fd);
