<?php
// SPDX-License-Identifier: Apache-2.0
// Runs beginning(), which repeats the same kinds of work until killed; each kind of work is a function do_NAME.
class Shape
{
	public $n;

	public function __construct($n)
	{
		$this->n = $n;
	}

	public function do_method($other)
	{
		return ($this->n * 31 + $other->n) % 1009;
	}
}

function do_compare($a, $b)
{
	return $a % 97 - $b % 97;
}

function do_sort()
{
	$all = range(0, 400);
	usort($all, 'do_compare');
	return $all;
}

function do_text()
{
	return strlen(preg_replace_callback('/[0-9]+/', function ($m) {
		return (string)($m[0] + 1);
	}, implode(' ', range(0, 400))));
}

function do_objects()
{
	$sum = 0;
	$shapes = array_map(function ($n) {
		return new Shape($n);
	}, range(0, 100));
	foreach ($shapes as $a)
		foreach (array_slice($shapes, 0, 10) as $b)
			$sum += $a->do_method($b);
	return $sum;
}

function do_numbers()
{
	$x = 0;
	for ($n = 0; $n < 5000; $n++)
		$x = ($x * 31 + $n) & 0xffff;
	return $x;
}

function do_yield()
{
	for ($n = 0; $n < 500; $n++)
		yield $n * $n;
}

function do_generator()
{
	$sum = 0;
	foreach (do_yield() as $n)
		$sum += $n;
	return $sum;
}

function do_json()
{
	$all = [];
	for ($n = 0; $n < 100; $n++)
		$all[] = ['n' => $n, 's' => "$n"];
	return strlen(json_encode(json_decode(json_encode($all), true)));
}

function do_deep($n)
{
	return $n ? do_deep($n - 1) + 1 : do_numbers();
}

function beginning()
{
	while (true) {
		foreach (['do_sort', 'do_text', 'do_objects', 'do_numbers', 'do_generator', 'do_json'] as $work)
			$work();
		do_deep(50);
	}
}

beginning();
