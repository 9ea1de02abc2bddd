/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* READER_PLACE, in the reader: finds a function in the file of the request (place_message.h). */
struct role_call;

int reader_place_job(struct role_call *call);
