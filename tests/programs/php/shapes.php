<?php
// SPDX-License-Identifier: Apache-2.0
// Known stacks of PHP 7.4 and later: shapes.php SHAPE MILLISECONDS (of CPU time).
// The lines that end in `// at NAME` are those that a profile must show.

function hot($n = 2000)
{
	$x = 0;
	for ($i = 0; $i < $n; $i++) {
		$x += $i * $i; // at hot
	}
	return $x;
}

class Thing
{
	public function method()
	{
		return
			hot(); // at method
	}

	public static function made()
	{
		return (new self)->method(); // at made
	}
}

function key_of($value)
{
	Thing::made(); // at key_of
	return $value;
}

function chain()
{
	array_map('key_of', [3, 1, 2]); // at chain
}

function down($n)
{
	return $n ? down($n - 1) : hot(100000);
}

function recursion()
{
	down(500);
}

function callback()
{
	$numbers = range(1, 20);
	usort($numbers, function ($a, $b) {
		hot(500);
		return $a - $b;
	});
}

function innermost_generator()
{
	for ($i = 0; $i < 10; $i++) {
		yield hot();
	}
}

function inner_generator()
{
	yield from innermost_generator();
}

function generator()
{
	yield from inner_generator();
}

function generators()
{
	foreach (generator() as $value) {
	}
}

function fibers()
{
	if (!class_exists('Fiber'))
		return down(3);
	$fiber = new Fiber(function () {
		down(3);
		Fiber::suspend();
		down(3);
	});
	$fiber->start();
	$fiber->resume();
}

function included()
{
	include __DIR__ . '/part.php';
}

function cpu()
{
	$r = getrusage();
	return $r['ru_utime.tv_sec'] + $r['ru_utime.tv_usec'] / 1e6 +
		$r['ru_stime.tv_sec'] + $r['ru_stime.tv_usec'] / 1e6;
}

function repeat($shape, $seconds)
{
	$end = cpu() + $seconds;
	while (cpu() < $end) {
		for ($i = 0; $i < 20; $i++) {
			$shape();
		}
	}
}

file_put_contents('/proc/self/comm', $argv[1]);
repeat($argv[1], $argv[2] / 1000);
