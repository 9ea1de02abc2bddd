/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpf/shared/offcpu.h"
#include "lang/context/labels.h"
#include "lang/copy.h"
#include "process/process_table.h"

bool record_is_valid(const struct record_header *h, size_t len)
{
	if (len < sizeof(*h) || h->event >= EVENTS_MAX ||
	    len - sizeof(*h) < h->n_context * sizeof(uint64_t))
		return false;
	switch (h->type) {
	case RECORD_PROGRAM:
	case RECORD_FREED:
		return true;
	case RECORD_OFF:
		return len >= sizeof(struct off_record);
	case RECORD_OFF_LAST:
		return len >= sizeof(struct off_last_record);
	case RECORD_SAMPLE:
		return len >=
		       sizeof(*h) + (h->n_words + h->n_vm_words + h->n_context) * sizeof(uint64_t);
	case RECORD_FUNCTION:
		return lang_copy_is_valid((const struct function_record *)h, len);
	case RECORD_RAW:
	case RECORD_STACK:
		return len >= offsetof(struct raw_record, stack) &&
		       h->n_kernel <= KERNEL_FRAMES_MAX && h->n_vm_words <= RAW_VM_WORDS_MAX &&
		       h->n_vm_words % 2 == 0 &&
		       len >= offsetof(struct raw_record, stack) + h->stack_len +
				       (h->n_vm_words + h->n_context) * sizeof(uint64_t);
	default:
		return false;
	}
}

/*
 * Stores the name of the process, which is that of its main thread. A sample of the main thread has
 * the current name, which during an exec may already be that of the next program.
 */
static void name_process(const struct process *p, const struct record_header *h, char out[16])
{
	bool is_own_name = h->tid == h->pid && h->comm[0] && !(h->flags & RECORD_IN_EXEC);

	if (is_own_name || !p)
		snprintf(out, 16, "%.15s", h->comm);
	else
		memcpy(out, p->comm, 16);
	/* prctl() accepts an empty name, and Perl sets one briefly */
	if (!out[0])
		snprintf(out, 16, "%s", h->comm[0] ? "[unknown]" : "[no name]");
}

struct sample_counts_thread record_thread(const struct process *p, const struct record_header *h)
{
	struct sample_counts_thread t = { .pid = h->pid, .tid = h->tid };

	memcpy(t.comm, h->comm, sizeof(t.comm));
	t.comm[sizeof(t.comm) - 1] = '\0';
	name_process(p, h, t.process_comm);
	if (h->tid == h->pid && h->flags & RECORD_IN_EXEC)
		memcpy(t.comm, t.process_comm, sizeof(t.comm));
	if (p) {
		t.exe = p->exe;
		t.start_ns = p->start_ns;
	}
	return t;
}

bool record_is_own(struct process_table *procs, const struct process *p,
		   const struct record_header *h)
{
	if ((pid_t)h->pid == getpid() || (p && (pid_t)p->ppid == getpid()))
		return true;
	p = p ? process_table_find(procs, p->ppid, h->time_ns) : NULL;
	return p && (pid_t)p->ppid == getpid();
}

bool record_is_excluded(struct process_table *procs, const struct process *p,
			const struct record_header *h)
{
	bool is_sample =
		h->type == RECORD_SAMPLE || h->type == RECORD_RAW || h->type == RECORD_STACK;

	return is_sample && h->pid && !(h->flags & RECORD_OFF_CPU) &&
	       process_table_excludes(procs, p, SELECT_NO_CPU);
}

int record_context(const struct record_header *h, size_t len, struct context *out)
{
	const size_t bytes = h->n_context * sizeof(uint64_t);

	if (!bytes)
		return 0;
	memset(out, 0, sizeof(*out));
	memcpy(out, (const uint8_t *)h + len - bytes, bytes < sizeof(*out) ? bytes : sizeof(*out));
	return context_is_valid(out, bytes) ? 1 : -EBADMSG;
}

void record_copy_lists(const struct raw_record *rec, uint64_t out[RAW_VM_WORDS_MAX])
{
	memcpy(out, rec->stack + rec->head.stack_len, rec->head.n_vm_words * sizeof(*out));
}

void record_mark_searched(const struct record_header *h, uint64_t *words, size_t n)
{
	if (h->n_kernel < n && !(h->flags & RECORD_WAKER))
		words[h->n_kernel] |= SAMPLE_COUNTS_SEARCHED;
}

size_t record_cut_replaced(const struct process *p, const struct sample_record *rec,
			   uint64_t out[RECORD_WORDS_MAX])
{
	if (!process_table_has_replaced(p))
		return 0;
	for (size_t i = 0; i < rec->head.n_words && i < RECORD_WORDS_MAX; i++) {
		uint64_t word = rec->words[i];
		uint32_t file = (uint32_t)((word & FRAME_PAYLOAD_MASK) >> FRAME_OFFSET_BITS);

		if (word >> FRAME_KIND_SHIFT != FRAME_NATIVE ||
		    !process_table_was_replaced(p, file, rec->head.time_ns))
			continue;
		memcpy(out, rec->words, i * sizeof(*out));
		out[i] = FRAME_WORD(FRAME_ERROR, WALK_ERR_PC_UNMAPPED);
		return i + 1;
	}
	return 0;
}

bool record_ends_unmapped(const uint64_t *words, size_t n)
{
	return n && words[n - 1] == FRAME_WORD(FRAME_ERROR, WALK_ERR_PC_UNMAPPED);
}
