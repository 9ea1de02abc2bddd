/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Converts an ExportProfilesServiceRequest in OTLP's JSON encoding to protobuf, for otlp_read().
 * Accepts camelCase and snake_case, numbers as numbers or strings, ids in hex and other bytes in
 * base64 (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding). Unknown members are
 * ignored. null is the same as a missing member. Samples have one layout in JSON, because members
 * have names instead of numbers.
 */
#include <stddef.h>

struct buf;
struct err;

/* Appends the message to @out. Returns 0, -EBADMSG with the byte offset in @err, -ENOMEM. */
int otlp_json_read(const void *data, size_t len, struct buf *out, struct err *err);
