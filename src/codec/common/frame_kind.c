/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only suffixes that belong to one runtime are listed. TypeScript has the kind of JavaScript, and
 * Kotlin that of Java. Files of C and C++ need no entry: a frame that is in some binary and matches
 * nothing else is native.
 */
#include "codec/common/frame_kind.h"

#include <string.h>

static const struct {
	const char *suffix;
	enum profile_frame_kind kind;
} by_suffix[] = {
	{ ".go", PROFILE_FRAME_GO },     { ".rs", PROFILE_FRAME_RUST },
	{ ".py", PROFILE_FRAME_PYTHON }, { ".java", PROFILE_FRAME_JVM },
	{ ".kt", PROFILE_FRAME_JVM },    { ".scala", PROFILE_FRAME_JVM },
	{ ".js", PROFILE_FRAME_V8 },     { ".mjs", PROFILE_FRAME_V8 },
	{ ".ts", PROFILE_FRAME_V8 },     { ".rb", PROFILE_FRAME_RUBY },
	{ ".php", PROFILE_FRAME_PHP },   { ".pl", PROFILE_FRAME_PERL },
	{ ".pm", PROFILE_FRAME_PERL },   { ".lua", PROFILE_FRAME_LUA },
	{ ".cs", PROFILE_FRAME_DOTNET }, { ".erl", PROFILE_FRAME_BEAM },
	{ ".ex", PROFILE_FRAME_BEAM },
};

enum profile_frame_kind frame_kind_guess(const char *mapping_file, const char *source_file)
{
	const char *suffix = strrchr(source_file, '.');

	if (!strncmp(mapping_file, "[kernel", 7) || !strncmp(mapping_file, "[guest.kernel", 13))
		return PROFILE_FRAME_KERNEL;
	for (size_t i = 0; suffix && i < sizeof(by_suffix) / sizeof(by_suffix[0]); i++)
		if (!strcmp(suffix, by_suffix[i].suffix))
			return by_suffix[i].kind;
	return mapping_file[0] ? PROFILE_FRAME_NATIVE : PROFILE_FRAME_UNKNOWN;
}

enum profile_frame_kind frame_kind_guess_location(const struct profile *p,
						  const struct profile_location *l)
{
	const char *mapping = "", *source = "";

	if (l->mapping != PROFILE_NONE)
		mapping = profile_string(p, profile_mapping(p, l->mapping)->file);
	if (l->n_lines)
		source = profile_string(p, profile_function(p, l->lines[0].function)->file);
	return frame_kind_guess(mapping, source);
}

uint8_t frame_kind_from_label(const char *label)
{
	for (int k = 1; k < PROFILE_FRAME_MAX; k++)
		if (!strcmp(label, profile_frame_kind_label((enum profile_frame_kind)k)))
			return (uint8_t)k;
	return PROFILE_FRAME_UNKNOWN;
}
