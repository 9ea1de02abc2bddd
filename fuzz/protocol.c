/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses messages of a compromised symbolizer, and of its parent. The first byte chooses
 * the message.
 */
#include "symbol/protocol.h"

#include <stdlib.h>
#include <string.h>

#include "roles/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static volatile uint64_t sum;

static void read_request(const void *body, size_t len)
{
	const struct protocol_request *q = protocol_check_request(body, len);

	for (uint32_t i = 0; q && i < q->config.n_addrs; i++)
		sum += q->addrs[i];
}

static void read_facts(const void *body, size_t len)
{
	const struct protocol_facts *f = protocol_check_facts(body, len);

	for (uint32_t i = 0; f && i < f->n_segments; i++) {
		if (f->segments[i].vaddr + f->segments[i].memsz < f->segments[i].vaddr)
			abort();
		sum += f->segments[i].exec;
	}
	for (size_t i = 0; f && i < f->build_id.len; i++)
		sum += f->build_id.bytes[i];
}

static void read_done(const void *body, size_t len)
{
	for (size_t n_fds = 0; n_fds <= ROLE_FDS_MAX; n_fds++) {
		const struct protocol_done *d = protocol_check_done(body, len, n_fds);

		for (uint32_t i = 0; d && i < d->n_tables; i++)
			sum += strlen(d->tables[i]);
	}
}

static void read_frames(const uint8_t *body, size_t len)
{
	static struct protocol_response r;
	struct protocol_reader reader = { body, len };

	while (protocol_next_response(&reader, &r) > 0)
		for (size_t i = 0; i < r.n; i++)
			if (strlen(r.frames[i].name) > PROTOCOL_NAME_MAX ||
			    strlen(r.frames[i].system_name) > PROTOCOL_SYSTEM_NAME_MAX ||
			    strlen(r.frames[i].file) > PROTOCOL_PATH_MAX)
				abort();
}

static void read_need(uint32_t kind, const void *body, size_t len)
{
	struct protocol_need need;

	if (protocol_parse_need(&need, kind, body, len) < 0)
		return;
	sum += strlen(need.name) + strlen(need.dir);
	for (size_t i = 0; i < need.id_len; i++)
		sum += need.id[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *body = len && len <= ROLE_BODY_MAX ? malloc(len) : NULL; /* aligned to 8 */

	if (!body)
		return 0;
	memcpy(body, data + 1, len - 1);
	switch (data[0]) {
	case 0:
		read_request(body, len - 1);
		break;
	case 1:
		read_facts(body, len - 1);
		break;
	case 2:
		read_done(body, len - 1);
		break;
	case 3:
		read_frames(body, len - 1);
		break;
	default:
		read_need(data[0] - 4, body, len - 1);
	}
	free(body);
	return 0;
}
