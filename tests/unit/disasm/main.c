/* SPDX-License-Identifier: Apache-2.0 */
#include "disasm/disasm.h"

int test_disasm(void);
int test_disasm_message(void);

int main(int argc, char **argv)
{
	const struct role *const roles[] = { &disassembler_role };

	role_main(argc, argv, roles, 1);
	return test_disasm() + test_disasm_message();
}
