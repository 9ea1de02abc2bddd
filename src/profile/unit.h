/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Nanoseconds per unit of time ("milliseconds", "ms", ...); 0 for any other unit. */
double profile_unit_ns(const char *unit);
