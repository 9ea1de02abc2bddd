/* SPDX-License-Identifier: Apache-2.0 */
/* Native functions of shapes.erl: one on a normal scheduler, one on a dirty one. */
#include <erl_nif.h>

__attribute__((noinline)) static int native_hot(int n)
{
	volatile int x = 1;

	for (int i = 0; i < n; i++)
		x = x * 7 % 5 + 1;
	return x;
}

__attribute__((noinline)) static ERL_NIF_TERM native_burn(ErlNifEnv *env, ERL_NIF_TERM count)
{
	int n = 0;

	enif_get_int(env, count, &n);
	return enif_make_int(env, native_hot(n) + 1);
}

static ERL_NIF_TERM burn(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	(void)argc;
	return native_burn(env, argv[0]);
}

static ERL_NIF_TERM burn_dirty(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	(void)argc;
	return native_burn(env, argv[0]);
}

static ErlNifFunc functions[] = {
	{ "burn", 1, burn, 0 },
	{ "burn_dirty", 1, burn_dirty, ERL_NIF_DIRTY_JOB_CPU_BOUND },
};

ERL_NIF_INIT(shapes, functions, NULL, NULL, NULL, NULL)
