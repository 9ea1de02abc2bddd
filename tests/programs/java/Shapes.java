// SPDX-License-Identifier: Apache-2.0
// Shapes SHAPE[,SHAPE...] MS: known stacks, one after the other, each for MS of CPU time of the thread. Compiled for Java 8, so that every HotSpot runs it.
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.function.IntUnaryOperator;

public class Shapes {
	static final ThreadMXBean cpu = ManagementFactory.getThreadMXBean();
	static volatile int sink;

	interface Shape {
		int area(int x);
	}

	static class Square implements Shape {
		public int area(int x) {
			return hot(x);
		}
	}

	static class Circle implements Shape {
		public int area(int x) {
			return hot(x + 1);
		}
	}

	static class Line implements Shape {
		public int area(int x) {
			return hot(x + 2);
		}
	}

	/* It is long and has a loop of its own, so that most samples are in it. */
	static int hot(int x) {
		int h = x;
		for (int i = 0; i < 20000; i++)
			h = h * 31 + (h >>> 7) + sink;
		return h;
	}

	static int chainC(int x) {
		return hot(x) + 1;
	}

	static int chainB(int x) {
		return chainC(x) + 1;
	}

	static int chainA(int x) {
		return chainB(x) + 1;
	}

	static int deep(int n, int x) {
		return n == 0 ? hot(x) : deep(n - 1, x + 1) + 1;
	}

	static int many(Shape[] shapes, int x) {
		int sum = 0;
		for (Shape s : shapes)
			sum += s.area(x);
		return sum;
	}

	static int lambda(IntUnaryOperator f, int x) {
		return f.applyAsInt(x);
	}

	public static int reflected(int x) {
		return hot(x);
	}

	static int sorted(int x) {
		Integer[] a = { 5, 3, 8, 1 };
		Arrays.sort(a, (p, q) -> {
			sink = hot(p + x);
			return p - q;
		});
		return a[0];
	}

	static long copied(byte[] from, byte[] to) {
		for (int i = 0; i < 50; i++)
			System.arraycopy(from, 0, to, i, from.length - i);
		return to[1];
	}

	interface Named {
	}

	interface Sized {
	}

	/* The last interface is not in the cache that a class has for recent casts. */
	static class Both implements Named, Sized {
	}

	static int hotCasts(Object o) {
		int n = 0;
		for (int i = 0; i < 2000; i++)
			n += (o instanceof Named ? 1 : 0) + (o instanceof Sized ? 1 : 0);
		return n;
	}

	static int castB(Object o) {
		return hotCasts(o) + 1;
	}

	static int castA(Object o) {
		return castB(o) + 1;
	}

	static int thrown(int x) {
		try {
			throwing(x);
		} catch (IllegalStateException e) {
			return e.hashCode();
		}
		return 0;
	}

	/* In compiled code, throwing takes as long as a few calls of hot(). */
	static void throwing(int x) {
		for (int i = 0; i < 30; i++)
			sink = hot(x + i);
		throw new IllegalStateException();
	}

	static synchronized int locked(int x) {
		return hot(x);
	}

	static void once(String shape, int x) throws Exception {
		switch (shape) {
		case "chain":
		case "threads":
			sink += chainA(x);
			break;
		case "deep":
			sink += deep(900, x);
			break;
		case "virtual":
			sink += many(SHAPES, x);
			break;
		case "lambda":
			sink += lambda(y -> hot(y) + 1, x);
			break;
		case "reflection":
			sink += (Integer) REFLECTED.invoke(null, x);
			break;
		case "callback":
			sink += sorted(x);
			break;
		case "copy":
			sink += copied(FROM, TO);
			break;
		case "casts":
			sink += castA(BOTH);
			break;
		case "exception":
			sink += thrown(x);
			break;
		case "locked":
			sink += locked(x);
			break;
		default:
			throw new IllegalArgumentException(shape);
		}
	}

	static final Shape[] SHAPES = { new Square(), new Circle(), new Line() };
	static final Object BOTH = new Both();
	static final byte[] FROM = new byte[1 << 16], TO = new byte[1 << 16];
	static final Method REFLECTED;

	static {
		try {
			REFLECTED = Shapes.class.getMethod("reflected", int.class);
		} catch (NoSuchMethodException e) {
			throw new AssertionError(e);
		}
	}

	static void repeat(String shape, long ms) {
		long end = cpu.getCurrentThreadCpuTime() + ms * 1000000;
		try {
			for (int x = 0; cpu.getCurrentThreadCpuTime() < end; x++)
				once(shape, x);
		} catch (Exception e) {
			throw new AssertionError(e);
		}
	}

	/* In between it is unmounted, so that its outer frames are in the heap from then on. */
	static int rounds(int n, int x) throws Exception {
		if (n > 0)
			return rounds(n - 1, x) + 1;
		int sum = hot(x);
		Thread.sleep(1);
		for (int i = 0; i < 50; i++)
			sum += hot(x + i);
		return sum;
	}

	static int deeper(int n) throws Exception {
		if (n > 0)
			return deeper(n - 1) + 1;
		Thread.sleep(1);
		return 1;
	}

	/* Unmounted once more, with more frames than fit where the outer ones are: what is there is used up. */
	static int twice(int x) throws Exception {
		Thread.sleep(1);
		int sum = deeper(40);
		for (int i = 0; i < 50; i++)
			sum += hot(x + i);
		return sum;
	}

	/* The CPU time of a virtual thread is not available, only that of the process. */
	static void inVirtualThread(long ms) {
		OperatingSystemMXBean process =
			(OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
		long end = process.getProcessCpuTime() + ms * 1000000;
		try {
			for (int x = 0; process.getProcessCpuTime() < end; x++)
				sink += rounds(8, x) + twice(x);
		} catch (Exception e) {
			throw new AssertionError(e);
		}
	}

	static void inThreads(String shape, long ms) throws Exception {
		Thread[] workers = new Thread[3];
		for (int i = 0; i < workers.length; i++) {
			workers[i] = new Thread(() -> repeat(shape, ms), "worker-" + i);
			workers[i].start();
		}
		for (Thread t : workers)
			t.join();
	}

	static void unmounted(long ms) throws Exception {
		Runnable r = () -> inVirtualThread(ms);
		((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, r)).join();
	}

	public static void main(String[] args) throws Exception {
		long ms = Long.parseLong(args[1]);
		for (String shape : args[0].split(",")) {
			if (shape.equals("threads"))
				inThreads(shape, ms / 3);
			else if (shape.equals("unmounted"))
				unmounted(ms);
			else
				repeat(shape, ms);
		}
	}
}
