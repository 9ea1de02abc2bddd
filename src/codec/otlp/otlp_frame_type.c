/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values come from the same list as the frame kinds (profile/frame_kinds.def), so a new kind
 * cannot lack its name here. Kinds that the semantic conventions do not know have none and are
 * written without the attribute.
 */
#include "codec/otlp/otlp_frame_type.h"

#include <string.h>

static const char *const types[PROFILE_FRAME_MAX] = {
#define X(sym, label, otel) [PROFILE_FRAME_##sym] = otel,
#include "profile/frame_kinds.def"
#undef X
};

const char *otlp_frame_type(enum profile_frame_kind kind)
{
	return kind < PROFILE_FRAME_MAX ? types[kind] : NULL;
}

enum profile_frame_kind otlp_frame_kind(const char *type)
{
	for (unsigned int kind = 0; kind < PROFILE_FRAME_MAX; kind++)
		if (types[kind] && !strcmp(types[kind], type))
			return (enum profile_frame_kind)kind;
	return PROFILE_FRAME_UNKNOWN;
}
