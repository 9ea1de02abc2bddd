#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every installed Perl has known stacks with known lines."""
from interpreted import MAIN, main

TOP = MAIN + r"<shapes\.pl> main::repeat "
main("perl", "perl/shapes.pl", {
    "chain": [TOP + "main::chain ... main::__ANON__ main::key_of Thing::method main::hot ..."],
    "recursion": [TOP + "main::recursion " + "main::down " * 501 + "main::hot ..."],
    "callback": [TOP + "main::callback main::by_number main::hot ..."],
    "sort_block": [TOP + r"main::sort_block \{sort.block\} main::hot ..."],
    "regex_code": [TOP + r"main::regex_code \{regex.code\} main::hot ..."],
    "closures": [TOP + "main::closures main::__ANON__ main::__ANON__ main::hot ..."],
    "evaluated": [TOP + r"main::evaluated main::hot ...", TOP + r"main::evaluated .* main::hot ..."],
    "handled": [TOP + "main::handled main::__ANON__ main::hot ..."],
    "gone": [TOP + "main::hot ..."],
}, callers=("key_of", "method"), leaf="main::hot", slack=1)
