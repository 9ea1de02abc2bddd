/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Labels as OpenTelemetry names them. */
#include <stddef.h>

#include "codec/otlp_write.h"

struct export_series;

enum { OTLP_RESOURCE_MAX = 64 };

/*
 * The attributes of a series' resource; texts are borrowed from it and @host.
 * Returns how many there are, at most OTLP_RESOURCE_MAX.
 */
size_t otlp_resource(const struct export_series *s, const char *host,
		     struct otlp_attribute out[OTLP_RESOURCE_MAX]);
