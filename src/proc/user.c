/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/user.h"

#include <stdio.h>
#include <sys/stat.h>

enum { SUB_UID_MIN = 100000, SUB_UID_COUNT = 65536 }; /* defaults of login.defs(5) */

uint64_t proc_user(uid_t uid)
{
	return uid < SUB_UID_MIN ? uid : SUB_UID_MIN + (uid - SUB_UID_MIN) / SUB_UID_COUNT;
}

uint64_t proc_user_of(uint32_t pid)
{
	char path[24];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return stat(path, &st) < 0 ? UINT64_MAX : proc_user(st.st_uid);
}
