/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The reasons why a frame has no name: name_losses.def. */
enum name_loss {
	NAME_LOSS_NONE,
#define X(symbol, reason, text) NAME_LOSS_##symbol,
#include "symbolize/name_losses.def"
#undef X
	NAME_LOSS_MAX,
};
