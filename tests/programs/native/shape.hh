/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "work.h"

struct Shape {
	virtual ~Shape() = default;
	virtual uint64_t area(uint64_t n) = 0;
};

/* In the shared library: calls shape.area(). */
uint64_t measure(Shape &shape, uint64_t n);
Shape *make_square(Shape *inner);
