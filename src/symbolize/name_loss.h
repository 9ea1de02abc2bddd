/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The reasons why a frame has no name, from name_losses.def. In a header of its own because both
 * the resolution of frames and the statistics need it.
 */
enum name_loss {
	NAME_LOSS_NONE,
#define X(symbol, reason, text) NAME_LOSS_##symbol,
#include "symbolize/name_losses.def"
#undef X
	NAME_LOSS_MAX,
};
