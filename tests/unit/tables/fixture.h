/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Builds a profile from folded stacks; its only sample type is samples/count. */
struct profile;

struct profile *fixture_folded(const char *text);
