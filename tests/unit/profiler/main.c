/* SPDX-License-Identifier: Apache-2.0 */
int test_offcpu(void);
int test_record_decoder(void);
int test_sample_counts(void);
int test_waits(void);

int main(void)
{
	return test_offcpu() + test_record_decoder() + test_sample_counts() + test_waits();
}
