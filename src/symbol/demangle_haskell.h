/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Decodes the symbols that GHC makes of Haskell's functions (Z-encoding). */
#include <stdbool.h>

/*
 * Returns "Data.Map.insert" for containerszm0zi6zi7_DataziMap_insert_info, with @with_package
 * "containers-0.6.7:Data.Map.insert". The caller frees it. NULL if @raw is not a function of
 * Haskell, or memory is short. C functions of other files may look alike: call it for files of GHC
 * only.
 */
char *demangle_haskell(const char *raw, bool with_package);
