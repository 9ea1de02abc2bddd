/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Converts an uncompressed pprof from protobuf to proto3 JSON. @proto may be untrusted; it is
 * normally the output of pprof_write(). Strings stay a table and numbers of 64 bits become text, as
 * in proto3 JSON.
 */
#include <stddef.h>

struct json;

/*
 * Writes the fields of the message Profile into the open JSON object. Returns 0, -EBADMSG or
 * -ENOMEM.
 */
int pprof_json(const void *proto, size_t len, struct json *j);
