/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Translates a series' labels to OpenTelemetry's resource attributes. */
#include <stddef.h>

#include "codec/otlp/otlp_write.h"

struct export_series;

enum { OTLP_RESOURCE_MAX = 64 };

/*
 * Fills in the attributes of a series' resource. Strings are borrowed from @s and @host. Returns
 * their number, at most OTLP_RESOURCE_MAX. Labels that begin with "__" and empty ones are omitted,
 * but __name__ becomes OTLP_PROFILE_NAME, unless it is process_cpu. host.name is added unless the
 * series has it, or has an instance, which may be on another host.
 */
size_t otlp_resource(const struct export_series *s, const char *host,
		     struct otlp_attribute out[OTLP_RESOURCE_MAX]);
