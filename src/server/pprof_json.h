/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A pprof that is protobuf as proto3 JSON. */
#include <stddef.h>

struct json;

/* Put the fields of the message Profile into the open object. 0; -EBADMSG; -ENOMEM. */
int pprof_json(const void *proto, size_t len, struct json *j);
