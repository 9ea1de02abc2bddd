/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The state of a stopped thread as a walk over a copy of its stack needs it: registers, the stack
 * from the stack pointer up, and the executable mappings with their files.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "bpf/shared/abi.h"
#include "capture/process_image.h"

struct snapshot_mapping {
	struct unwind_mapping map;
	char path[PROCESS_IMAGE_PATH_MAX];
	uint64_t file_size; /* of the mapped file; the path may have another one now */
};

struct snapshot {
	uint64_t regs[UREG_COUNT];
	struct {
		VEC(uint8_t);
	} stack; /* from regs[UREG_SP] on */
	struct {
		VEC(uint8_t);
	} vdso;
	struct {
		VEC(struct snapshot_mapping);
	} mappings;
};

/* Copies the state of a process that the caller has stopped with ptrace(2). Returns 0 or -errno. */
int snapshot_take(struct snapshot *s, pid_t pid);

/*
 * The same out of the core file @data of a capture, which need not stay valid: words of the stack
 * that the capture does not hold are zero. Returns 0; -EBADMSG if it is not one; -ENOMEM.
 */
int snapshot_from_core(struct snapshot *s, const void *data, size_t len);
void snapshot_fini(struct snapshot *s);

/*
 * Builds the tables of a snapshot. Borrows the vDSO. Returns -ESTALE if a file is not the one that
 * was mapped.
 */
int snapshot_image(const struct snapshot *s, struct process_image *out);
