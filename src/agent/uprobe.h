/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Places in programs and libraries, by file and symbol. */
#include <stdint.h>

struct err;
struct event;

/* As event_list_parse() has it. 0 and an event to be freed; -errno with the reason. */
int uprobe_parse(const char *text, uint32_t pid, struct event *out, struct err *err);
