// SPDX-License-Identifier: Apache-2.0
// Runs a mixed load: mixed.js MILLISECONDS (of CPU time).
'use strict';
const crypto = require('crypto');
const zlib = require('zlib');

function words(n) {
  const out = [];
  let x = 12345;
  for (let i = 0; i < n; i++) {
    x = (x * 1103515245 + 12345) & 0x7fffffff;
    out.push('w' + x.toString(36));
  }
  return out;
}

function counted(list) {
  const map = new Map();
  for (const w of list) map.set(w, (map.get(w) || 0) + 1);
  return map.size;
}

function sorted(list) {
  return list.slice().sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))[0];
}

function parsed(list) {
  return JSON.parse(JSON.stringify({ list, at: Date.now() })).list.length;
}

function matched(list) {
  return list.filter((w) => /^w[a-f]+(\d+)([g-z]*)/.test(w)).map((w) => w.replace(/\d/g, '#')).join('').length;
}

class Matrix {
  constructor(n) {
    this.n = n;
    this.a = new Float64Array(n * n).map((_, i) => i % 7);
  }

  at(i, j) {
    return this.a[i * this.n + j];
  }

  times(other) {
    const out = new Matrix(this.n);
    for (let i = 0; i < this.n; i++) {
      for (let j = 0; j < this.n; j++) {
        let s = 0;
        for (let k = 0; k < this.n; k++) s += this.at(i, k) * other.at(k, j);
        out.a[i * this.n + j] = s % 1000;
      }
    }
    return out;
  }
}

class Node {
  constructor(depth) {
    this.left = depth ? new Node(depth - 1) : null;
    this.right = depth ? new Node(depth - 1) : null;
  }

  count() {
    return 1 + (this.left ? this.left.count() + this.right.count() : 0);
  }
}

function fibonacci(n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

function* numbers(n) {
  for (let i = 0; i < n; i++) yield i * i;
}

function summed(n) {
  let s = 0;
  for (const x of numbers(n)) s += x % 3;
  return s;
}

function digested(text) {
  return crypto.createHash('sha256').update(text).digest('hex');
}

function deflated(text) {
  return zlib.deflateSync(text).length;
}

function big(n) {
  let x = 1n;
  for (let i = 1n; i < n; i++) x *= i;
  return x.toString().length;
}

function caught(n) {
  let k = 0;
  for (let i = 0; i < n; i++) {
    try {
      if (i % 2) throw new Error('odd');
    } catch (e) {
      k += e.message.length;
    }
  }
  return k;
}

async function slowly(n) {
  let s = 0;
  for (let i = 0; i < n; i++) s += await i;
  return s;
}

const list = words(3000);
const text = list.join(' ');
const matrix = new Matrix(60);

async function round() {
  counted(list);
  sorted(list);
  parsed(list);
  matched(list);
  matrix.times(matrix);
  new Node(12).count();
  fibonacci(20);
  summed(20000);
  digested(text);
  deflated(text);
  big(300n);
  caught(300);
  await slowly(2000);
}

async function main(ms) {
  const used = () => { const u = process.cpuUsage(); return (u.user + u.system) / 1000; };
  const until = used() + ms;
  while (used() < until) await round();
}

main(Number(process.argv[2]));
