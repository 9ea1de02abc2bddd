/* SPDX-License-Identifier: Apache-2.0 */
/* Responses of an OTLP receiver: headers, trailers and messages. */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "export/otlp_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct otlp_answer a = { 0 };
	struct buf plain = { 0 };
	char *text = malloc(len + 1);

	if (!text)
		return 0;
	if (len)
		memcpy(text, data, len);
	text[len] = 0;
	otlp_answer_read(data, len, &a);
	otlp_answer_read_status(data, len, &a);
	if (a.retry_ms < 0 || a.retry_ms > 86400000 || (int64_t)a.rejected < 0)
		abort();
	otlp_answer_read_message(text, &a);
	if (base64_decode(text, strlen(text), &plain) == 0)
		otlp_answer_read_status(plain.data, plain.len, &a);
	buf_fini(&plain);
	free(text);
	return 0;
}
