/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The job FETCH_GET_ALL (fetch_message.h): downloads what many URLs name at the same time. It
 * belongs to roles with SANDBOX_EXPORTER.
 */
struct role_call;

int fetch_all_job(struct role_call *call);
