/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The text for a frame of a location: the name of its function or, without symbols, its address.
 * Flame graphs, folded stacks and tables show these texts, and merge frames with the same text. An
 * address is shown as an offset in its file, which is the same in every process.
 */
#include <stdbool.h>
#include <stdint.h>

struct buf;
struct profile;
struct profile_location;

/* The number of frames of a location: its lines, or 1 if it has none. */
uint32_t profile_location_n_frames(const struct profile_location *l);

/*
 * Returns true if frame @i is inlined into frame @i + 1, as are all frames of a location but the
 * last.
 */
bool profile_frame_inlined(const struct profile_location *l, uint32_t i);

/*
 * Appends the text of frame @i: the function's name, else `[file+0xoffset]`, else `[0xaddress]`.
 * The name is copied unmodified and may contain any bytes. Memory errors stick to @out.
 */
void profile_put_frame_name(const struct profile *p, const struct profile_location *l, uint32_t i,
			    struct buf *out);
