<?php
// SPDX-License-Identifier: Apache-2.0
// regex.php SECONDS: regular expressions, which PCRE compiles to machine code.
function text()
{
    $s = '';
    for ($i = 0; $i < 2000; $i++) {
        $s .= "user$i@example$i.com, +49-$i-" . ($i * 7) . ' ' . md5((string)$i) . "\n";
    }
    return $s;
}
function addresses($t) { return preg_match_all('/[\w.+-]+@[\w-]+\.[\w.]+/', $t, $m); }
function digests($t) { return preg_match_all('/(?:[0-9a-f]{2}){8,}(?=\n)/', $t, $m); }
function swaps($t) { return strlen(preg_replace_callback('/(\d+)-(\d+)/', fn ($m) => $m[2] . '-' . $m[1], $t)); }
$end = microtime(true) + (float)$argv[1];
for ($n = 0, $t = text(); microtime(true) < $end;) {
    $n += addresses($t) + digests($t) + swaps($t);
}
echo $n, "\n";
