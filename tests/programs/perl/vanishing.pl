# SPDX-License-Identifier: Apache-2.0
# vanishing.pl MS: compiles subs, runs them once and frees them, for that many ms of CPU; then the
# process is gone at once. Both subs of a round have its number in their name.
use strict;
no strict 'refs';
use POSIX ();

my $end = (times)[0] + $ARGV[0] / 1000;
for (my $i = 0; (times)[0] < $end; $i++) {
	eval "sub inner_$i { my \$s = ''; \$s .= '<li>' . (\$_ * \$_) for 0 .. \$_[0]; \$s }
	      sub outer_$i { my \$s = inner_$i(\$_[0]); \"<ul>\$s</ul>\" } 1" or die;
	&{"outer_$i"}(3000);
	delete $main::{"inner_$i"};
	delete $main::{"outer_$i"};
}
POSIX::_exit(0);
