//! Files that are compressed: their space, the choice of the method, and a full volume on which they are written over.

use crate::common::{compressed, formatted, mount};
use pumice_media::SimChip;
use pumice_nandfs::{Compression, NandFs, check};
use pumice_vfs::conformance::{mkdir_p, read_file, resolve, write_file};
use pumice_vfs::{Clock, Errno, FileSystem, Ino, Timestamp, XattrMode};

const CHIP: &str = "2048+64:64:128";
const ATTRIBUTE: &[u8] = b"user.pumice.compression";

fn clock() -> Clock {
    Box::new(|| Timestamp { seconds: 1_700_000_000, nanos: 5 })
}

fn volume(compression: Compression) -> NandFs<SimChip> {
    mount(compressed(CHIP, clock()(), compression), clock())
}

fn text(len: usize, seed: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let words = ["log ", "page ", "block ", "erase ", "tag ", "chunk ", "of a file\n", "node "];
    let mut bytes = Vec::with_capacity(len + 16);
    while bytes.len() < len {
        bytes.extend_from_slice(rng.choice(words).unwrap().as_bytes());
    }
    bytes.truncate(len);
    bytes
}

fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; len];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes
}

/// Bytes that a file takes.
fn taken(fs: &NandFs<SimChip>, path: &str) -> u64 {
    resolve(fs, path).unwrap().allocated
}

fn sound(fs: NandFs<SimChip>) -> SimChip {
    let chip = fs.unmount().unwrap();
    let report = check(chip.clone(), &mut |_, _| {}).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    chip
}

#[test]
fn what_compresses_takes_less_and_what_does_not_takes_no_more() {
    for how in [Compression::Lz4, Compression::Zstd(3)] {
        let fs = volume(how);
        let free = fs.space().unwrap().free_bytes;
        write_file(&fs, "/text", &text(400_000, 1)).unwrap();
        write_file(&fs, "/noise", &noise(400_000, 2)).unwrap();
        fs.sync().unwrap();
        assert!(taken(&fs, "/text") < 250_000, "{how}: {}", taken(&fs, "/text"));
        assert!((400_000..420_000).contains(&taken(&fs, "/noise")), "{how}: {}", taken(&fs, "/noise"));
        let used = free - fs.space().unwrap().free_bytes;
        assert!(used < 400_000 + 250_000 + 60_000, "{how}: {used}");
        let fs = mount(sound(fs), clock());
        assert!(read_file(&fs, "/text").unwrap() == text(400_000, 1));
        assert!(read_file(&fs, "/noise").unwrap() == noise(400_000, 2));
    }
}

#[test]
fn files_and_directories_say_how_they_are_compressed() {
    let fs = volume(Compression::None);
    mkdir_p(&fs, "/small").unwrap();
    let small = resolve(&fs, "/small").unwrap().ino;
    let wrong = fs.set_xattr(small, ATTRIBUTE, b"zip", XattrMode::Either);
    assert_eq!(wrong.unwrap_err().errno(), Errno::Invalid);
    fs.set_xattr(small, ATTRIBUTE, b"zstd:9", XattrMode::Either).unwrap();
    mkdir_p(&fs, "/small/below").unwrap();
    for path in ["/plain", "/small/file", "/small/below/file"] {
        write_file(&fs, path, &text(100_000, 3)).unwrap();
    }
    let own = write_file(&fs, "/small/not", b"").unwrap();
    fs.set_xattr(own, ATTRIBUTE, b"none", XattrMode::Either).unwrap();
    write_file(&fs, "/small/not", &text(100_000, 3)).unwrap();
    fs.sync().unwrap();
    let fs = mount(sound(fs), clock());
    for (path, least, most) in [
        ("/plain", 100_000, 110_000),
        ("/small/file", 10_000, 50_000),
        ("/small/below/file", 10_000, 50_000),
        ("/small/not", 100_000, 110_000),
    ] {
        assert!((least..most).contains(&taken(&fs, path)), "{path} takes {}", taken(&fs, path));
        assert!(read_file(&fs, path).unwrap() == text(100_000, 3));
    }
    let below = resolve(&fs, "/small/below/file").unwrap().ino;
    assert_eq!(fs.xattr(below, ATTRIBUTE).unwrap(), b"zstd:9");
}

#[test]
fn a_mount_chooses_too_where_the_volume_was_made_for_it() {
    let fs = mount(formatted(CHIP, clock()()), clock());
    assert_eq!(fs.set_compression(Compression::Lz4).unwrap_err().errno(), Errno::NotSupported);
    assert_eq!(fs.info().unwrap().compression, None);
    let fs = volume(Compression::None);
    write_file(&fs, "/before", &text(100_000, 4)).unwrap();
    fs.sync().unwrap();
    fs.set_compression(Compression::Lz4).unwrap();
    assert_eq!(fs.info().unwrap().compression, Some(Compression::Lz4));
    write_file(&fs, "/after", &text(100_000, 4)).unwrap();
    fs.sync().unwrap();
    assert!(taken(&fs, "/after") < 70_000 && taken(&fs, "/before") > 100_000);
    let fs = mount(sound(fs), clock());
    assert_eq!(fs.info().unwrap().compression, Some(Compression::None));
    assert!(read_file(&fs, "/after").unwrap() == text(100_000, 4));
}

/// A file in an inode takes little more than its compressed size.
#[test]
fn small_files_are_compressed_where_they_lie() {
    let fs = volume(Compression::Zstd(3));
    for number in 0..300 {
        write_file(&fs, &format!("/file{number}"), &text(1024, number)).unwrap();
    }
    let before = fs.stats().unwrap().programs;
    fs.sync().unwrap();
    let programs = fs.stats().unwrap().programs - before;
    // 1,024 bytes of these words become about 400.
    assert!(programs * 2048 < 300 * 620, "{programs} programs for 300 files");
    let fs = mount(sound(fs), clock());
    for number in 0..300 {
        assert!(read_file(&fs, &format!("/file{number}")).unwrap() == text(1024, number));
    }
}

/// More than the chip has is stored while it compresses; noise over it is refused in time, and nothing else is harmed.
#[test]
fn noise_over_a_full_volume_is_refused_and_what_was_there_stays() {
    for chip in ["2048+64:16:128", "16384+1952:8:64"] {
        let fs = mount(compressed(chip, clock()(), Compression::Zstd(3)), clock());
        let (total, piece) = (fs.space().unwrap().total_bytes, 100_000);
        let mut files = 0;
        loop {
            match write_file(&fs, &format!("/file{files}"), &text(piece, files)) {
                Ok(_) => files += 1,
                Err(error) if error.errno() == Errno::NoSpace => break,
                Err(error) => panic!("{chip}: {error}"),
            }
        }
        assert!(files * piece as u64 > total * 3 / 2, "{chip}: {files} files on {total} bytes");
        fs.sync().unwrap();
        let mut now: Vec<Vec<u8>> = (0..files).map(|number| text(piece, number)).collect();
        let mut refused = 0;
        for round in 0..400_u64 {
            let number = usize::try_from(round * 7919 % files).unwrap();
            let at = usize::try_from(round * 104_729 % 90_000).unwrap();
            let bytes = noise(5000, round);
            let ino = resolve(&fs, &format!("/file{number}")).unwrap().ino;
            match fs.write(ino, at as u64, &bytes) {
                Ok(()) => now[number][at..at + bytes.len()].copy_from_slice(&bytes),
                Err(error) if error.errno() == Errno::NoSpace => refused += 1,
                Err(error) => panic!("{chip}: {error}"),
            }
            if round % 9 == 0 {
                fs.fsync(ino, false).unwrap();
            }
        }
        assert!(refused > 0, "{chip}");
        let fs = mount(sound(fs), clock());
        for (number, bytes) in now.iter().enumerate() {
            assert!(read_file(&fs, &format!("/file{number}")).unwrap() == *bytes, "{chip}: file {number}");
        }
        for number in 0..files {
            fs.unlink(Ino::ROOT, format!("file{number}").as_bytes()).unwrap();
        }
        fs.sync().unwrap();
        sound(fs);
    }
}
