//! A bounded, seeded run of the fuzzer.

use std::ops::Range;

use crate::common::fuzz::{GEOMETRIES, damaged, operations, populated};
use pumice_knobs::{NANDFS_DAMAGE, watched};
use pumice_media::SimChip;
use pumice_nandfs::fuzzing::{CANARY_LOOP, CANARY_PANIC, Catalogue, parsers};

/// Bytes made up from a seed.
fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..length).map(|_| rng.u8(..)).collect()
}

/// Runs a case; the error says how it went wrong.
fn watch(name: &str, case: impl FnOnce() + Send) -> Result<(), String> {
    watched(name, case).map_err(|panic| {
        let words = panic.downcast_ref::<String>().cloned();
        words.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).into())).unwrap_or_default()
    })
}

fn image(geometry: &str, uuid: [u8; 16], clean: bool) -> (SimChip, Catalogue) {
    let mut chip = populated(geometry, uuid, clean);
    let catalogue = Catalogue::of(&mut chip).unwrap();
    (chip, catalogue)
}

/// The damage of one seed.
fn case(image: &(SimChip, Catalogue), seed: u64) -> Result<(), String> {
    let (chip, catalogue) = image.clone();
    watch(&format!("damage {seed}"), || damaged(&chip, &catalogue, &bytes(seed, 512)))
}

/// Cases for each image.
fn cases() -> Range<u64> {
    NANDFS_DAMAGE.seeds(0..48)
}

#[test]
fn parsers_take_anything() {
    for seed in 0..20_000 {
        let mut bytes = bytes(seed, 200);
        // The first bytes of records make the way deeper.
        if seed % 3 == 0 {
            bytes[1] = 1 + u8::try_from(seed % 4).unwrap();
        }
        watch_parsers(&bytes).unwrap_or_else(|words| panic!("seed {seed}: {words}"));
    }
}

fn watch_parsers(bytes: &[u8]) -> Result<(), String> {
    std::panic::catch_unwind(|| parsers(bytes)).map_err(|_| "a parser panics".into())
}

#[test]
fn damaged_volumes_neither_panic_nor_hang() {
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for (place, geometry) in GEOMETRIES.into_iter().enumerate() {
        for clean in [true, false] {
            let image = image(geometry, *b"0123456789abcdef", clean);
            for number in cases() {
                // There are no more than a hundred images.
                let outcome = case(&image, number * 100 + place as u64 * 2 + u64::from(clean));
                tried += 1;
                wrong.extend(
                    outcome.err().map(|words| format!("PUMICE_SEED={number}: {geometry} {clean}: {words}")),
                );
            }
        }
    }
    NANDFS_DAMAGE.ran(cases(), tried);
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
    // Images and all: what a damaged size asks for must not be had.
    assert!(most_memory() < 1 << 30, "the run took {} bytes", most_memory());
}

/// An id with two owners is freed by both, and must not be given out twice.
#[test]
fn a_node_of_two_owners() {
    let image = image(GEOMETRIES[1], *b"0123456789abcdef", false);
    case(&image, 2_992_735_102).unwrap();
}

/// The page above all others of the node table cannot be read: it has no end of ids whose use is unknown.
#[test]
fn a_node_table_without_its_top() {
    let image = image(GEOMETRIES[3], *b"0123456789abcdef", true);
    case(&image, 770_014_007).unwrap();
}

/// The most memory that the process has had so far, in bytes; 0 where the system does not tell.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

#[test]
fn promises_outlive_a_cut() {
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for (place, geometry) in GEOMETRIES.into_iter().enumerate() {
        for number in cases().flat_map(|number| [2 * number, 2 * number + 1]) {
            let name = format!("PUMICE_SEED={}: {geometry}", number / 2);
            let outcome = watch(&name, || operations(geometry, &bytes(number * 100 + place as u64, 3000)));
            tried += 1;
            wrong.extend(
                outcome.err().map(|words| format!("PUMICE_SEED={}: {geometry}: {words}", number / 2)),
            );
        }
    }
    NANDFS_DAMAGE.ran(cases(), tried);
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

/// The run finds mistakes that were made on purpose.
#[test]
fn canaries_are_found() {
    for (uuid, words) in
        [(CANARY_PANIC, "the canary sings"), (CANARY_LOOP, "no end of operations in one call")]
    {
        let image = image(GEOMETRIES[1], uuid, true);
        let found = (0..1000).find_map(|seed| case(&image, seed).err());
        assert_eq!(found.as_deref(), Some(words));
    }
}
