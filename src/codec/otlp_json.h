/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * OTLP's JSON of ExportProfilesServiceRequest as protobuf, which there is a
 * reader for. Names in either case; numbers as numbers or strings; identities
 * in hex, as OTLP has them, other bytes in base64. What is unknown is skipped.
 */
#include <stddef.h>

struct buf;
struct err;

/* 0; -EBADMSG, and @err says where it is not the JSON expected; -ENOMEM. */
int otlp_json_read(const void *data, size_t len, struct buf *out, struct err *err);
