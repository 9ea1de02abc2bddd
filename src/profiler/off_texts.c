/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/off_texts.h"

const char *offcpu_error_text(uint64_t error)
{
	static const char *const texts[OFFCPU_ERR_MAX - OFFCPU_ERR_NO_STACK] = {
		"[stack not taken]", "[thread not started]", "[waker unknown]",
		"[not woken yet]",   "[more wakers]",
	};

	return error >= OFFCPU_ERR_NO_STACK && error < OFFCPU_ERR_MAX
		       ? texts[error - OFFCPU_ERR_NO_STACK]
		       : texts[0];
}

const char *offcpu_state_text(enum off_state state)
{
	static const char *const texts[OFF_STATE_MAX] = {
		[OFF_NONE] = "",
#define X(sym, label) [OFF_##sym] = label,
#include "bpf/shared/off_states.def"
#undef X
	};

	return state < OFF_STATE_MAX ? texts[state] : "";
}
