/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scribble MS: a thread spins on a stack that another one fills again and again with random words,
 * addresses of code and addresses of that stack.
 */
#include <pthread.h>

#include "work.h"

enum { WORDS = 4096 };

static uint64_t stack[WORDS];
static long limit_ms;
static volatile int done;

/* Spins without using its stack, so that it survives the changes there. */
static void *victim(void *arg)
{
	uint64_t saved;

	while (busy(limit_ms)) {
		__asm__ volatile("mov %%rsp, %0\n"
				 "mov %1, %%rsp\n"
				 "mov $3000000, %%ecx\n"
				 "1: dec %%ecx\n"
				 "jnz 1b\n"
				 "mov %0, %%rsp\n"
				 : "=&r"(saved)
				 : "r"(stack + 64)
				 : "rcx", "memory", "cc");
	}
	done = 1;
	return arg;
}

static uint64_t random_word(uint64_t n)
{
	switch (n >> 62) {
	case 0:
		return (uint64_t)(uintptr_t)random_word + (n >> 32) % 512;
	case 1:
		return (uint64_t)(uintptr_t)(stack + (n >> 32) % WORDS);
	case 2:
		return (uint64_t)(uintptr_t)malloc + (n >> 32) % 65536;
	default:
		return n;
	}
}

int main(int argc, char **argv)
{
	volatile uint64_t *words = stack;
	uint64_t n = 1;
	pthread_t t;

	limit_ms = busy_ms(argc, argv);
	pthread_create(&t, NULL, victim, NULL);
	while (!done) {
		for (int i = 0; i < WORDS; i++) {
			n = spin(n, 1);
			words[i] = random_word(n);
		}
	}
	pthread_join(t, NULL);
	return 0;
}
