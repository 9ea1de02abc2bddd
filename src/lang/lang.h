/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The languages whose virtual machines keep stack frames of their own. This registry detects
 * which files are such virtual machines, weaves their frames into native stacks and symbolizes
 * them. Native code and perf maps are not handled here.
 *
 * A language is a folder here, bpf/lib/lang/NAME.h and bpf/shared/NAME.h, and one line in
 * bpf/shared/langs.def. Everything that is read from a process is bounded and validated: a frame
 * that fails becomes "[stale function]" or "[unreadable function]". One thread uses a registry.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/shared/abi.h"
#include "bpf/shared/vms.h"
#include "lang/language.h"
#include "symbol/symbol.h"

struct lang_runtimes;
struct lang_source;
struct langs;
struct process_context;

/* The result of detection for one file. */
struct lang_file {
	uint32_t vm; /* index into the VM tables; 0: the file is not a virtual machine */
	/* One location as file offset and as linked address: they yield a mapping's load bias. */
	uint64_t loop_off, loop_vaddr;
	uint32_t context; /* index into the table of contexts; 0: the file publishes none */
	uint64_t context_off, context_vaddr; /* one location of its code, for the load bias */
	uint32_t language;                   /* 1 << enum vm_lang */
	bool attaches;                       /* it generates code that langs_attach() finds */
	uint8_t runtime;                     /* number in langs_runtimes(); 0: none, or no room */
	/* File offsets of the code that runs programs; hi is 0 if that can be all of the file. */
	struct vm_range runs[VM_RANGES_MAX];
};

/*
 * The arrays that @tables points to are borrowed for the registry's lifetime. With @fold, native
 * frames of the virtual machines are omitted from stacks.
 */
int langs_new(struct langs **out, const struct vm_tables *tables, bool fold);
/*
 * The languages that a mapped file at @path may be a runtime of, judged by its name alone: bits 1
 * << enum vm_lang. Any thread.
 */
uint32_t langs_guess(const char *path);
/*
 * Makes names include parameters, for languages that record them. Call it before any stack is
 * woven.
 */
void langs_enable_signatures(struct langs *l);
/*
 * Makes @source (question.h), instead of this process, interpret the files and memory of other
 * programs. Its pointers are borrowed. Call it before anything is detected.
 */
void langs_set_source(struct langs *l, const struct lang_source *source);
void langs_free(struct langs *l);

DEFINE_FREEP(struct langs, langs_free)

/*
 * Detects whether a file is a virtual machine. If the registry has a source, that reads @fd;
 * otherwise @img is read. Called once per file, under sigbus_run().
 */
void langs_detect(struct langs *l, const struct elf_image *img, int fd, struct lang_file *out);

/*
 * Returns the runtimes that were detected (runtime.h). They live as long as @l; any thread may read
 * them.
 */
const struct lang_runtimes *langs_runtimes(const struct langs *l);

/*
 * Notes that a sample has a frame at offset @off of @file, whose path is @path, if programs run in
 * that code. Uses no lock; any thread, one at a time.
 */
void langs_note_sample(struct langs *l, const struct lang_file *file, uint64_t off,
		       const char *path);

/**
 * langs_attach() - find the code that a process's virtual machine generates
 *
 * @file->attaches is set and the process has mapped the file at @bias. @out holds
 * LANG_REGIONS_MAX regions; where two overlap, the later one applies.
 *
 * Return: the number of regions, with LANG_ATTACH_PARTIAL if the virtual machine has not
 * started far enough to know all of them; -EAGAIN if none is known yet; another -errno if there
 * is none, and the runtime is then unsupported.
 */
int langs_attach(struct langs *l, const struct lang_file *file, uint64_t bias,
		 const struct lang_process *p, struct unwind_mapping *out);

/*
 * Reads the process context of @p whose header is at @at (context/process_context.h). @out->result
 * is negative if there is none.
 */
void langs_read_context(struct langs *l, const struct lang_process *p, uint64_t at,
			struct process_context *out);

/*
 * Marks the runtime of @file as unsupported, because it never reported its code although it was
 * queried as often as permitted.
 */
void langs_give_up(struct langs *l, const struct lang_file *file);

/* A stack as the walk recorded it; the words are borrowed. */
struct lang_stack {
	struct lang_process process;
	const uint64_t *words, *vm_words;
	size_t n_words, n_vm_words;
	bool truncated; /* outer frames are missing in vm_words */
};

enum { LANG_STACK_MAX = RECORD_WORDS_MAX + 2 * VM_FRAMES_MAX };

/**
 * langs_weave() - merge the frames of virtual machines into a native stack
 *
 * The frames of each activation of an interpreter's loop replace the loop's frame, as FRAME_SCRIPT
 * words, and a frame of generated code becomes one word for each function inlined there. All new
 * functions are requested first, together. @out holds LANG_STACK_MAX words.
 *
 * Return: the number of words in @out.
 */
size_t langs_weave(struct langs *l, const struct lang_stack *in, uint64_t *out);

/*
 * Ends a window of a continuous recording. Words of this window can still be symbolized, words of
 * earlier ones cannot. Functions that neither this window nor the one before it used are forgotten
 * once there are more than LANG_FUNCTIONS_RETAINED or their text exceeds @text_max bytes.
 */
void langs_window(struct langs *l, size_t text_max);

/* Returns the memory used, in bytes. */
size_t langs_bytes(const struct langs *l);

/*
 * Aging of the entries in the walk's tables: call langs_mark() for those of all files and mappings
 * that are in use, then langs_sweep(). An entry that was not marked may be reused, once all others
 * are in use; the one that was freed first is reused first.
 */
void langs_mark(struct langs *l, uint32_t vm);
void langs_sweep(struct langs *l);

/*
 * Counts a runtime for which the caller requests no entry, because its user already has too many.
 */
void langs_count_full(struct langs *l);

/* Returns how often a runtime, or a layout of its data, found no room in the walk's tables. */
uint64_t langs_n_full(const struct langs *l);

/*
 * Symbolizes a FRAME_SCRIPT word. The strings in @out are borrowed until langs_window() or the
 * next stack. Return: the language; LANG_NONE for an unknown word, with a bracketed name in @out.
 */
enum vm_lang langs_symbolize(const struct langs *l, uint64_t word, struct symbol_frame *out);

/* Returns the state of a FRAME_SCRIPT word's function; LANG_FUNCTION_FORGOTTEN: none is known. */
enum lang_function_state langs_function_state(const struct langs *l, uint64_t word);
