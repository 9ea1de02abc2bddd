/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main -> outer -> measure (library) -> Square::area (library) -> Disc::area ->
 * hot; in every fourth turn an exception calls hot: from the destructor of a Guard that it unwinds,
 * and from the block that catches it.
 */
#include <stdexcept>

#include "shape.hh"

static volatile uint64_t sink;

CALLED static uint64_t hot(uint64_t n)
{
	return spin(n, 400000);
}

struct Disc final : Shape {
	uint64_t area(uint64_t n) override
	{
		return hot(n) + 1;
	}
};

struct Guard {
	CALLED ~Guard()
	{
		sink = sink + hot(sink);
	}
};

CALLED static void thrower(uint64_t n)
{
	Guard guard;

	if (n % 2 < 2)
		throw std::runtime_error("as it should");
}

CALLED static uint64_t catcher(uint64_t n)
{
	try {
		thrower(n);
	} catch (const std::runtime_error &) {
		return hot(n) + 1;
	}
	return 0;
}

CALLED static uint64_t outer(Shape &shape, uint64_t n)
{
	return measure(shape, n) + 1;
}

int main(int argc, char **argv)
{
	Disc disc;
	Shape *square = make_square(&disc);

	for (uint64_t n = 0; busy(busy_ms(argc, argv)); n++)
		sink = sink + (n % 4 ? outer(*square, n) : catcher(n));
	delete square;
	return 0;
}
