// SPDX-License-Identifier: Apache-2.0
// Unloads MS: loads and unloads classes for MS of CPU time of the thread. Each of four drivers loads a
// class with its own letter in its name and in its method's, by a loader of its own, runs it for a
// while and releases it; the next class has the same size and gets the same memory. Fails if no
// class was unloaded.
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

public class Unloads {
	static final ThreadMXBean cpu = ManagementFactory.getThreadMXBean();
	static final String LETTERS = "ABCD";
	static volatile int sink;

	public interface Body {
		int run(int x);
	}

	public static class Bodyx implements Body {
		public int run(int x) {
			return spinx(x) + turnx(x);
		}

		static int spinx(int x) {
			int h = x;
			for (int i = 0; i < 300; i++)
				h = h * 31 + (h >>> 7);
			return h;
		}

		static int turnx(int x) {
			int h = x;
			for (int i = 0; i < 300; i++)
				h = h * 33 ^ (h >>> 5);
			return h;
		}
	}

	static class Loader extends ClassLoader {
		Body load(byte[] code) throws Exception {
			return (Body) defineClass(null, code, 0, code.length).getDeclaredConstructor().newInstance();
		}
	}

	static byte[] read(String name) throws Exception {
		ByteArrayOutputStream out = new ByteArrayOutputStream();
		try (InputStream in = Unloads.class.getResourceAsStream(name)) {
			for (int b = in.read(); b >= 0; b = in.read())
				out.write(b);
		}
		return out.toByteArray();
	}

	/* Renames Body, spin and turn by another letter. */
	static byte[] lettered(byte[] code, char letter) {
		byte[] out = code.clone();
		for (int i = 0; i + 4 < code.length; i++) {
			String four = new String(code, i, 4, java.nio.charset.StandardCharsets.ISO_8859_1);
			if (code[i + 4] == 'x' && (four.equals("Body") || four.equals("spin") || four.equals("turn")))
				out[i + 4] = (byte) letter;
		}
		return out;
	}

	static int turns(Body b, long ms) {
		long end = cpu.getCurrentThreadCpuTime() + ms * 1000000;
		int sum = 0;
		while (cpu.getCurrentThreadCpuTime() < end)
			for (int i = 0; i < 20; i++)
				sum += b.run(i);
		return sum;
	}

	static int driveA(Body b, long ms) {
		return turns(b, ms) + 1;
	}

	static int driveB(Body b, long ms) {
		return turns(b, ms) + 2;
	}

	static int driveC(Body b, long ms) {
		return turns(b, ms) + 3;
	}

	static int driveD(Body b, long ms) {
		return turns(b, ms) + 4;
	}

	/* One in four stays long enough to be compiled well. */
	static int round(byte[] code, int i) throws Exception {
		Body b = new Loader().load(lettered(code, LETTERS.charAt(i % 4)));
		long ms = i / 4 % 4 == 3 ? 30 : 4;
		switch (i % 4) {
		case 0:
			return driveA(b, ms);
		case 1:
			return driveB(b, ms);
		case 2:
			return driveC(b, ms);
		default:
			return driveD(b, ms);
		}
	}

	public static void main(String[] args) throws Exception {
		byte[] code = read("Unloads$Bodyx.class");
		long end = cpu.getCurrentThreadCpuTime() + Long.parseLong(args[0]) * 1000000;
		for (int i = 0; cpu.getCurrentThreadCpuTime() < end; i++) {
			sink += round(code, i);
			System.gc();
		}
		if (ManagementFactory.getClassLoadingMXBean().getUnloadedClassCount() == 0)
			throw new AssertionError("nothing was unloaded");
	}
}
