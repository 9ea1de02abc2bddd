<?php
// SPDX-License-Identifier: Apache-2.0
// A request that takes MS of CPU time, in function hot().
function cpu_ms()
{
	$r = getrusage();
	return $r["ru_utime.tv_sec"] * 1000 + $r["ru_utime.tv_usec"] / 1000;
}

function hot($end)
{
	$x = 0;
	while (cpu_ms() < $end)
		for ($i = 0; $i < 10000; $i++)
			$x += $i;
	return $x;
}

function handle()
{
	return hot(cpu_ms() + (int)$_GET["ms"]);
}

handle();
echo "served";
