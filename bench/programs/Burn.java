// SPDX-License-Identifier: Apache-2.0

/** Runs main, outer, middle, hot, until killed. */
public class Burn {
	static long hot(long sum) {
		for (int i = 0; i < 50000; i++)
			sum = sum * 6364136223846793005L + i;
		return sum;
	}

	static long middle(long sum) {
		for (int i = 0; i < 20; i++)
			sum += hot(sum + i);
		return sum;
	}

	public static void main(String[] args) {
		long sum = 1;
		while (sum != 0)
			sum = middle(sum) | 1;
	}
}
