/* SPDX-License-Identifier: Apache-2.0 */
int test_sampler(void);

int main(void)
{
	return test_sampler();
}
