/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A profile of folded stacks, whose only sample type is samples/count. */
struct profile;

struct profile *fixture_folded(const char *text);
