/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry's thread context (OTEP 4947). The version of the record is part of the symbol's
 * name.
 */
#include "lang/context/context.h"
#include "lang/context/tls_variable.h"

static int detect(const struct elf_image *img, struct context_layout *out)
{
	out->kind = CONTEXT_OTEL;
	return tls_variable_find(img, "otel_thread_ctx_v1", out);
}

const struct context_ops context_otel_ops = { .detect = detect };
