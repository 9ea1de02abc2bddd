// SPDX-License-Identifier: Apache-2.0
//! burn: runs main -> outer -> middle -> hot, until killed.
use std::hint::black_box;

#[inline(never)]
fn hot(mut sum: u64) -> u64 {
    for i in 0..50000 {
        sum = black_box(sum.wrapping_mul(6364136223846793005).wrapping_add(i));
    }
    sum
}

#[inline(never)]
fn middle(mut sum: u64) -> u64 {
    for i in 0..20 {
        sum = sum.wrapping_add(hot(sum.wrapping_add(i)));
    }
    sum
}

#[inline(never)]
fn outer(sum: u64) -> u64 {
    middle(sum).wrapping_add(1)
}

fn main() {
    let mut sum = 1;
    loop {
        sum = black_box(outer(sum));
    }
}
