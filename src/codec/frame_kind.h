/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What runs in a frame, for formats that do not say: from the names of files. */
#include "profile/profile.h"

/* Either may be "". */
enum profile_frame_kind frame_kind_guess(const char *mapping_file, const char *source_file);
