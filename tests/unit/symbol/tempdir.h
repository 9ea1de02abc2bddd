/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Setup and teardown of a temporary directory. Its path is the state of the test. */
int tempdir_make(void **state);
int tempdir_remove(void **state);
