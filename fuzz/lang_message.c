/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks requests of a compromised agent, and what a compromised reader has sent about runtimes,
 * whose tables of lines are then looked up.
 *
 * An input is a kind of message, then the message.
 */
#include "reader/lang_message.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { BODY_MAX = 8192, PLACES = 20 };

static _Alignas(8) uint8_t body[BODY_MAX];

static void check_requests(size_t len)
{
	const struct lang_ask_request *q = lang_ask_request_check(body, len);
	volatile uint64_t sum = 0;

	(void)lang_regions_request_check(body, len);
	for (uint32_t i = 0; q && i < q->n; i++)
		sum += lang_ask_questions(q)[i].words[0];
	for (uint32_t i = 0; q && i < q->n_vms; i++) {
		if (lang_ask_vms(q)[i].vm >= VM_TABLE_MAX)
			abort();
		sum += lang_ask_vms(q)[i].bias;
	}
	(void)sum;
}

static void check_replies(void)
{
	struct lang_detection d;
	struct lang_regions r;

	memcpy(&d, body, sizeof(d));
	if (lang_detection_check(&d) == 0 && strlen(d.runtime) >= sizeof(d.runtime))
		abort();
	memcpy(&r, body, sizeof(r));
	if (lang_regions_check(&r, LANG_JVM) == 0 &&
	    (r.result & ~LANG_ATTACH_PARTIAL) > LANG_REGIONS_MAX)
		abort();
}

/* Looks up lines of a function as if it were of each language. */
static void check_function(struct lang_function *f)
{
	static const uint32_t edges[] = { 0, 1, UINT32_MAX, INT32_MAX, 1u << 30 };
	volatile uint32_t sum = 0;

	for (uint32_t i = LANG_NONE + 1; i < LANG_MAX; i++) {
		const struct lang *lang = lang_get(i);

		for (uint32_t place = 0; place < PLACES; place++) {
			uint32_t at = place < 5 ? edges[place] : place;

			sum += lang->line(f, at);
			if (lang->column)
				sum += lang->column(f, at);
			if (lang->is_suspect)
				sum += lang->is_suspect(0, f, at);
		}
	}
	(void)sum;
}

static void check_answers(size_t len, uint32_t kind)
{
	const uint8_t *at = body;
	struct lang_answer a;

	for (uint32_t i = 0; lang_answer_next(&at, &len, i, kind, &a) > 0; i++) {
		if (a.result > LANG_CALLS_MAX || a.function.n_lines > LANG_LINES_MAX)
			abort();
		if (a.function.name) {
			if (!a.function.file || strlen(a.function.name) > LANG_TEXT_MAX)
				abort();
			check_function(&a.function);
		}
		lang_function_fini(&a.function);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (!len)
		return 0;
	memset(body, 0, sizeof(body));
	if (len - 1 > sizeof(body))
		len = sizeof(body) + 1;
	memcpy(body, data + 1, len - 1);
	switch (data[0] % 4) {
	case 0:
		check_requests(len - 1);
		break;
	case 1:
		check_replies();
		break;
	default:
		check_answers(len - 1, data[0] % 4 == 2 ? LANG_ASK_FUNCTION : LANG_ASK_CALLS);
	}
	return 0;
}
