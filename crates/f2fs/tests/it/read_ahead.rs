//! Blocks announced together are read together.

use std::{
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use pumice_f2fs::{F2fs, MountOptions, crypt::Keyring};
use pumice_media::{BlockError, ReadAt};
use pumice_vfs::{Attr, FileKind, FileSystem, Ino};

/// A disk in memory that counts how often it is read.
struct Counted {
    bytes: Vec<u8>,
    reads: Arc<AtomicUsize>,
}

impl ReadAt for Counted {
    fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<(), BlockError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let at = usize::try_from(at).unwrap();
        buffer.copy_from_slice(&self.bytes[at..at + buffer.len()]);
        Ok(())
    }
}

/// The number of reads for the attributes of all files, and those attributes.
fn reads(bytes: &[u8], says_so: bool) -> (usize, Vec<Attr>) {
    let reads = Arc::new(AtomicUsize::new(0));
    let disk = Counted { bytes: bytes.to_vec(), reads: reads.clone() };
    let options = MountOptions { cache_bytes: 8 << 20, keys: Keyring::default(), recover: None };
    let fs = F2fs::mount(vec![Box::new(disk)], options).unwrap();
    let below = |dir: Ino| {
        let mut inos = Vec::new();
        fs.readdir(dir, 0, &mut |entry| {
            inos.push(entry.ino);
            true
        })
        .unwrap();
        inos
    };
    let (mut attrs, mut dirs) = (Vec::new(), vec![Ino::ROOT]);
    while let Some(dir) = dirs.pop() {
        let inos = below(dir);
        if says_so {
            fs.expect(&inos);
        }
        let found: Vec<Attr> = inos.iter().map(|ino| fs.attr(*ino).unwrap()).collect();
        dirs.extend(found.iter().filter(|attr| attr.kind == FileKind::Dir).map(|attr| attr.ino));
        attrs.extend(found);
    }
    (reads.load(Ordering::Relaxed), attrs)
}

#[test]
fn what_is_expected_is_read_in_runs() {
    let image = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/images/basic.img.zst");
    let bytes = Command::new("zstd").args(["-dqc", "--long=27"]).arg(image).output().unwrap().stdout;
    let (one_by_one, attrs) = reads(&bytes, false);
    let (together, same) = reads(&bytes, true);
    assert_eq!(attrs, same);
    assert!(attrs.len() > 100, "{} files", attrs.len());
    assert!(together * 2 < one_by_one, "{together} reads and {one_by_one} for {} files", attrs.len());
}
