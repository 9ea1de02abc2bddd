/* SPDX-License-Identifier: Apache-2.0 */
#include "disasm/library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* Writes the address of a function, whose type POSIX does not let a cast express. */
static bool find(void *handle, const char *name, void *out)
{
	void *address = dlsym(handle, name);

	memcpy(out, &address, sizeof(address));
	return address != NULL;
}

/* A process has one library: what it is cannot change while it runs. */
static struct disasm_library *loaded(void)
{
	static struct disasm_library library;

	return &library;
}

void disasm_library_load(void)
{
	struct disasm_library *l = loaded();
	void *handle = dlopen(DISASM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	bool complete = handle != NULL;

#define X(name) complete = complete && find(handle, #name, &l->name);
	DISASM_FUNCTIONS(X)
#undef X
	if (!complete)
		*l = (struct disasm_library){ 0 };
}

const struct disasm_library *disasm_library(void)
{
	return loaded()->cs_open ? loaded() : NULL;
}
