/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The jobs of lang_message.h, in the reader. Results that take long to compute, such as
 * the lines of a script, remain in the role's state. It may get lost at any moment.
 */
#include <stddef.h>

struct role_call;

/* Makes the state: role.init(). */
int reader_lang_init(size_t memory_bytes, void **out_state);

int reader_lang_detect_job(struct role_call *call);
int reader_lang_regions_job(struct role_call *call);
int reader_lang_ask_job(struct role_call *call);
int reader_lang_context_job(struct role_call *call);
