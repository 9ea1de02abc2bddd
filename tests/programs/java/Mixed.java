// SPDX-License-Identifier: Apache-2.0
// Mixed MS: typical work of servers, in a few threads, each for MS of CPU time; prints the CPU time
// of each kind of work in microseconds.
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

public class Mixed {
	static final ThreadMXBean cpu = ManagementFactory.getThreadMXBean();
	static volatile long sink;

	interface Work {
		long run(Random random) throws Exception;
	}

	static long sort(Random random) {
		Integer[] a = new Integer[2000];
		for (int i = 0; i < a.length; i++)
			a[i] = random.nextInt();
		Arrays.sort(a, (x, y) -> Integer.compare(y, x));
		return a[0];
	}

	static long regex(Random random) {
		StringBuilder text = new StringBuilder();
		for (int i = 0; i < 200; i++)
			text.append("user").append(random.nextInt(1000)).append("@example.org, ");
		Matcher m = Pattern.compile("(\\w+)@(\\w+)\\.(org|com)").matcher(text);
		long n = 0;
		while (m.find())
			n += m.group(1).length();
		return n;
	}

	static long streams(Random random) {
		Map<Integer, List<String>> groups = IntStream.range(0, 2000)
			.mapToObj(i -> "item" + random.nextInt(500))
			.filter(s -> !s.endsWith("7"))
			.collect(Collectors.groupingBy(String::length));
		return groups.values().stream().mapToLong(List::size).sum();
	}

	static long strings(Random random) {
		StringBuilder b = new StringBuilder();
		for (int i = 0; i < 3000; i++)
			b.append(i).append(',').append(random.nextDouble() > 0.5 ? "yes" : "no");
		return b.toString().toUpperCase().replace("YES", "Y").split(",").length;
	}

	static final ConcurrentHashMap<String, Long> shared = new ConcurrentHashMap<>();

	static long maps(Random random) {
		Map<Long, Long> own = new HashMap<>();
		for (int i = 0; i < 2000; i++) {
			own.merge((long) random.nextInt(300), 1L, Long::sum);
			shared.merge("k" + random.nextInt(300), 1L, Long::sum);
		}
		return own.size();
	}

	static long digest(Random random) throws Exception {
		byte[] data = new byte[1 << 14];
		random.nextBytes(data);
		byte[] d = MessageDigest.getInstance("SHA-256").digest(data);
		CRC32 crc = new CRC32();
		crc.update(data);
		return d[0] + crc.getValue();
	}

	static long deflate(Random random) {
		byte[] data = strings2(random).getBytes(StandardCharsets.UTF_8), out = new byte[1 << 16];
		Deflater d = new Deflater();
		d.setInput(data);
		d.finish();
		int n = d.deflate(out);
		d.end();
		return n;
	}

	static String strings2(Random random) {
		StringBuilder b = new StringBuilder();
		for (int i = 0; i < 2000; i++)
			b.append((char) ('a' + random.nextInt(26)));
		return b.toString();
	}

	static long numbers(Random random) {
		BigInteger n = BigInteger.ONE;
		for (int i = 0; i < 300; i++)
			n = n.multiply(BigInteger.valueOf(random.nextInt() | 1));
		return n.bitLength() + n.mod(BigInteger.valueOf(1000003)).longValue();
	}

	static class Fib extends RecursiveTask<Long> {
		final int n;

		Fib(int n) {
			this.n = n;
		}

		@Override
		protected Long compute() {
			if (n < 12)
				return plain(n);
			Fib f = new Fib(n - 1);
			f.fork();
			return new Fib(n - 2).compute() + f.join();
		}

		static long plain(int n) {
			return n < 2 ? n : plain(n - 1) + plain(n - 2);
		}
	}

	static long forkJoin(Random random) {
		return ForkJoinPool.commonPool().invoke(new Fib(22));
	}

	static long exceptions(Random random) {
		long n = 0;
		for (int i = 0; i < 200; i++) {
			try {
				n += Integer.parseInt(random.nextBoolean() ? "12" : "x");
			} catch (NumberFormatException e) {
				n += e.getMessage().length();
			}
		}
		return n;
	}

	static long garbage(Random random) {
		List<byte[]> kept = new ArrayList<>();
		for (int i = 0; i < 500; i++) {
			byte[] b = new byte[1 << 10];
			b[0] = (byte) i;
			if (i % 10 == 0)
				kept.add(b);
		}
		return kept.size();
	}

	static final Work[] WORK = { Mixed::sort, Mixed::regex, Mixed::streams, Mixed::strings, Mixed::maps,
		Mixed::digest, Mixed::deflate, Mixed::numbers, Mixed::forkJoin, Mixed::exceptions,
		Mixed::garbage };
	static final String[] NAMES = { "sort", "regex", "streams", "strings", "maps", "digest", "deflate",
		"numbers", "forkJoin", "exceptions", "garbage" };
	static final AtomicLongArray spent = new AtomicLongArray(WORK.length);

	static void worker(long ms, int seed) {
		Random random = new Random(seed);
		long at = cpu.getCurrentThreadCpuTime(), end = at + ms * 1000000;
		try {
			while (at < end) {
				int i = random.nextInt(WORK.length);
				sink += WORK[i].run(random);
				long now = cpu.getCurrentThreadCpuTime();
				spent.addAndGet(i, now - at);
				at = now;
			}
		} catch (Exception e) {
			throw new AssertionError(e);
		}
	}

	public static void main(String[] args) throws Exception {
		long ms = Long.parseLong(args[0]);
		Thread[] workers = new Thread[3];
		for (int i = 0; i < workers.length; i++) {
			int seed = i;
			workers[i] = new Thread(() -> worker(ms, seed), "worker-" + i);
			workers[i].start();
		}
		for (Thread t : workers)
			t.join();
		for (int i = 0; i < NAMES.length; i++)
			System.out.println(NAMES[i] + " " + spent.get(i) / 1000);
	}
}
