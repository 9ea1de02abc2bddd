/* SPDX-License-Identifier: Apache-2.0 */
/* The library that late.c loads. */
#include "work.h"

uint64_t late_middle(uint64_t n);

CALLED static uint64_t late_hot(uint64_t n)
{
	return spin(n, 100000);
}

uint64_t late_middle(uint64_t n)
{
	return late_hot(n) + 1;
}
