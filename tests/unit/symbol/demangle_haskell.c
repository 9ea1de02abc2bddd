/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols are those of GHC 9.0 and its libraries, unless they are malformed. */
#include "symbol/demangle_haskell.h"

#include "symbol/demangle.h"
#include "tests/test.h"

static void check(const char *raw, const char *want)
{
	char *got = demangle_haskell(raw, true);

	if (want)
		assert_string_equal(got, want);
	else
		assert_null(got);
	free(got);
}

static void decodes_functions(void **state)
{
	check("Main_zdwcollatzz_info", "Main.$wcollatz");
	check("Main_zdwzdsgo8_slow", "Main.$w$sgo8");
	check("ZCMain_main_info", ":Main.main");
	check("base_GHCziBase_zpzp_info", "base:GHC.Base.++");
	check("base_GHCziNum_zdfNumIntzuzdczp_info", "base:GHC.Num.$fNumInt_$c+");
	check("containerszm0zi6zi4zi1_DataziMapziInternal_balanceL_info",
	      "containers-0.6.4.1:Data.Map.Internal.balanceL");
	check("ghczmprim_GHCziTypes_ZC_con_info", "ghc-prim:GHC.Types.:");
	check("ghczmprim_GHCziTuple_Z3T_con_info", "ghc-prim:GHC.Tuple.(,,)");
	check("ghczmprim_GHCziPrim_Z2H_con_info", "ghc-prim:GHC.Prim.(#,#)");
	check("ghczmprim_GHCziTuple_Z0T_static_info", "ghc-prim:GHC.Tuple.()");
	check("Main_go1_r3Xy_info", "Main.go1");
	check("Main_z0e9U_info", "Main.\xc3\xa9");
	check("Main_z3b1U_info", "Main.\xce\xb1");
	check("Main_z1f600U_info", "Main.\xf0\x9f\x98\x80");
}

static void omits_the_package_in_short_names(void **state)
{
	char *got = demangle_name("base_GHCziBase_map_info", DEMANGLE_SHORT, DEMANGLE_HASKELL);

	assert_string_equal(got, "GHC.Base.map");
	free(got);
	assert_null(demangle_name("base_GHCziBase_map_info", DEMANGLE_FULL, DEMANGLE_BY_PREFIX));
}

static void other_symbols_remain(void **state)
{
	check("stg_upd_frame_info", NULL);
	check("stg_ap_0_fast", NULL);
	check("scheduleWaitThread", NULL);
	check("hs_main", NULL);
	check("Main_main_closure", NULL);
	check("get_user_info", NULL);
	check("Main_info", NULL);
}

static void malformed_symbols_are_refused(void **state)
{
	check("", NULL);
	check("_info", NULL);
	check("Main__info", NULL);
	check("_Main_x_info", NULL);
	check("Main_a_b_c_d_info", NULL);
	check("Main_z_info", NULL);
	check("Main_zf_info", NULL);
	check("Main_Z_info", NULL);
	check("Main_Z3_info", NULL);
	check("Main_Z99999999999T_info", NULL);
	check("Main_z0_info", NULL);
	check("Main_z0ffffffffU_info", NULL);
	check("Main_z110000U_info", NULL);
	check("Main_z00U_info", NULL);
	check("zf_Main_x_info", NULL);
}

TEST_GROUP(test_demangle_haskell, TEST(decodes_functions), TEST(omits_the_package_in_short_names),
	   TEST(other_symbols_remain), TEST(malformed_symbols_are_refused))
