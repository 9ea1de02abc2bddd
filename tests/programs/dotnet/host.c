/* SPDX-License-Identifier: Apache-2.0 */
/* Runs an assembly with the runtime in a directory: run_dotnet DIRECTORY ASSEMBLY ARGUMENT... */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int initialize_fn(const char *path, const char *name, int n, const char **keys,
			  const char **values, void **host, unsigned int *domain);
typedef int execute_fn(void *host, unsigned int domain, int argc, const char **argv,
		       const char *assembly, unsigned int *status);

static char assemblies[1 << 17], path[4096];

/* Lists the assemblies in the directory, separated by colons. */
static int list_assemblies(const char *directory)
{
	DIR *dir = opendir(directory);
	const struct dirent *e;
	size_t len = 0;

	if (!dir)
		return -1;
	while ((e = readdir(dir))) {
		const char *dot = strrchr(e->d_name, '.');

		if (dot && !strcmp(dot, ".dll") && len < sizeof(assemblies))
			len += (size_t)snprintf(assemblies + len, sizeof(assemblies) - len,
						"%s/%s:", directory, e->d_name);
	}
	closedir(dir);
	return 0;
}

int main(int argc, char **argv)
{
	const char *keys[] = { "TRUSTED_PLATFORM_ASSEMBLIES", "NATIVE_DLL_SEARCH_DIRECTORIES" };
	const char *values[] = { assemblies, argc > 2 ? argv[1] : "" };
	initialize_fn *initialize;
	execute_fn *execute;
	unsigned int domain, status = 1;
	void *lib, *host;

	if (argc < 3 || list_assemblies(argv[1]) < 0)
		return 2;
	snprintf(path, sizeof(path), "%s/libcoreclr.so", argv[1]);
	lib = dlopen(path, RTLD_NOW);
	if (!lib)
		return 2;
	initialize = (initialize_fn *)dlsym(lib, "coreclr_initialize");
	execute = (execute_fn *)dlsym(lib, "coreclr_execute_assembly");
	if (!initialize || !execute || initialize(path, "host", 2, keys, values, &host, &domain) ||
	    execute(host, domain, argc - 3, (const char **)argv + 3, argv[2], &status))
		return 2;
	return (int)status;
}
