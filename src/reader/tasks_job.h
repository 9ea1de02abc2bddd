/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* READER_TASKS, in the reader: reads the tasks of a process (tasks_message.h). */
struct role_call;

int reader_tasks_job(struct role_call *call);
