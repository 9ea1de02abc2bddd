/* SPDX-License-Identifier: Apache-2.0 */
static inline unsigned mix(unsigned a, unsigned b)
{
	a ^= b * 2654435761u;
	a = (a << 13) | (a >> 19);
	return a / (b | 1);
}
