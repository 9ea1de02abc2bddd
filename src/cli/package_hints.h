/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the packages of debug symbols that would name the functions of a profile that have no
 * symbol: for each file with such functions the installed Debian package that it belongs to, from
 * dpkg's lists of files (/var/lib/dpkg/info/NAME.list). The lists and the profile may hold
 * anything: lines and sizes are bounded, and only a name that is valid for a package is reported
 * (Debian Policy 5.6.1). A file counts only if the file at the same path here has the same build
 * id, because the profile's file may be in another root (a container's) or on another host. If the
 * profile has no build ids, files that do not exist here count, too. A file is opened for this
 * check only if a package contains it. Packages that are installed are not reported, because
 * functions that they do not name, such as PLT stubs, have no name anywhere. Blocking; any thread.
 */
#include <stddef.h>

struct profile;

#define PACKAGE_HINTS_DIR "/var/lib/dpkg/info"

enum { PACKAGE_HINTS_MAX = 3, PACKAGE_NAME_MAX = 80 };

struct package_hint {
	char package[PACKAGE_NAME_MAX]; /* "php8.2-cli-dbgsym" */
	double share;                   /* of the first sample type's total, by the leaf: 0 to 1 */
};

struct package_hints {
	struct package_hint at[PACKAGE_HINTS_MAX]; /* the greatest share first */
	size_t n;
};

/*
 * Finds the hints for @p with the lists in @info_dir. Empty without a list that has one of the
 * files, or if fewer than one sample in 20 has a leaf without a symbol.
 */
void package_hints_find(const struct profile *p, const char *info_dir, struct package_hints *out);

/* Prints a line to standard error, or nothing if there are no hints. */
void package_hints_print(const struct package_hints *hints);
