/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* OpenTelemetry's names of frames' kinds, the values of profile.frame.type. */
#include "profile/profile.h"

#define OTLP_FRAME_TYPE   "profile.frame.type"
#define OTLP_BUILD_ID     "process.executable.build_id."
#define OTLP_BUILD_ID_GNU OTLP_BUILD_ID "gnu"
#define OTLP_BUILD_ID_HTL OTLP_BUILD_ID "htlhash"

/* NULL for what has none. */
const char *otlp_frame_type(enum profile_frame_kind kind);

/* PROFILE_FRAME_UNKNOWN for a name that is not known. */
enum profile_frame_kind otlp_frame_kind(const char *type);
