// SPDX-License-Identifier: Apache-2.0
// One line with two calls, whose columns V8 reports as well: columns.js MILLISECONDS (of CPU time).
'use strict';
let toTell = 2;

function leaf(n) {
  let x = 0;
  for (let i = 0; i < n; i++) x = (x * 31 + i) % 1009;
  if (toTell-- > 0) console.log(new Error().stack);
  return x;
}

function called(n) {
  const first = leaf(n), second = 1 + leaf(n); return first + second;
}

while (process.cpuUsage().user < process.argv[2] * 1000) called(1e6);
