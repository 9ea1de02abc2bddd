// SPDX-License-Identifier: Apache-2.0
// main -> outer -> middle -> a closure behind a trait object -> hot, for MS of CPU time.
extern "C" {
    fn clock() -> i64;
}

// std::hint has one since Rust 1.66; Debian 12's is older.
#[inline(always)]
fn black_box(n: u64) -> u64 {
    unsafe { std::ptr::read_volatile(&n) }
}

#[inline(never)]
fn hot(mut n: u64) -> u64 {
    for _ in 0..100_000 {
        n = black_box(n)
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
    }
    n
}

#[inline(never)]
fn middle(call: &dyn Fn(u64) -> u64, n: u64) -> u64 {
    let mut sum = n;
    for i in 0..5 {
        sum = sum.wrapping_add(call(i));
    }
    sum
}

#[inline(never)]
fn outer(n: u64) -> u64 {
    let add = black_box(n);
    middle(&|i| hot(i.wrapping_add(add)).wrapping_add(1), n).wrapping_add(1)
}

fn main() {
    let ms: i64 = std::env::args()
        .nth(1)
        .and_then(|s| s.parse().ok())
        .unwrap_or(100);
    let mut sum = 0u64;
    while unsafe { clock() } < ms * 1000 {
        sum = sum.wrapping_add(outer(sum));
    }
    black_box(sum);
}
