// SPDX-License-Identifier: Apache-2.0
// A recursion, and work at its end, for ever.
function work() {
	const numbers = [];

	for (let n = 0; n < 500; n++)
		numbers.push({ n, s: String(n) });
	return JSON.stringify(numbers).length;
}

function descend(n) {
	return n ? descend(n - 1) : work();
}

for (;;)
	descend(20);
