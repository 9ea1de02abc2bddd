# SPDX-License-Identifier: Apache-2.0
# Known stacks of Perl 5: shapes.pl SHAPE MILLISECONDS (of CPU time).
# The lines that end in `# at NAME` are those that a profile must show.
use strict;
use warnings;
no warnings 'recursion';
use List::Util qw(first);

sub hot {
	my $n = shift || 1500;
	my $x = 0;
	for my $i (1 .. $n) {
		$x += $i * $i; # at hot
	}
	return $x;
}

package Thing;

sub new { return bless {}, shift }

sub method {
	my $self = shift;
	main::hot(); # at method
	return 0;
}

package main;

sub key_of {
	Thing->new->method; # at key_of
	return 1;
}

sub chain {
	my $found = first { key_of($_) } 3, 1, 2; # at chain
	return $found;
}

sub down {
	my $n = shift;
	return $n ? down($n - 1) : hot(50000);
}

sub recursion { return down(500) }

sub by_number { hot(200); return $a <=> $b }

sub callback { my @sorted = sort by_number 1 .. 20; return }

sub sort_block { my @sorted = sort { hot(200); $a <=> $b } 1 .. 20; return }

sub regex_code { return 'ab' =~ /a(?{ hot() })b/ }

sub closures {
	my $inner = sub { return hot() };
	my $outer = sub { return $inner->() };
	return $outer->();
}

sub evaluated { my $x = eval "hot()"; return eval { hot(); $x } }

sub handled {
	local $SIG{USR1} = sub { hot() };
	kill 'USR1', $$;
	return;
}

sub gone { goto &hot }

sub repeat {
	my ($shape, $seconds) = @_;
	no strict 'refs';
	my $end = $seconds + (times)[0] + (times)[1];
	while ((times)[0] + (times)[1] < $end) {
		&$shape() for 1 .. 20;
	}
	return;
}

open(my $comm, '>', '/proc/self/comm') or die;
print $comm $ARGV[0];
close $comm;
repeat($ARGV[0], $ARGV[1] / 1000);
