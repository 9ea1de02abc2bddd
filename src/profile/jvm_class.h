/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names of classes as the JVM has them, such as java/util/HashMap$Node. Any thread; no state.
 */
#include <stddef.h>

struct buf;

/*
 * Appends a class's name with dots instead of slashes, and without a suffix that differs from run
 * to run: the number of a lambda's class, the address of a hidden class.
 */
void jvm_class_put(struct buf *out, const char *name, size_t len);
