/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* READER_TABLE, in the reader. */
struct role_call;

int reader_table_job(struct role_call *call);
