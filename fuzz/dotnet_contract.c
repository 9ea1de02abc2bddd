/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of .NET's data contract descriptor. Every stored value is an offset in a structure. */
#include <assert.h>

#include "lang/dotnet/dotnet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct dotnet_vm vm = { .module_ready = 8 };
	uint32_t root = 0;
	bool is_whole = false;
	int r = dotnet_contract_parse((const char *)data, len, &vm, &root, &is_whole);

	assert(r <= 0);
	assert(r < 0 || root < 1 << 12);
	assert(r < 0 || !is_whole || root);
	assert(vm.module_ready < 1 << 15 && vm.module_base < 1 << 15 && vm.dynamic_name < 1 << 15);
	return 0;
}
