/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* READER_HEAP, in the reader: reads the heap profile of a program (heap_message.h). */
struct role_call;

int reader_heap_job(struct role_call *call);
