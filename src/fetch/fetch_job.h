/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The job FETCH_GET (fetch_message.h): downloads what one URL names, and sends it to the parent
 * piece by piece. It belongs to roles with SANDBOX_EXPORTER.
 */
struct role_call;

int fetch_job(struct role_call *call);
