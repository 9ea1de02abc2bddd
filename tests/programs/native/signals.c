/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals MS [altstack]: main -> outer -> middle -> (trap) -> handler -> hot.
 * The trap interrupts middle itself, not a call it makes.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "work.h"

static volatile uint64_t sink;
static char alternate[65536];

CALLED static uint64_t hot(uint64_t n)
{
	return spin(n, 5000000);
}

static void handler(int sig)
{
	sink += hot(sink) + (uint64_t)sig;
}

#ifdef __x86_64__
static inline __attribute__((always_inline)) void trap(void)
{
	__asm__ volatile("int3" ::: "memory");
}
#else
/* The handler would return to a breakpoint again, so this is the system call kill(pid, SIGTRAP). */
static inline __attribute__((always_inline)) void trap(void)
{
	register long pid __asm__("x0") = getpid();
	register long sig __asm__("x1") = SIGTRAP;
	register long call __asm__("x8") = 129;

	__asm__ volatile("svc #0" : "+r"(pid) : "r"(sig), "r"(call) : "memory");
}
#endif

CALLED static uint64_t middle(uint64_t n)
{
	trap();
	return n + sink;
}

CALLED static uint64_t outer(uint64_t n)
{
	return middle(n) + 1;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = handler };
	stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) };

	if (argc > 2 && !strcmp(argv[2], "altstack")) {
		sigaltstack(&stack, NULL);
		action.sa_flags = SA_ONSTACK;
	}
	sigaction(SIGTRAP, &action, NULL);
	while (busy(busy_ms(argc, argv)))
		sink += outer(sink);
	return 0;
}
