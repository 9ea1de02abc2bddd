// SPDX-License-Identifier: Apache-2.0
// Runs beginning(), which repeats the same kinds of work until killed; each kind of work is a function do_NAME.
class Shape {
	constructor(n) {
		this.n = n;
	}

	do_method(other) {
		return (this.n * 31 + other.n) % 1009;
	}
}

function do_compare(a, b) {
	return a % 97 - b % 97;
}

function do_sort() {
	return Array.from({ length: 400 }, (_, n) => n).sort(do_compare);
}

function do_text() {
	return Array.from({ length: 400 }, (_, n) => n).join(" ").replace(/[0-9]+/g, s => String(Number(s) + 1)).length;
}

function do_objects() {
	const shapes = Array.from({ length: 100 }, (_, n) => new Shape(n));
	let sum = 0;

	for (const a of shapes)
		for (const b of shapes.slice(0, 10))
			sum += a.do_method(b);
	return sum;
}

function do_numbers() {
	let x = 0;

	for (let n = 0; n < 5000; n++)
		x = (x * 31 + n) & 0xffff;
	return x;
}

function* do_yield() {
	for (let n = 0; n < 500; n++)
		yield n * n;
}

function do_generator() {
	let sum = 0;

	for (const n of do_yield())
		sum += n;
	return sum;
}

function do_json() {
	const all = Array.from({ length: 100 }, (_, n) => ({ n, s: String(n) }));

	return JSON.stringify(JSON.parse(JSON.stringify(all))).length;
}

function do_deep(n) {
	return n ? do_deep(n - 1) + 1 : do_numbers();
}

function beginning() {
	for (;;) {
		for (const work of [do_sort, do_text, do_objects, do_numbers, do_generator, do_json])
			work();
		do_deep(50);
	}
}

beginning();
