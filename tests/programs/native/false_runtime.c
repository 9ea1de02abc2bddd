/* SPDX-License-Identifier: Apache-2.0 */
/*
 * false_runtime MS CIRCLES|LENGTHS: has the symbols by which runtimes are recognized. All of their
 * variables are words that point to such words (circles), or are great numbers (lengths). Compiled
 * with FALSE_ruby, FALSE_php and so on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

#define VARIABLE(sym) uint64_t sym[WORDS]
#define FUNCTION(sym)                                                                              \
	CALLED uint64_t sym(uint64_t n)                                                            \
	{                                                                                          \
		return spin(n, 100000);                                                            \
	}

enum { WORDS = 4096 };

uint64_t words[WORDS];

#if defined(FALSE_ruby)
const char ruby_version[] = "3.1.2";
VARIABLE(ruby_current_vm_ptr);
VARIABLE(ruby_current_execution_context_ptr);
VARIABLE(rb_cObject);
FUNCTION(rb_during_gc)
FUNCTION(rb_id2str)
FUNCTION(rb_profile_frames)
FUNCTION(rb_vm_exec)
static uint64_t *variables[] = { ruby_current_vm_ptr, ruby_current_execution_context_ptr,
				 rb_cObject };
#define LOOP rb_vm_exec
#elif defined(FALSE_php)
const char version[] = "X-Powered-By: PHP/8.2.7";
VARIABLE(executor_globals);
FUNCTION(zend_get_executed_lineno)
FUNCTION(execute_ex)
static uint64_t *variables[] = { executor_globals };
#define LOOP execute_ex
#elif defined(FALSE_perl)
const uint8_t PL_revision = 5, PL_version = 36;
VARIABLE(PL_thr_key);
VARIABLE(PL_curinterp);
VARIABLE(PL_curcop);
VARIABLE(PL_curstackinfo);
FUNCTION(Perl_runops_standard)
static uint64_t *variables[] = { PL_thr_key, PL_curinterp, PL_curcop, PL_curstackinfo };
#define LOOP Perl_runops_standard
#elif defined(FALSE_beam)
const char etp_otp_release[] = "25";
VARIABLE(erts_atom_table);
VARIABLE(the_active_code_index);
VARIABLE(beam_normal_exit);
VARIABLE(etp_beamasm);
FUNCTION(erts_init_ranges)
FUNCTION(erts_get_scheduler_data)
FUNCTION(enif_get_int)
FUNCTION(driver_output)
FUNCTION(erts_dirty_process_main)
FUNCTION(process_main)
static uint64_t *variables[] = { erts_atom_table, the_active_code_index, beam_normal_exit,
				 etp_beamasm };
#define LOOP process_main
#elif defined(FALSE_lua)
const char lua_ident[] = "$LuaVersion: Lua 5.4.4  Copyright (C) 1994-2022 Lua.org, PUC-Rio $";
VARIABLE(luaP_opmodes);
FUNCTION(luaV_execute)
FUNCTION(lua_newstate)
FUNCTION(lua_callk)
FUNCTION(lua_pcallk)
FUNCTION(luaD_call)
static uint64_t *variables[] = { luaP_opmodes };
#define LOOP luaV_execute
#else
/* entries of gHotSpotVMStructs have six words */
uint64_t table[WORDS];
const char *gHotSpotVMVersion = "17.0.1";
uint64_t *gHotSpotVMStructs = table, *gHotSpotVMTypes = table, *gHotSpotVMIntConstants = table,
	 *gHotSpotVMLongConstants = table;
#define STRIDE(name) uint64_t name = 8
STRIDE(gHotSpotVMStructEntryArrayStride);
STRIDE(gHotSpotVMTypeEntryArrayStride);
STRIDE(gHotSpotVMIntConstantEntryArrayStride);
STRIDE(gHotSpotVMLongConstantEntryArrayStride);
#define OFFSET(name) uint64_t name
OFFSET(gHotSpotVMStructEntryTypeNameOffset);
OFFSET(gHotSpotVMStructEntryFieldNameOffset);
OFFSET(gHotSpotVMStructEntryTypeStringOffset);
OFFSET(gHotSpotVMStructEntryIsStaticOffset);
OFFSET(gHotSpotVMStructEntryOffsetOffset);
OFFSET(gHotSpotVMStructEntryAddressOffset);
OFFSET(gHotSpotVMTypeEntryTypeNameOffset);
OFFSET(gHotSpotVMTypeEntrySizeOffset);
OFFSET(gHotSpotVMIntConstantEntryNameOffset);
OFFSET(gHotSpotVMIntConstantEntryValueOffset);
OFFSET(gHotSpotVMLongConstantEntryNameOffset);
OFFSET(gHotSpotVMLongConstantEntryValueOffset);
FUNCTION(JNI_CreateJavaVM)
FUNCTION(interpret)
static uint64_t *variables[] = { table };
#define LOOP         interpret
#endif

static void fill(uint64_t *words_of, int has_circles)
{
	for (unsigned int i = 0; i < WORDS; i++)
		words_of[i] = has_circles ? (uint64_t)&words[(i * 2654435761u) % WORDS]
					  : (1ULL << 40) + i;
}

int main(int argc, char **argv)
{
	int has_circles = argc > 2 && strcmp(argv[2], "circles") == 0;
	uint64_t n = 0;

	fill(words, has_circles);
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		fill(variables[i], has_circles);
	while (busy(busy_ms(argc, argv)))
		n += LOOP(n);
	return (int)(n & 1);
}
