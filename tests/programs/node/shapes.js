// SPDX-License-Identifier: Apache-2.0
// Known stacks of Node 12 and later: shapes.js SHAPE MILLISECONDS (of CPU time).
// The lines that end in `// at NAME` are those that a profile must show.
'use strict';
const fs = require('fs');
const vm = require('vm');
const workers = require('worker_threads');

function hot(n = 20000) {
  let x = 0;
  for (let i = 0; i < n; i++) {
    x = (x * 31 + i * i) % 1000003; // at hot
  }
  return x;
}

class Mixed {
  mixed() {
    return hot(); // at mixed
  }
}

class Thing extends Mixed {
  act() {
    return this.mixed(); // at act
  }

  static made() {
    return new Thing().act(); // at made
  }
}

function chain() {
  return [3, 1, 2].sort((a, b) => Thing.made() && a - b); // at chain
}

function down(n) {
  return n > 0 ? down(n - 1) : hot(100000);
}

function recursion() {
  return down(500);
}

function arrays() {
  return [1, 2].map(function mapped() {
    return [3].forEach(function each() {
      hot();
    });
  });
}

// C++ calls back
function natives() {
  return JSON.stringify({ toJSON() { return 'x'.replace(/x/, function replaced() {
    return hot();
  }); } });
}

function accessed() {
  const proxy = new Proxy({}, { get: function trapped() { return hot(); } });
  return Reflect.apply(function applied() { return proxy.x; }, null, []);
}

function constructed() {
  function Maker() {
    this.x = hot();
  }
  return new Maker();
}

function* generated() {
  yield hot();
  yield hot();
}

function generators() {
  for (const x of generated()) if (x < 0) throw x;
}

function thrower() {
  throw new Error('x');
}

function failing() {
  try {
    thrower();
  } catch (e) {
    hot();
  }
}

const context = vm.createContext({ hot });
const inContext = vm.runInContext('(function elsewhere() { return hot(); })', context,
  { filename: 'elsewhere.js' });

function contexts() {
  return inContext();
}

// inlined wherever they are called
function medium(x) {
  return hot(10) + x;
}

function inlined() {
  let x = 0;
  for (let i = 0; i < 2000; i++) x = medium(x) % 7;
  return x;
}

function searched() {
  return /(a+)+b/.test('aaaaaaaaaaaaaaaaaaa');
}

// (func (export "run") (param i32) (loop (br_if 0 (local.tee 0 (i32.sub (local.get 0) 1)))))
const wasm = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 1, 127, 0, 3, 2, 1, 0, 7, 7, 1, 3, 114, 117, 110, 0, 0,
  10, 16, 1, 14, 0, 3, 64, 32, 0, 65, 1, 107, 34, 0, 13, 0, 11, 11]))).exports;

function assembled() {
  return wasm.run(100000);
}

async function later() {
  await null;
  hot();
}

async function awaited() {
  await later();
}

function used() {
  const u = process.cpuUsage();
  return (u.user + u.system) / 1000;
}

function spin(until) {
  while (used() < until) hot();
}

function workerOne(until) {
  spin(until);
}

function workerTwo(until) {
  spin(until);
}

const shapes = { chain, recursion, arrays, natives, accessed, constructed, generators, failing,
  contexts, inlined, searched, assembled };

function repeat(shape, until) {
  while (used() < until) shapes[shape]();
}

async function repeatLater(until) {
  while (used() < until) await awaited();
}

if (!workers.isMainThread) {
  const { which, until } = workers.workerData;
  (which ? workerTwo : workerOne)(until);
} else {
  const [shape, ms] = process.argv.slice(2);
  const until = used() + Number(ms) * (shape === 'threads' ? 2 : 1);
  fs.writeFileSync('/proc/self/comm', shape);
  if (shape === 'threads') {
    for (const which of [0, 1]) new workers.Worker(__filename, { workerData: { which, until } });
  } else if (shape === 'async') {
    repeatLater(until);
  } else {
    repeat(shape, until);
  }
}
