/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a frame is called in a text: the name of the function of one line of a
 * location, or what stands for it when there is none.
 */
#include <stdbool.h>
#include <stdint.h>

struct buf;
struct profile;
struct profile_location;

/* A location stands for at least one frame, named or not. */
uint32_t profile_n_frames(const struct profile_location *l);

/* Frame @i of a location was inlined into frame @i + 1: all but the last were. */
bool profile_frame_inlined(const struct profile_location *l, uint32_t i);

/* Append the name of frame @i: the function's, or `[file+0xoffset]`, or `[0xaddress]`. */
void profile_put_frame_name(const struct profile *p, const struct profile_location *l, uint32_t i,
			    struct buf *out);
