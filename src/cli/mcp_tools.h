/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The tools that `cameo mcp` offers. Their context is a const struct sources. */
#include <stddef.h>

#include "mcp/session.h"

extern const struct mcp_tool mcp_tools[];
extern const size_t mcp_n_tools;
