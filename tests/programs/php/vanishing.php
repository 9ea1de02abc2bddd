<?php
// SPDX-License-Identifier: Apache-2.0
// vanishing.php MS: compiles functions, runs them once and drops them, for that many ms of CPU; then
// the process is gone at once. Functions with names stay, so these are closures.
function cpu() {
	$u = getrusage();
	return $u["ru_utime.tv_sec"] + $u["ru_utime.tv_usec"] / 1e6;
}

$end = cpu() + $argv[1] / 1000;
while (cpu() < $end) {
	eval('$inner = function ($n) { for ($s = "", $k = 0; $k < $n; $k++) $s .= "<li>" . $k * $k; return $s; };
	      $outer = function ($n) use ($inner) { return "<ul>" . $inner($n) . "</ul>"; };');
	$outer(5000);
}
posix_kill(getmypid(), 9);
