/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embedded LIBRARY SCRIPT ARG...: runs Python from LIBRARY; "" selects the one it is linked with.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *lib = argc > 2 ? dlopen(*argv[1] ? argv[1] : NULL, RTLD_NOW | RTLD_GLOBAL) : NULL;
	int (*run)(int, char **) = lib ? (int (*)(int, char **))dlsym(lib, "Py_BytesMain") : NULL;

	if (!run) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	return run(argc - 1, argv + 1);
}
