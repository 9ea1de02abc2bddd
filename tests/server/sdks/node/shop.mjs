// SPDX-License-Identifier: Apache-2.0
// Profiles itself with Pyroscope's SDK: shop.mjs SERVER. See sdks.py for what it does and prints.
import Pyroscope from "@pyroscope/nodejs";

const kept = [];
const uploads = [];
const send = globalThis.fetch;

// The SDK drops a profile that is due while it uploads, so the program waits for its uploads.
globalThis.fetch = (...args) => {
	const upload = send(...args);
	uploads.push(upload.catch(() => {}));
	return upload;
};

// CPU time of this thread in microseconds; of the process where Node.js has no other.
function cpu() {
	const used = (process.threadCpuUsage ?? process.cpuUsage)();
	return used.user + used.system;
}

function spin(us) {
	const begun = cpu();
	let x = 1;
	while (cpu() - begun < us)
		for (let i = 0; i < 100000; i++)
			x = (x * 31 + i) | 0;
	return [cpu() - begun, x];
}

function pay() {
	return spin(30000)[0] * 1000;
}

function cart() {
	return spin(10000)[0] * 1000;
}

function allocate() {
	for (let i = 0; i < 2000; i++)
		kept.push(new Array(4096).fill(i));
}

Pyroscope.init({
	appName: "shop", serverAddress: process.argv[2], tags: { env: "test" }, flushIntervalMs: 1000,
	wall: { collectCpuTime: true, samplingDurationMs: 1000 }, heap: { samplingIntervalBytes: 32768 },
});
Pyroscope.start();
const done = { pay: 0, cart: 0 };
allocate();
for (let i = 0; i < 40; i++) {
	done.pay += pay();
	done.cart += cart();
	await new Promise(setImmediate); // the SDK takes its profiles here
	await Promise.all(uploads);
}
// An upload that is due when the SDK stops would fail.
await new Promise((resume) => setTimeout(resume, 20));
await Pyroscope.stop();
console.log(JSON.stringify(done));
