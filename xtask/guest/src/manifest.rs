//! Runs in a guest: prints the kernel's view of every file of a mount, one JSON object a line.
//!
//! guest-manifest DIR >MANIFEST
//!
//! The fields and their forms are those of the golden volumes' manifests: paths and names are bytes, of which all
//! below 0x21 and above 0x7e and `%`, `"` and `\` stand as %XX.

mod control;

use std::{
    env,
    ffi::OsStr,
    fmt::Write as _,
    fs::{self, File},
    io::{self, BufWriter, Read, Write, stderr, stdout},
    os::unix::{
        ffi::OsStrExt,
        fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt},
    },
    path::Path,
    process::ExitCode,
};

use rustix::fs::{AtFlags, CWD, SeekFrom, StatxFlags, major, minor};
use sha2::{Digest, Sha256};

/// Files above this have their blocks hashed, not their bytes.
const LARGE: u64 = 256 << 20;
const BLOCK: usize = 4096;

fn main() -> ExitCode {
    let dir = env::args_os().nth(1).unwrap_or_else(|| ".".into());
    let mut out = BufWriter::new(stdout().lock());
    match walk(Path::new(&dir), ".", &mut out).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(stderr(), "guest-manifest: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Describes `path`, and all below it; `shown` is its name in the manifest.
fn walk(path: &Path, shown: &str, out: &mut impl Write) -> io::Result<()> {
    let in_place = |error: io::Error| io::Error::new(error.kind(), format!("{shown}: {error}"));
    writeln!(out, "{{{}}}", describe(path, shown).map_err(in_place)?)?;
    if !fs::symlink_metadata(path)?.is_dir() {
        return Ok(());
    }
    let names = fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.file_name()));
    let mut names: Vec<_> = names.collect::<io::Result<_>>().map_err(in_place)?;
    names.sort();
    for name in names {
        let escaped = escape(name.as_bytes());
        let shown = if shown == "." { escaped } else { format!("{shown}/{escaped}") };
        walk(&path.join(&name), &shown, out)?;
    }
    Ok(())
}

/// The fields of a file, in the order of the golden manifests.
fn describe(path: &Path, shown: &str) -> io::Result<String> {
    let found = fs::symlink_metadata(path)?;
    let kind = kind(&found);
    let mut text =
        format!("\"path\":\"{shown}\",\"type\":\"{kind}\",\"mode\":\"{:04o}\"", found.mode() & 0o7777);
    let numbers = [
        ("uid", u64::from(found.uid())),
        ("gid", u64::from(found.gid())),
        ("nlink", found.nlink()),
        ("ino", found.ino()),
        ("size", found.size()),
        ("blocks", found.blocks()),
    ];
    for (name, number) in numbers {
        put(&mut text, name, &number.to_string());
    }
    let times = [
        ("atime", found.atime(), found.atime_nsec()),
        ("mtime", found.mtime(), found.mtime_nsec()),
        ("ctime", found.ctime(), found.ctime_nsec()),
    ];
    for (name, seconds, nanos) in times {
        put(&mut text, name, &format!("\"{seconds}.{nanos:09}\""));
    }
    let born = rustix::fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME)?;
    if StatxFlags::from_bits_retain(born.stx_mask).contains(StatxFlags::BTIME) {
        put(&mut text, "btime", &format!("\"{}.{:09}\"", born.stx_btime.tv_sec, born.stx_btime.tv_nsec));
    }
    match kind {
        "file" | "dir" => content(path, found.size(), kind == "file", &mut text)?,
        "symlink" => {
            put(&mut text, "target", &format!("\"{}\"", escape(fs::read_link(path)?.as_os_str().as_bytes())));
        }
        "chr" | "blk" => {
            put(&mut text, "rdev", &format!("\"{}:{}\"", major(found.rdev()), minor(found.rdev())));
        }
        _ => {}
    }
    let attributes = attributes(path)?;
    if !attributes.is_empty() {
        put(&mut text, "xattrs", &format!("{{{}}}", attributes.join(",")));
    }
    Ok(text)
}

fn put(text: &mut String, name: &str, value: &str) {
    // Writing to a string does not fail.
    let _ = write!(text, ",\"{name}\":{value}");
}

fn kind(found: &fs::Metadata) -> &'static str {
    let kind = found.file_type();
    match () {
        () if kind.is_dir() => "dir",
        () if kind.is_symlink() => "symlink",
        () if kind.is_fifo() => "fifo",
        () if kind.is_socket() => "sock",
        () if kind.is_char_device() => "chr",
        () if kind.is_block_device() => "blk",
        () => "file",
    }
}

/// The facts that only an open file tells: flags, project, bytes. Nothing of a file without its key.
fn content(path: &Path, size: u64, is_file: bool, text: &mut String) -> io::Result<()> {
    // A file that may only be read is not told that it was.
    let opened = File::options().read(true).custom_flags(libc::O_NOATIME).open(path);
    let file = match opened {
        Err(error) if error.raw_os_error() == Some(libc::ENOKEY) => return Ok(()),
        opened => opened?,
    };
    put(text, "flags", &format!("\"{:#x}\"", rustix::fs::ioctl_getflags(&file)?.bits()));
    put(text, "projid", &control::project(&file)?.to_string());
    match is_file {
        false => {}
        true if size > LARGE => {
            put(text, "sha256_nzblocks", &format!("\"{}\"", hex(&blocks_hash(&file, size)?)));
        }
        true => put(text, "sha256", &format!("\"{}\"", hex(&hash(file)?))),
    }
    Ok(())
}

fn hash(mut file: File) -> io::Result<Vec<u8>> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let got = file.read(&mut buffer)?;
        let Some(bytes) = buffer.get(..got).filter(|bytes| !bytes.is_empty()) else { break };
        hash.update(bytes);
    }
    Ok(hash.finalize().to_vec())
}

/// A hash over index and bytes of every block that is not all zeros, looking only where there is data.
fn blocks_hash(file: &File, size: u64) -> io::Result<Vec<u8>> {
    let mut hash = Sha256::new();
    let mut at = 0;
    while let Ok(start) = rustix::fs::seek(file, SeekFrom::Data(at)) {
        let end = rustix::fs::seek(file, SeekFrom::Hole(start))?.min(size);
        let block_bytes = BLOCK as u64;
        for index in start / block_bytes..end.div_ceil(block_bytes) {
            let mut block = [0; BLOCK];
            let bytes = usize::try_from(size - index * block_bytes).unwrap_or(BLOCK).min(BLOCK);
            file.read_exact_at(block.get_mut(..bytes).unwrap_or_default(), index * block_bytes)?;
            if block != [0; BLOCK] {
                hash.update(index.to_le_bytes());
                hash.update(block);
            }
        }
        at = end;
    }
    Ok(hash.finalize().to_vec())
}

/// Each extended attribute as `"name":"hex"`.
fn attributes(path: &Path) -> io::Result<Vec<String>> {
    let mut names = vec![0; 1 << 16];
    let length = rustix::fs::llistxattr(path, &mut names[..])?;
    names.truncate(length);
    let mut all = Vec::new();
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0; 1 << 16];
        let length = rustix::fs::lgetxattr(path, OsStr::from_bytes(name), &mut value[..])?;
        value.truncate(length);
        all.push(format!("\"{}\":\"{}\"", escape(name), hex(&value)));
    }
    all.sort();
    Ok(all)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn escape(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        match byte {
            b'%' | b'"' | b'\\' | ..=0x20 | 0x7f.. => {
                let _ = write!(text, "%{byte:02X}");
            }
            _ => text.push(char::from(*byte)),
        }
        text
    })
}
