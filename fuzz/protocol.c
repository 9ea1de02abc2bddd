/* SPDX-License-Identifier: Apache-2.0 */
/* Parses packets of a compromised symbol worker. */
#include "symbol/protocol.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void walk_answers(struct protocol_msg *m)
{
	struct protocol_frame frames[PROTOCOL_FRAMES_MAX];
	uint32_t index;
	int n;

	while ((n = protocol_next_response(m, &index, frames)) > 0)
		for (int i = 0; i < n; i++)
			if (strlen(frames[i].name) + strlen(frames[i].linkage) +
				    strlen(frames[i].file) >
			    3 * PROTOCOL_STRING_MAX)
				abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct protocol_msg m;
	volatile uint64_t sum = 0;

	if (protocol_parse(&m, data, len) < 0)
		return 0;
	if (m.type == PROTOCOL_RESPONSE)
		walk_answers(&m);
	for (size_t i = 0; m.type == PROTOCOL_REQUEST && i < m.n_addrs; i++)
		sum += protocol_addr(&m, i);
	if (m.type == PROTOCOL_NEED)
		sum += strlen(m.need.name) + strlen(m.need.dir) +
		       (m.need.id_len ? m.need.id[m.need.id_len - 1] : 0);
	return 0;
}
