/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* SHA-256 (FIPS 180-4), for identities that others compute too. */
#include <stddef.h>
#include <stdint.h>

enum { SHA256_LEN = 32 };

void sha256(const void *data, size_t len, uint8_t out[SHA256_LEN]);
