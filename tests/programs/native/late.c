/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late MS LIBRARY: loads LIBRARY after a while; main -> outer -> late_middle (in LIBRARY) ->
 * late_hot.
 */
#include <dlfcn.h>

#include "work.h"

static volatile uint64_t sink;

CALLED static uint64_t outer(uint64_t (*call)(uint64_t), uint64_t n)
{
	return call(n) + 1;
}

CALLED static uint64_t early_hot(uint64_t n)
{
	return spin(n, 100000);
}

int main(int argc, char **argv)
{
	long ms = busy_ms(argc, argv);
	uint64_t (*call)(uint64_t);
	void *lib;

	while (busy(ms / 4))
		sink += early_hot(sink);
	lib = dlopen(argc > 2 ? argv[2] : "", RTLD_NOW);
	if (!lib)
		return 1;
	*(void **)&call = dlsym(lib, "late_middle");
	while (busy(ms))
		sink += outer(call, sink);
	return 0;
}
