//! Operations until the power is cut: what fsync promised must be there.
#![no_main]

#[allow(dead_code, reason = "each target takes a part")]
#[path = "../../crates/nandfs/tests/it/common/fuzz.rs"]
mod harness;

use harness::{GEOMETRIES, operations};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((which, rest)) = bytes.split_first() else { return };
    operations(GEOMETRIES[usize::from(*which) % GEOMETRIES.len()], rest);
});
