// SPDX-License-Identifier: Apache-2.0

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Shares MS: runs small methods that C2 inlines into one another, for MS of CPU time. Their shares do
 * not change if inlining is disabled (-XX:CompileCommand=dontinline,Shares::*), and then the
 * address alone identifies the method.
 */
public class Shares {
	static final ThreadMXBean cpu = ManagementFactory.getThreadMXBean();
	static final int[] numbers = new int[3000];
	static final double[] reals = new double[600];
	static final Node ring = Node.ring(500);

	static class Node {
		Node next;
		long value;

		static Node ring(int n) {
			Node first = new Node(), last = first;
			for (int i = 1; i < n; i++) {
				last.next = new Node();
				last = last.next;
				last.value = i;
			}
			last.next = first;
			return first;
		}
	}

	/* One chain of dependent multiplications. */
	static long chain(long x) {
		for (int i = 0; i < 400; i++)
			x = x * 6364136223846793005L + i;
		return x;
	}

	/* C2 vectorizes this. */
	static long vector(long x) {
		int sum = (int) x;
		for (int i = 0; i < numbers.length; i++)
			sum += numbers[i] * 3;
		return sum;
	}

	static long pointers(long x) {
		Node n = ring;
		for (int i = 0; i < 500; i++) {
			x += n.value;
			n = n.next;
		}
		return x;
	}

	static long reals(long x) {
		double y = x;
		for (int i = 0; i < reals.length; i++)
			y = y * 0.5 + reals[i];
		return (long) y;
	}

	/* This has no loop of its own; its caller repeats it. */
	static long step(long x) {
		x ^= x >>> 33;
		x *= 0xff51afd7ed558ccdL;
		x ^= x >>> 33;
		x *= 0xc4ceb9fe1a85ec53L;
		return x ^ x >>> 33;
	}

	static long other(long x) {
		x = (x ^ 61) ^ x >>> 16;
		x += x << 3;
		x ^= x >>> 4;
		x *= 0x27d4eb2dL;
		return x ^ x >>> 15;
	}

	static long steps(long x) {
		for (int i = 0; i < 100; i++)
			x = other(step(x + i));
		return x;
	}

	static long round(long x) {
		return chain(x) + vector(x) + pointers(x) + reals(x) + steps(x);
	}

	public static void main(String[] args) {
		long end = cpu.getCurrentThreadCpuTime() + Long.parseLong(args[0]) * 1000000, x = 1;
		while (cpu.getCurrentThreadCpuTime() < end)
			for (int i = 0; i < 100; i++)
				x = round(x) | 1;
		if (x == 0)
			throw new AssertionError();
	}
}
