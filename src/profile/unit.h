/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Nanoseconds in one of a sample type's unit ("milliseconds", "ms"); 0 if it is no time. */
double profile_unit_ns(const char *unit);
