//! Damaged volumes: whatever stands on the medium, there is an answer or an error, never a panic, and never more work
//! than the volume could need.
//!
//! A run tries so many cases for each volume. The volumes are those of the golden comparison, and are skipped loudly where they are absent.

mod targets;

use std::sync::Arc;

use crate::common::image::Golden;
use crate::common::medium::Medium;
use crate::common::visit::visit;
use fastrand::Rng;
use pumice_f2fs::{F2fs, MountOptions, crypt::Keyring};
use pumice_knobs::F2FS_READ;
use pumice_vfs::Timestamp;

fn keys() -> Keyring {
    let mut keys = Keyring::default();
    keys.add(&(0..64).collect::<Vec<u8>>()).unwrap();
    keys
}

/// Mounts a medium and looks at all that is in it. The result says how much was found, if it could be mounted.
fn look(medium: &Arc<Medium>) -> Option<usize> {
    let options = MountOptions { cache_bytes: 1 << 20, keys: keys(), recover: Some(Timestamp::default()) };
    let fs = F2fs::mount(vec![Box::new(medium.clone())], options).ok()?;
    let found = visit(&fs);
    assert!(!medium.is_exhausted(), "more was read than a volume of this size could need");
    Some(found)
}

/// Damages a volume in many ways, one at a time.
fn torment(name: &str) {
    let golden = Golden::of_kind(name);
    let sound = Arc::new(Medium::new(golden.bytes()));
    let whole = look(&sound).expect("the sound volume can be read");
    let targets = targets::metadata(&sound);
    let (seeds, mut felt) = (F2FS_READ.seeds(1..61), 0);
    for seed in seeds.clone() {
        let mut rng = Rng::with_seed(seed);
        let damaged = Arc::new(targets.damage(&sound, &mut rng));
        let result = std::panic::catch_unwind(|| look(&damaged));
        let found = result.unwrap_or_else(|_| panic!("{name}: PUMICE_SEED={seed} panics"));
        felt += usize::from(found != Some(whole));
    }
    F2FS_READ.ran(seeds.clone(), seeds.end - seeds.start);
    assert!(felt > 0 || !F2FS_READ.is_usual(), "no damage was ever felt, so nothing was tested");
}

#[test]
fn crashed() {
    torment("g08-crash-rollfwd");
}

#[test]
fn all_features() {
    torment("g02-allfeat");
}

#[test]
fn compressed() {
    torment("g06-compress");
}

#[test]
fn casefolded() {
    torment("g12-casefold");
}

#[test]
fn encrypted() {
    torment("g13-encrypt");
}

#[test]
fn truncated() {
    let golden = Golden::of_kind("g03-inline");
    let bytes = golden.bytes();
    let mut rng = Rng::with_seed(F2FS_READ.first_seed(1));
    for _ in 0..20 {
        let length = rng.usize(..bytes.len());
        look(&Arc::new(Medium::new(bytes[..length].to_vec())));
    }
    for length in [0, 1, 1023, 1024, 4095, 4096, 4097, 8192] {
        assert_eq!(look(&Arc::new(Medium::new(bytes[..length].to_vec()))), None);
    }
}
