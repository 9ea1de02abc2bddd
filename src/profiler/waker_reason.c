/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/waker_reason.h"

#include <stdbool.h>
#include <string.h>

/* The entries of interrupts: x86-64, then arm64. */
static const char *const entries[] = {
	"asm_sysvec_",
	"sysvec_",
	"__sysvec_",
	"asm_common_interrupt",
	"common_interrupt",
	"asm_exc_nmi",
	"exc_nmi",
	"el0_irq",
	"el1_irq",
	"el0_interrupt",
	"el1_interrupt",
	"el0t_64_irq",
	"el1h_64_irq",
	"el0t_32_irq",
	NULL,
};

/* The function nearest to the leaf that is in the table decides. */
static const struct {
	const char *prefix, *kind;
} kinds[] = {
	{ "hrtimer_", "timer" },      { "__hrtimer_", "timer" },
	{ "call_timer_fn", "timer" }, { "__run_timer", "timer" },
	{ "run_timer", "timer" },     { "posix_timer", "timer" },
	{ "it_real_fn", "timer" },    { "alarmtimer", "timer" },
	{ "tick_", "timer" },         { "net_rx_", "network" },
	{ "net_tx_", "network" },     { "napi_", "network" },
	{ "__napi_", "network" },     { "blk_", "disk" },
	{ "__blk_", "disk" },         { "bio_endio", "disk" },
	{ "nvme_", "disk" },          { "virtblk_", "disk" },
	{ "scsi_", "disk" },          { "ata_", "disk" },
	{ "irq_work_", "irq work" },  { "rcu_core", "rcu" },
	{ "rcu_do_batch", "rcu" },    { "tasklet_", "tasklet" },
	{ "uart_", "terminal" },      { "serial8250_", "terminal" },
};

static bool begins_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool is_entry(const char *name)
{
	for (size_t i = 0; entries[i]; i++)
		if (begins_with(name, entries[i]))
			return true;
	return false;
}

size_t waker_reason_skip_frames(const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (begins_with(names[i], "try_to_wake_up"))
			return i;
	return 0;
}

size_t waker_reason_interrupt(const char *const *names, size_t n)
{
	size_t i = 0;

	while (i < n && !is_entry(names[i]))
		i++;
	if (i == n)
		return 0;
	/* the entry's own functions call each other */
	while (i < n && is_entry(names[i]))
		i++;
	return i;
}

const char *waker_reason_find(const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
			if (begins_with(names[i], kinds[k].prefix))
				return kinds[k].kind;
	return "";
}
