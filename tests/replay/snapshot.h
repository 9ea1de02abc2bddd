/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A stopped process in a file: registers, the stack from the stack pointer up,
 * executable mappings and whose files they are. What is needed to walk its
 * stack again later, elsewhere in time, without the process or any privilege.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "bpf/shared/abi.h"
#include "image.h"

struct snapshot_mapping {
	struct unwind_mapping map;
	char path[IMAGE_PATH_MAX];
	uint64_t file_size; /* tells another file at the path from the one that was mapped */
};

struct snapshot {
	uint64_t regs[UREG_COUNT];
	struct {
		VEC(uint8_t);
	} stack; /* from regs[UREG_RSP] on */
	struct {
		VEC(uint8_t);
	} vdso;
	struct {
		VEC(struct snapshot_mapping);
	} mappings;
};

/* Of a process that the caller has stopped by ptrace: 0 or -errno. */
int snapshot_take(struct snapshot *s, pid_t pid);
int snapshot_write(const struct snapshot *s, int fd);
/* -EBADMSG: this is not a whole snapshot. */
int snapshot_read(struct snapshot *s, int fd);
void snapshot_fini(struct snapshot *s);

/* Tables for it. Borrows the vDSO. -ESTALE: a file is not the one that was mapped. */
int snapshot_image(const struct snapshot *s, struct image *out);
