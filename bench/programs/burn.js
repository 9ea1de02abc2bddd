// SPDX-License-Identifier: Apache-2.0
// Recurses, and works at the innermost level, until killed.
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
