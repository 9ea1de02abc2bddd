/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* READER_PROFILE, in the reader: reads a profile in pprof's format (profile_message.h). */
struct role_call;

int reader_profile_job(struct role_call *call);
