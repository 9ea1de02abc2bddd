/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A kernel side in plain memory: the functions of sampler/sampler.h and process/sideband.h are
 * defined in kernel.c, so a test that is linked with it runs everything above them, up to a
 * whole command, without privileges and with samples that are known. It lives in memory that is
 * shared with the children of the test.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/shared/offcpu.h"
#include "process/sideband_event.h"

enum { KERNEL_TARGETS = 8, KERNEL_EVENTS = 8, KERNEL_WORDS = 3 };

struct kernel {
	/* ---- set by the test; zero is a kernel that works and delivers nothing ---- */
	int open_error, attach_error, sideband_error, consume_error; /* -errno */
	const char *offcpu_error;
	uint32_t pid;        /* whose samples are delivered, unless there are targets */
	uint32_t n_per_read; /* samples at each read of the ring while attached, */
	uint32_t n_samples;  /* until that many were delivered; 0: no limit */
	uint32_t n_lost;     /* in the counters */
	struct sideband_event events[KERNEL_EVENTS]; /* delivered at the next read */
	uint32_t n_events;
	struct off_thread waiting; /* the only thread off the CPU; its tid is 0: there is none */

	/* ---- the calls that it received ---- */
	atomic_uint n_opened, n_freed, n_attached, n_detached, n_delivered;
	atomic_bool is_paused;
	uint32_t targets[KERNEL_TARGETS];
	uint32_t n_targets;
	uint32_t n_scans;       /* for stacks of sleeping threads, */
	uint64_t scan_since_ns; /* the last of them since then */
	uint32_t n_removed;     /* threads */
	uint32_t freq_hz;
	bool is_targets_only, no_children;
};

/* The kernel side of the running test; never NULL between kernel_setup() and kernel_teardown(). */
extern struct kernel *kernel;

/* The stack of every sample, leaf first: addresses outside of any file. */
extern const uint64_t kernel_stack[KERNEL_WORDS];

/* The name of every sample's thread. */
#define KERNEL_COMM "subject"

int kernel_setup(void **state);
int kernel_teardown(void **state);

/* A test with a kernel side of its own. */
#define KERNEL_TEST(fn) cmocka_unit_test_setup_teardown(fn, kernel_setup, kernel_teardown)
