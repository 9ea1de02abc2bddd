/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The toy's runtime: all frames of its generated code have one size. */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

struct toy_vm {
	__u64 frame_bytes; /* with the return address, which is the frame's highest word */
};

struct toy_walk {
	__u64 n_frames; /* of this walk so far: the place of the frame */
};
