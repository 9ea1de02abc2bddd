/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A directory for one test: setup and teardown, with its path as the state. */
int tempdir_make(void **state);
int tempdir_remove(void **state);
