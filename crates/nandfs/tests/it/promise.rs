//! Space that was promised can be written again and again: overwriting never fails for want of room.

use crate::common::{GEOMETRIES, formatted, mount};
use pumice_vfs::FileSystem;
use pumice_vfs::conformance::{TestClock, resolve, write_file};

/// A file over most of the free space, overwritten three times in random pieces, with an fsync now and then.
#[test]
fn overwriting_a_nearly_full_volume_never_fails() {
    for geometry in GEOMETRIES {
        let clock = TestClock::new();
        let fs = mount(formatted(geometry, clock.now()), clock.clock());
        let free = fs.space().unwrap().free_bytes;
        let ino = write_file(&fs, "/large", b"").unwrap();
        let (piece, count) = (3000, free / 10 * 9 / 3000);
        for n in 0..count {
            fs.write(ino, n * piece, &[1; 3000])
                .unwrap_or_else(|error| panic!("{geometry} fill {n}: {error}"));
        }
        let mut rng = fastrand::Rng::with_seed(3);
        for turn in 0..count * 3 {
            let at = rng.u64(0..count) * piece;
            fs.write(ino, at, &[2; 3000]).unwrap_or_else(|error| panic!("{geometry} turn {turn}: {error}"));
            if rng.u32(0..50) == 0 {
                fs.fsync(ino, false).unwrap_or_else(|error| panic!("{geometry} fsync {turn}: {error}"));
            }
        }
        assert_eq!(resolve(&fs, "/large").unwrap().size, count * piece);
        let chip = fs.unmount().unwrap_or_else(|error| panic!("{geometry} unmount: {error}"));
        let report = pumice_nandfs::check(chip, &mut |_, _| {}).unwrap();
        assert!(report.findings.is_empty(), "{geometry}: {:?}", report.findings);
    }
}
