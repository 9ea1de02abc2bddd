# SPDX-License-Identifier: Apache-2.0
# Runs beginning(), which repeats the same kinds of work until killed; each kind of work is a function do_NAME.
use strict;
use warnings;
use List::Util qw(sum reduce);

package Shape;

sub new {
	my ($class, $n) = @_;
	return bless { n => $n }, $class;
}

sub do_method {
	my ($self, $other) = @_;
	return ($self->{n} * 31 + $other->{n}) % 1009;
}

package main;

sub do_compare {
	my ($left, $right) = @_;
	return $left % 97 <=> $right % 97;
}

sub do_sort {
	return scalar(my @sorted = sort { do_compare($a, $b) } 0 .. 400);
}

sub do_text {
	my $text = join " ", 0 .. 400;
	$text =~ s/([0-9]+)/$1 + 1/ge;
	return length $text;
}

sub do_objects {
	my @shapes = map { Shape->new($_) } 0 .. 99;
	my $sum = 0;
	for my $left (@shapes) {
		$sum += $left->do_method($_) for @shapes[0 .. 9];
	}
	return $sum;
}

sub do_numbers {
	my $x = 0;
	$x = ($x * 31 + $_) & 0xffff for 0 .. 4999;
	return $x;
}

sub do_closure {
	my $base = shift;
	return sub { return $base + shift };
}

sub do_closures {
	my $add = do_closure(7);
	return sum map { $add->($_) } 0 .. 500;
}

sub do_reduce {
	return reduce { ($a * 31 + $b) % 1009 } 0 .. 1000;
}

sub do_deep {
	my ($n) = @_;
	return $n ? do_deep($n - 1) + 1 : do_numbers();
}

sub beginning {
	no warnings 'recursion';
	my @all = (\&do_sort, \&do_text, \&do_objects, \&do_numbers, \&do_closures, \&do_reduce);
	while (1) {
		$_->() for @all;
		do_deep(50);
	}
}

beginning();
