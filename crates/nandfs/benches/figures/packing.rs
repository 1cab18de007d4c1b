//! Compression: the space that sources and text take, small files, and the cost of reading.

use std::path::{Path, PathBuf};

use pumice_nandfs::{Compression, FormatOptions};
use pumice_vfs::FileSystem;

use crate::Figure;
use crate::chip::{Fs, create, during, formatted, formatted_with, mount};

const CHIP: &str = "slc-2k-2g";
/// A file that is read, in bytes, and how often at random.
const FILE: usize = 12_000_000;
const READS: usize = 1000;

/// Sources and text of this repository, in order.
fn corpus() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for part in ["crates", "docs", "scripts", "xtask", "fuzz"] {
        walk(&root.join(part), &mut found);
    }
    found.sort();
    found.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if entry.file_type().unwrap().is_dir() {
            if entry.file_name() != "target" {
                walk(&path, found);
            }
        } else if ["rs", "md", "toml", "sh"].contains(&extension) {
            found.push(path);
        }
    }
}

fn made(compression: Compression) -> Fs {
    let options = FormatOptions::default().with(|it| it.compression = Some(compression));
    mount(formatted_with(CHIP, None, options))
}

/// Bytes of the chip that are programmed while files are written, metadata and checkpoint too.
fn space(fs: &Fs, files: &[Vec<u8>]) -> f64 {
    let did = during(fs, || {
        for (number, bytes) in files.iter().enumerate() {
            let ino = create(fs, &format!("source number {number}"));
            for (at, piece) in (0..).step_by(64 << 10).zip(bytes.chunks(64 << 10)) {
                fs.write(ino, at, piece).unwrap();
            }
        }
        fs.sync().unwrap();
    });
    did.programs as f64 * 2048.0
}

/// Page reads of a file, front to back and in blocks at random, after a fresh mount.
fn reads(fs: Fs, text: &[u8]) -> (f64, f64) {
    let ino = create(&fs, "large");
    for (at, piece) in (0..).step_by(64 << 10).zip(text.chunks(64 << 10)) {
        fs.write(ino, at, piece).unwrap();
    }
    let fs = mount(fs.unmount().unwrap());
    let mut buffer = vec![0; 128 << 10];
    let front = during(&fs, || {
        for (at, piece) in (0..).step_by(buffer.len()).zip(text.chunks(buffer.len())) {
            let got = fs.read(ino, at, &mut buffer).unwrap();
            assert_eq!(&buffer[..got], piece);
        }
    });
    let fs = mount(fs.unmount().unwrap());
    let mut blocks: Vec<usize> = (0..text.len() / 4096).collect();
    fastrand::Rng::with_seed(1).shuffle(&mut blocks);
    let random = during(&fs, || {
        for block in blocks.iter().take(READS) {
            fs.read(ino, *block as u64 * 4096, &mut buffer[..4096]).unwrap();
        }
    });
    (front.page_reads as f64, random.page_reads as f64)
}

pub(crate) fn figures() -> Vec<Figure> {
    let files = corpus();
    let bytes: usize = files.iter().map(Vec::len).sum();
    let text: Vec<u8> = files.concat().into_iter().cycle().take(FILE).collect();
    let plain = reads(mount(formatted(CHIP, None)), &text);
    let mut figures = Vec::new();
    for (name, compression, most) in [("lz4", Compression::Lz4, 0.66), ("zstd:9", Compression::Zstd(9), 0.46)]
    {
        let share = space(&made(compression), &files) / bytes as f64;
        figures.push(Figure::at_most(
            format!("{name}: sources and text, all that is programmed against their bytes"),
            "times",
            share,
            most,
        ));
        let packed = space(&made(compression), std::slice::from_ref(&text)) / text.len() as f64;
        let (front, random) = reads(made(compression), &text);
        let front = front / plain.0 / packed;
        figures.push(Figure::at_most(
            format!("{name}: pages read front to back, against the share of space"),
            "times",
            front,
            1.05,
        ));
        let random = random / plain.1;
        figures.push(Figure::at_most(
            format!("{name}: - in blocks of 4 KiB at random, against a plain file"),
            "times",
            random,
            1.5,
        ));
    }
    figures.push(small_files(&text));
    figures
}

/// Bytes that a file of 1 KiB takes beyond 1.1 times its compressed size, on average.
fn small_files(text: &[u8]) -> Figure {
    const FILES: usize = 2000;
    let files: Vec<Vec<u8>> = text.chunks(5000).take(FILES).map(|part| part[..1024].to_vec()).collect();
    let alone: usize = files.iter().map(|bytes| zstd::bulk::compress(bytes, 9).unwrap().len()).sum();
    let taken = space(&made(Compression::Zstd(9)), &files);
    let beyond = (taken - 1.1 * alone as f64) / FILES as f64;
    Figure::at_most("zstd:9: a file of 1 KiB, beyond 1.1 times its compressed size", "bytes", beyond, 200.0)
}
