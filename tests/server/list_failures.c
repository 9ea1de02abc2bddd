/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the table of failed requests as docs/server.md has it, for tests of the docs. */
#include <stdio.h>

#include "server/failure.h"

int main(void)
{
	for (size_t i = 0; i < n_failures; i++) {
		const struct failure *f = &failures[i];

		printf("| %s | %d | %d | `%s` | %d | ", f->cause, f->status, f->otlp, f->code,
		       f->grpc);
		printf(f->retry_s ? "%d s |\n" : "|\n", f->retry_s);
	}
	return 0;
}
