//! Volumes with damage that their checksums do not tell: the first byte picks one, the rest the damage and the use.
#![no_main]

#[allow(dead_code, reason = "each target takes a part")]
#[path = "../../crates/nandfs/tests/it/common/fuzz.rs"]
mod harness;

use std::sync::OnceLock;

use harness::{GEOMETRIES, damaged, populated};
use pumice_media::SimChip;
use pumice_nandfs::fuzzing::Catalogue;

fn volumes() -> &'static [(SimChip, Catalogue)] {
    static VOLUMES: OnceLock<Vec<(SimChip, Catalogue)>> = OnceLock::new();
    VOLUMES.get_or_init(|| {
        let kinds = GEOMETRIES.into_iter().flat_map(|geometry| [(geometry, true), (geometry, false)]);
        let make = |(geometry, clean)| {
            let mut chip = populated(geometry, *b"0123456789abcdef", clean);
            let catalogue = Catalogue::of(&mut chip).unwrap();
            (chip, catalogue)
        };
        kinds.map(make).collect()
    })
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((which, rest)) = bytes.split_first() else { return };
    let volumes = volumes();
    let (chip, catalogue) = &volumes[usize::from(*which) % volumes.len()];
    damaged(chip, catalogue, rest);
});
