// SPDX-License-Identifier: Apache-2.0
// Waits N: sleeps and waits for a monitor N times, and prints "NAME OFF WALL" as waits.c does.
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CyclicBarrier;

public class Waits {
	static final int PAUSE_MS = 8;
	static final ThreadMXBean cpu = ManagementFactory.getThreadMXBean();
	static final Object monitor = new Object();
	static final CyclicBarrier held = new CyclicBarrier(2), released = new CyclicBarrier(2);
	static volatile int sink;

	static long off() {
		return System.nanoTime() - cpu.getCurrentThreadCpuTime();
	}

	static void javaSleep() throws Exception {
		Thread.sleep(PAUSE_MS);
	}

	static void javaLock() {
		synchronized (monitor) {
			sink++;
		}
	}

	static void holder(int turns) throws Exception {
		for (int i = 0; i < turns; i++) {
			synchronized (monitor) {
				held.await();
				Thread.sleep(PAUSE_MS);
			}
			released.await();
		}
	}

	static void sleeper(int turns) throws Exception {
		long began = System.nanoTime(), total = 0;
		for (int i = 0; i < turns; i++) {
			long at = off();
			javaSleep();
			total += off() - at;
		}
		System.out.println("Waits.javaSleep " + total + " " + (System.nanoTime() - began));
	}

	static void locker(int turns) throws Exception {
		long began = System.nanoTime(), total = 0;
		for (int i = 0; i < turns; i++) {
			held.await();
			long at = off();
			javaLock();
			total += off() - at;
			released.await();
		}
		System.out.println("Waits.javaLock " + total + " " + (System.nanoTime() - began));
	}

	interface Body {
		void run(int turns) throws Exception;
	}

	static Thread start(final Body body, final int turns) {
		Thread t = new Thread(new Runnable() {
			public void run() {
				try {
					body.run(turns);
				} catch (Exception e) {
					throw new RuntimeException(e);
				}
			}
		});
		t.start();
		return t;
	}

	public static void main(String[] args) throws Exception {
		int turns = Integer.parseInt(args[0]);
		Thread[] all = { start(Waits::holder, turns), start(Waits::locker, turns),
				 start(Waits::sleeper, turns) };
		for (Thread t : all)
			t.join();
	}
}
