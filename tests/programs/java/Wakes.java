// SPDX-License-Identifier: Apache-2.0
// Wakes N: waits N times in waitQueue and waitMonitor, which the main thread ends in wakeQueue and
// wakeMonitor.
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;

public class Wakes {
	static final int PAUSE_MS = 6;
	static final LinkedBlockingQueue<Integer> items = new LinkedBlockingQueue<>();
	static final Semaphore back = new Semaphore(0);
	static final Object monitor = new Object();
	static int given;

	static void waitQueue(int i) throws Exception {
		items.take();
	}

	static void wakeQueue(int i) {
		items.add(i);
	}

	static void waitMonitor(int i) throws Exception {
		synchronized (monitor) {
			while (given <= i)
				monitor.wait();
		}
	}

	static void wakeMonitor(int i) {
		synchronized (monitor) {
			given = i + 1;
			monitor.notify();
		}
	}

	interface Turn {
		void run(int i) throws Exception;
	}

	static void both(int turns, Turn wait, Turn wake) throws Exception {
		Thread waiter = new Thread(() -> {
			try {
				for (int i = 0; i < turns; i++) {
					wait.run(i);
					back.release();
				}
			} catch (Exception e) {
				throw new RuntimeException(e);
			}
		});

		waiter.start();
		for (int i = 0; i < turns; i++) {
			Thread.sleep(PAUSE_MS);
			wake.run(i);
			back.acquire();
		}
		waiter.join();
	}

	public static void main(String[] args) throws Exception {
		int turns = Integer.parseInt(args[0]);

		both(turns, Wakes::waitQueue, Wakes::wakeQueue);
		both(turns, Wakes::waitMonitor, Wakes::wakeMonitor);
	}
}
