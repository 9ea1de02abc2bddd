/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/wait_frames.h"

#include <stdio.h>
#include <string.h>

#include "bpf/shared/abi.h"
#include "profile/profile.h"
#include "profiler/off_texts.h"
#include "profiler/sample_counts.h"
#include "profiler/wait_reason.h"
#include "profiler/waker_reason.h"
#include "profiler/wakers.h"
#include "symbolize/frame_symbols.h"
#include "symbolize/name_loss.h"

/* The frames of one waker: refs[from] to refs[to - 1], and its divider at refs[to]. */
struct section {
	const uint32_t *refs;
	size_t from, to;
};

const char *wait_frames_name(const struct wait_frames *f, uint32_t location)
{
	struct profile_location l = profile_location(f->p, location);

	if (!l.n_lines)
		return "";
	return profile_string(f->p, profile_function(f->p, l.lines[0].function)->name);
}

/* Names of the kernel's frames that begin @refs. Returns their number. */
static size_t kernel_names(const struct wait_frames *f, const uint32_t *refs, size_t n,
			   const char *out[KERNEL_FRAMES_MAX])
{
	size_t i = 0;

	for (; i < n && i < KERNEL_FRAMES_MAX; i++) {
		if (f->words[refs[i]].kind != PROFILE_FRAME_KERNEL)
			break;
		out[i] = wait_frames_name(f, f->words[refs[i]].location);
	}
	return i;
}

const char *wait_frames_reason(const struct wait_frames *f, const uint32_t *refs, size_t n,
			       size_t *out_skip)
{
	const char *names[KERNEL_FRAMES_MAX];
	size_t n_names = kernel_names(f, refs, n, names);

	*out_skip = wait_reason_skip_frames(names, n_names);
	return wait_reason_find(names + *out_skip, n_names - *out_skip);
}

static int add_frame(const struct wait_frames *f, const char *name, uint32_t *out)
{
	struct profile_function fn = { 0 };
	struct profile_line line = { 0 };
	struct profile_location l = {
		.kind = PROFILE_FRAME_ERROR, .mapping = PROFILE_NONE, .n_lines = 1, .lines = &line
	};
	int r = profile_add_string(f->p, name, strlen(name), &fn.name);

	fn.system_name = fn.name;
	if (r == 0)
		r = profile_add_string(f->p, "", 0, &fn.file);
	if (r == 0)
		r = profile_add_function(f->p, &fn, &line.function);
	return r < 0 ? r : profile_add_location(f->p, &l, out);
}

/*
 * Describes the thread of a divider. Kernel threads of different CPUs have names that differ after
 * a slash; that part is omitted.
 */
static void thread_text(const struct wait_frames *f, uint64_t word, char *out, size_t len)
{
	const struct sample_counts_thread *t = sample_counts_thread(f->counts, WAKER_THREAD(word));

	if (WAKER_IS_KERNEL(word) && !t->pid)
		snprintf(out, len, "[woken by idle CPU]");
	else if (WAKER_IS_KERNEL(word))
		snprintf(out, len, "[woken by kernel thread %.*s]", (int)strcspn(t->comm, "/"),
			 t->comm);
	else if (!strcmp(t->comm, t->process_comm))
		snprintf(out, len, "[woken by %s]", t->comm);
	else
		snprintf(out, len, "[woken by %s/%s]", t->process_comm, t->comm);
}

/* True if the kernel's part of a stack shows whether a thread or an interrupt wakes. */
static bool is_readable(const struct wait_frames *f, const struct section *s, size_t n_names)
{
	for (size_t i = 0; i < n_names; i++)
		if (f->words[s->refs[s->from + i]].lost != NAME_LOSS_KERNEL)
			return true;
	return false;
}

static void put_frames(const struct wait_frames *f, const uint32_t *refs, size_t n, uint32_t *out,
		       size_t *io_n)
{
	for (size_t i = 0; i < n; i++)
		out[(*io_n)++] = f->words[refs[i]].location;
}

/*
 * Appends one waker. One that is not a thread has not waited itself, so the wakers that precede it
 * in @out are dropped.
 */
static int put_section(const struct wait_frames *f, const struct section *s, uint32_t *out,
		       size_t *io_n, bool *out_is_unknown)
{
	const char *names[KERNEL_FRAMES_MAX];
	const uint32_t *refs = s->refs + s->from;
	size_t n = s->to - s->from, n_names = kernel_names(f, refs, n, names), skip, n_own;
	char text[80];

	*out_is_unknown = !is_readable(f, s, n_names);
	skip = waker_reason_skip_frames(names, n_names);
	n_own = waker_reason_interrupt(names, n_names);
	if (*out_is_unknown || n_own)
		*io_n = 0;
	if (*out_is_unknown)
		return add_frame(f, offcpu_error_text(OFFCPU_ERR_NO_WAKER), &out[(*io_n)++]);
	if (n_own) {
		const char *kind = waker_reason_find(names, n_own);

		snprintf(text, sizeof(text), "[woken by interrupt%s%s]", kind[0] ? ": " : "", kind);
		n = n_own;
	} else {
		thread_text(f, f->words[s->refs[s->to]].word, text, sizeof(text));
	}
	put_frames(f, refs + skip, n - skip, out, io_n);
	return add_frame(f, text, &out[(*io_n)++]);
}

int wait_frames_wakers(const struct wait_frames *f, const uint32_t *refs, size_t n, uint32_t *out,
		       size_t *out_n, bool *out_is_unknown)
{
	struct section s = { .refs = refs };
	int r = 0;

	*out_n = 0;
	*out_is_unknown = false;
	for (size_t i = 0; i < n && r == 0; i++) {
		uint64_t word = f->words[refs[i]].word;

		if (word >> FRAME_KIND_SHIFT == FRAME_WAKER) {
			s.to = i;
			r = put_section(f, &s, out, out_n, out_is_unknown);
			s.from = i + 1;
		} else if (i == 0 && word >> FRAME_KIND_SHIFT == FRAME_ERROR) {
			/* how the chain ends */
			put_frames(f, refs, 1, out, out_n);
			*out_is_unknown = word == FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_NO_WAKER);
			s.from = 1;
		}
	}
	return r;
}
