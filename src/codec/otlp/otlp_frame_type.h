/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Frame kinds as values of OpenTelemetry's attribute profile.frame.type, and related keys. */
#include "profile/profile.h"

#define OTLP_FRAME_TYPE   "profile.frame.type"
#define OTLP_BUILD_ID     "process.executable.build_id."
#define OTLP_BUILD_ID_GNU OTLP_BUILD_ID "gnu"
#define OTLP_BUILD_ID_HTL OTLP_BUILD_ID "htlhash"

/* NULL for PROFILE_FRAME_UNKNOWN. */
const char *otlp_frame_type(enum profile_frame_kind kind);

/* PROFILE_FRAME_UNKNOWN for any other value. */
enum profile_frame_kind otlp_frame_kind(const char *type);
