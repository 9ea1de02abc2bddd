// SPDX-License-Identifier: Apache-2.0

//! Profiles itself with Pyroscope's SDK: shop SERVER. See sdks.py for what it does and prints.

use pyroscope::backend::{pprof_backend, BackendConfig, PprofConfig};
use pyroscope::pyroscope::PyroscopeAgentBuilder;
use std::hint::black_box;

/// CPU time of this thread in nanoseconds.
fn cpu_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every Linux, and the structure is this function's.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

#[inline(never)]
fn spin(ns: u64) -> u64 {
    let (begun, mut x) = (cpu_ns(), 1u64);
    while cpu_ns() - begun < ns {
        for i in 0..100_000u64 {
            x = black_box(x.wrapping_mul(31).wrapping_add(i));
        }
    }
    cpu_ns() - begun + black_box(x & 1) - (x & 1)
}

#[inline(never)]
fn pay() -> u64 {
    spin(30_000_000) + black_box(0)
}

#[inline(never)]
fn cart() -> u64 {
    spin(10_000_000) + black_box(0)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = std::env::args().nth(1).expect("usage: shop SERVER");
    let agent = PyroscopeAgentBuilder::new(
        &server,
        "shop",
        100,
        "pyroscope-rs",
        "2.1.5",
        pprof_backend(PprofConfig::default(), BackendConfig::default()),
    )
    .tags(vec![("env", "test")])
    .build()?
    .start()?;
    let (mut pays, mut carts) = (0, 0);
    for _ in 0..40 {
        pays += pay();
        carts += cart();
    }
    agent.stop()?.shutdown();
    println!("{{\"pay\": {pays}, \"cart\": {carts}}}");
    Ok(())
}
