// SPDX-License-Identifier: Apache-2.0
// Virtual SECONDS: virtual threads that compute, allocate and pass each other messages.
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;

public class Virtual {
    static long digest(byte[] data) {
        long sum = 7;
        for (int round = 0; round < 8; round++)
            for (byte b : data)
                sum = sum * 31 + b;
        return sum;
    }

    static void produce(ArrayBlockingQueue<byte[]> queue, long end) throws InterruptedException {
        for (int i = 0; System.nanoTime() < end; i++) {
            byte[] data = new byte[2000 + i % 1000];
            data[i % 2000] = (byte) i;
            queue.put(data);
        }
        queue.put(new byte[0]);
    }

    static long consume(ArrayBlockingQueue<byte[]> queue) throws InterruptedException {
        long sum = 0;
        for (byte[] data = queue.take(); data.length > 0; data = queue.take())
            sum += digest(data) + List.of(data.length, 3).hashCode();
        return sum;
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            ArrayBlockingQueue<byte[]> queue = new ArrayBlockingQueue<>(4);
            threads.add(Thread.ofVirtual().start(() -> {
                try {
                    produce(queue, end);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }));
            threads.add(Thread.ofVirtual().start(() -> {
                try {
                    consume(queue);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }));
        }
        for (Thread t : threads)
            t.join();
    }
}
