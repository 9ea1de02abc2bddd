// SPDX-License-Identifier: Apache-2.0
// throws SECONDS: C++ exceptions through several frames, and a C++20 coroutine that is resumed for each value.
#include <chrono>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

struct generator {
	struct promise_type {
		int value = 0;
		generator get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(int v)
		{
			value = v;
			return {};
		}
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
	std::coroutine_handle<promise_type> handle;
};

static generator squares(int n)
{
	for (int i = 0; i < n; i++)
		co_yield i *i;
}

__attribute__((noinline)) static int sum_of_squares(int n)
{
	generator g = squares(n);
	int sum = 0;

	for (g.handle.resume(); !g.handle.done(); g.handle.resume())
		sum += g.handle.promise().value;
	g.handle.destroy();
	return sum;
}

__attribute__((noinline)) static int parse(const std::string &s, int depth)
{
	if (depth)
		return parse(s, depth - 1) + 1;
	return std::stoi(s);
}

__attribute__((noinline)) static int attempt(int i)
{
	try {
		return parse(i % 2 ? "x" : "17", 5);
	} catch (const std::invalid_argument &) {
		return sum_of_squares(200);
	}
}

int main(int argc, char **argv)
{
	auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(argc > 1 ? atof(argv[1]) : 1);
	long n = 0;

	while (std::chrono::steady_clock::now() < end)
		for (int i = 0; i < 1000; i++)
			n += attempt(i);
	printf("%ld\n", n);
}
