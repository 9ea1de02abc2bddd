/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* READER_JIT, in the reader: memory needed depends on the number of addresses, not on the file. */
struct role_call;

int reader_jit_job(struct role_call *call);
