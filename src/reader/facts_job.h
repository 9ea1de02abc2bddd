/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* READER_FACTS and READER_SAME, in the reader. */
struct role_call;

int reader_facts_job(struct role_call *call);
int reader_same_job(struct role_call *call);
