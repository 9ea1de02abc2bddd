/* SPDX-License-Identifier: Apache-2.0 */
int test_sampler(void);
int test_walk_programs(void);

int main(void)
{
	return test_sampler() + test_walk_programs();
}
