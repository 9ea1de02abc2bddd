// SPDX-License-Identifier: Apache-2.0
// The same allocations in C++, and those of operator new.
#include "heap.c"
