/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roots MS WAY: body -> middle -> hot, where the stack begins in the given WAY:
 *
 *	main       in the program's entry point
 *	thread     in a thread
 *	signal     in main, below a signal's handler
 *	undefined  in a function whose CFI says that it has no caller, above false return addresses
 *	fcontext   in a coroutine that is made and entered as Boost.Context does, without CFI
 *	zero       nowhere: body's return address is zero, but main is above it on the same stack
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "work.h"

static volatile uint64_t sink;
static long limit_ms;
static uint64_t stack[32768] __attribute__((aligned(64)));

void undefined_root(void *top);
void zero_call(void);
void *context_make(void *top, void (*fn)(void));
void context_enter(void *context);
void body(void);

__asm__(".text\n"
	".globl undefined_root\n"
	".type undefined_root, @function\n"
	"undefined_root:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined rip\n"
	"	mov %rdi, %rsp\n"
	"	call body\n"
	"	ud2\n"
	"	.cfi_endproc\n"
	".size undefined_root, .-undefined_root\n"
	".globl zero_call\n"
	".type zero_call, @function\n"
	"zero_call:\n"
	"	.cfi_startproc\n"
	"	push $0\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	jmp body\n"
	"	.cfi_endproc\n"
	".size zero_call, .-zero_call\n"
	".p2align 4\n"
	".globl context_make\n"
	".type context_make, @function\n"
	"context_make:\n"
	"	mov %rdi, %rax\n"
	"	and $-16, %rax\n"
	"	lea -0x40(%rax), %rax\n"
	"	mov %rsi, 0x28(%rax)\n"
	"	lea context_trampoline(%rip), %rcx\n"
	"	mov %rcx, 0x38(%rax)\n"
	"	lea context_finish(%rip), %rcx\n"
	"	mov %rcx, 0x30(%rax)\n"
	"	ret\n"
	"context_trampoline:\n"
	"	push %rbp\n"
	"	jmp *%rbx\n"
	"context_finish:\n"
	"	xor %rdi, %rdi\n"
	"	call _exit\n"
	"	hlt\n"
	".size context_make, .-context_make\n"
	".p2align 4\n"
	".globl context_enter\n"
	".type context_enter, @function\n"
	"context_enter:\n"
	"	lea -0x38(%rsp), %rsp\n"
	"	mov %rdi, %rsp\n"
	"	mov 0x38(%rsp), %r8\n"
	"	mov 0x28(%rsp), %rbx\n"
	"	mov 0x30(%rsp), %rbp\n"
	"	lea 0x40(%rsp), %rsp\n"
	"	jmp *%r8\n"
	".size context_enter, .-context_enter\n");

CALLED static uint64_t hot(uint64_t n)
{
	return spin(n, 100000);
}

CALLED static uint64_t middle(uint64_t n)
{
	return hot(n) + 1;
}

/* Ends the process, so that it needs no caller. */
CALLED void body(void)
{
	while (busy(limit_ms))
		sink += middle(sink);
	_exit(0);
}

static void *run_thread(void *arg)
{
	body();
	return arg;
}

static void on_signal(int sig)
{
	body();
	sink += (uint64_t)sig;
}

/* The words above the stack's beginning look like callers. */
static uint64_t *top_below_addresses(void)
{
	uint64_t *top = stack + sizeof(stack) / sizeof(stack[0]) - 64;

	for (int i = 0; i < 64; i++)
		top[i] = (uint64_t)(uintptr_t)middle + 9;
	return top;
}

int main(int argc, char **argv)
{
	const char *way = argc > 2 ? argv[2] : "main";
	pthread_t thread;

	limit_ms = busy_ms(argc, argv);
	if (!strcmp(way, "thread") && !pthread_create(&thread, NULL, run_thread, NULL))
		pthread_join(thread, NULL);
	signal(SIGTRAP, on_signal);
	if (!strcmp(way, "signal"))
		__asm__ volatile("int3" ::: "memory");
	else if (!strcmp(way, "undefined"))
		undefined_root(top_below_addresses());
	else if (!strcmp(way, "fcontext"))
		context_enter(context_make(top_below_addresses(), body));
	else if (!strcmp(way, "zero"))
		zero_call();
	body();
	return 0;
}
