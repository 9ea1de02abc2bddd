/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* READER_ALLOCATOR, in the reader: finds the functions of allocators (allocator_message.h). */
struct role_call;

int reader_allocator_job(struct role_call *call);
