/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The exporter's side of EXPORT_POST (post_message.h). */
struct role_call;

enum { EXPORT_POST = 1 };

/* Sends one request and replies with what the response means. A role_job_fn. */
int post_job(struct role_call *call);
