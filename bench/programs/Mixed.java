// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/** Runs beginning(), which repeats the same kinds of work until killed; each kind of work is a function do_NAME. */
public class Mixed {
	static final Pattern NUMBER = Pattern.compile("[0-9]+");
	static long sum;

	static class Shape {
		final int n;

		Shape(int n) {
			this.n = n;
		}

		int do_method(Shape other) {
			return (n * 31 + other.n) % 1009;
		}
	}

	static int do_compare(Integer a, Integer b) {
		return a % 97 - b % 97;
	}

	static int do_sort() {
		List<Integer> all = new ArrayList<>();
		for (int n = 0; n < 400; n++)
			all.add(n);
		all.sort(Mixed::do_compare);
		return all.get(7);
	}

	static int do_text() {
		StringBuilder text = new StringBuilder();
		for (int n = 0; n < 400; n++)
			text.append(n).append(' ');
		return NUMBER.matcher(text).replaceAll("x").length();
	}

	static int do_objects() {
		Shape[] shapes = IntStream.range(0, 100).mapToObj(Shape::new).toArray(Shape[]::new);
		int x = 0;
		for (Shape a : shapes)
			for (int k = 0; k < 10; k++)
				x += a.do_method(shapes[k]);
		return x;
	}

	static int do_numbers() {
		int x = 0;
		for (int n = 0; n < 5000; n++)
			x = (x * 31 + n) & 0xffff;
		return x;
	}

	static int do_stream() {
		return IntStream.range(0, 500).filter(n -> n % 3 == 0).map(n -> n * n).sum();
	}

	static int do_map() {
		Map<String, Integer> all = new HashMap<>();
		for (int n = 0; n < 300; n++)
			all.merge("k" + n % 50, n, Integer::sum);
		return all.size();
	}

	static int do_deep(int n) {
		return n > 0 ? do_deep(n - 1) + 1 : do_numbers();
	}

	static void beginning() {
		for (;;) {
			sum += do_sort() + do_text() + do_objects() + do_numbers() + do_stream() + do_map();
			sum += do_deep(50);
		}
	}

	public static void main(String[] args) {
		beginning();
	}
}
