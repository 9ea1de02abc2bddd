// SPDX-License-Identifier: Apache-2.0
// Functions of every kind, each with a large share of the time: names.js [MS of CPU time].
'use strict';

function spin(n) {
  let x = 0;
  for (let i = 0; i < n; i++) x = (x * 31 + i) % 1000003;
  return x;
}

const pattern = /}[/{]}/; // no brace of the program's
const text = `${'`'} class Quoted { method( `;

class Shape {
  #scale = 2;

  area(n) { return this.scaled(n); }
  scaled(n) { return spin(n) * this.#scale; }
  static unit(n) { return spin(n); }
  get size() { return spin(N); }
  *corners(n) { yield spin(n); }
  async later(n) { await null; return spin(n); }
}

const Anonymous = class extends Shape {
  area(n) { return spin(n / 2) + super.area(n / 2); }
};

function Old() {}
Old.prototype.method = function (n) { return spin(n); };

const object = {
  short(n) { return spin(n); },
  long: function (n) { return spin(n); },
  nested: { arrow: (n) => spin(n) },
};

const N = 300000;
const evaluated = eval('(function evaluated(n) { return spin(n); })');
const callbacks = (n) => [n].map((x) => spin(x))[0];

// two functions: a loop, and what calls it, which is exported as run and has the name assembled
const wasm = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 1, 127, 0, 3, 3, 2, 0, 0, 7, 7, 1, 3, 114, 117, 110, 0,
  1, 10, 23, 2, 14, 0, 3, 64, 32, 0, 65, 1, 107, 34, 0, 13, 0, 11, 11, 6, 0, 32, 0, 16, 0, 11, 0, 19,
  4, 110, 97, 109, 101, 1, 12, 1, 1, 9, 97, 115, 115, 101, 109, 98, 108, 101, 100]))).exports;

async function all() {
  const shape = new Shape(), old = new Old();

  shape.area(N);
  Shape.unit(N);
  shape.size;
  for (const x of shape.corners(N));
  await shape.later(N);
  new Anonymous().area(N);
  old.method(N);
  object.short(N);
  object.long(N);
  object.nested.arrow(N);
  evaluated(N);
  callbacks(N);
  wasm.run(10 * N);
}

async function main(ms) {
  while (process.cpuUsage().user < ms * 1000) await all();
}

pattern.test(text);
main(+process.argv[2] || 1000);
