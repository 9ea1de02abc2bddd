// SPDX-License-Identifier: Apache-2.0
// workers.js SECONDS: two worker threads that parse, sort and match.
"use strict";
const { Worker, isMainThread, workerData } = require("worker_threads");

function parse(n) {
	return JSON.parse(JSON.stringify(Array.from({ length: n }, (_, i) => ({ id: i, name: `item ${i}` }))));
}
function sort(rows) {
	return rows.sort((a, b) => (a.name < b.name ? -1 : 1));
}
function match(rows) {
	return rows.filter((r) => /m (\d+)7$/.test(r.name)).length;
}
function work(seconds) {
	const end = Date.now() + seconds * 1000;
	let n = 0;
	while (Date.now() < end) n += match(sort(parse(2000)));
	return n;
}
if (isMainThread) for (let i = 0; i < 2; i++) new Worker(__filename, { workerData: Number(process.argv[2]) });
else work(workerData);
