/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/jit_input.h"

#include <errno.h>
#include <unistd.h>

static void move_window(struct jit_input *in, uint64_t off)
{
	uint64_t left = off < in->end ? in->end - off : 0;
	size_t want = left < JIT_INPUT_WINDOW ? (size_t)left : JIT_INPUT_WINDOW;

	in->off = off;
	in->len = 0;
	while (in->len < want) {
		ssize_t n =
			pread(in->fd, in->window + in->len, want - in->len, (off_t)(off + in->len));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		in->len += (size_t)n;
	}
}

const uint8_t *jit_input_at(struct jit_input *in, uint64_t off, size_t need, size_t *out_len)
{
	uint64_t skip = off - in->off;

	/* a window that ends where the file does cannot be extended */
	if (off < in->off || skip > in->len ||
	    (in->len - skip < need && in->off + in->len < in->end)) {
		move_window(in, off);
		skip = 0;
	}
	*out_len = in->len - (size_t)skip;
	return in->window + skip;
}
