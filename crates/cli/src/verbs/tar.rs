//! `pumice tar`: a tree as an archive on stdout.

use std::{
    collections::HashMap,
    ffi::OsString,
    fmt::Write as _,
    io::{self, Read, Write},
    os::unix::ffi::OsStrExt,
};

use pumice_vfs::{Attr, Errno, FileKind, Ino, Seek, Timestamp};
use tar::{Builder, EntryType, Header};

use crate::{
    context::Context,
    failure::{Failure, Outcome, host_reason},
    image::{Access, Shared, with_volume},
    path, text,
    tree::{
        CHUNK,
        walk::{Place, Step, walk},
    },
    verbs::{Image, warn_of},
};

/// Write a tree of an image as a tar archive to standard output, with owners, times, attributes and holes
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Image,
    /// What to archive
    #[arg(default_value = "/")]
    path: OsString,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        with_volume(&self.image.image, Access::Read, context, |fs| {
            let found = path::find(fs, &self.path)?;
            let out = io::BufWriter::with_capacity(CHUNK, io::stdout().lock());
            let builder = Builder::new(out);
            let mut writer = Archive { fs, builder, links: HashMap::new(), lost: Vec::new() };
            let prefix = self.path.as_bytes().len();
            walk(fs, self.path.as_bytes(), found, &mut |step, place| match step {
                Step::Enter => writer.add(place, prefix),
                Step::Leave => Ok(()),
            })?;
            let lost = writer.finish()?;
            warn_of(&lost);
            Ok(())
        })
    }
}

struct Archive<'a, W: Write> {
    fs: &'a Shared,
    builder: Builder<W>,
    /// Where inodes with several names went first.
    links: HashMap<Ino, Vec<u8>>,
    lost: Vec<String>,
}

/// Records in front of an entry: what its header has no room for.
type Records = Vec<(String, Vec<u8>)>;

impl<W: Write> Archive<'_, W> {
    fn add(&mut self, place: &Place, prefix: usize) -> Outcome {
        let below = place.path.get(prefix..).unwrap_or_default();
        let name = below.strip_prefix(b"/").unwrap_or(below);
        let mut name = if name.is_empty() { b".".to_vec() } else { [b"./", name].concat() };
        let attr = &place.attr;
        if attr.kind == FileKind::Dir {
            name.push(b'/');
        }
        if attr.kind == FileKind::Socket {
            self.lost
                .push(format!("{}: a socket, which no archive holds; left out", text::name(&place.path)));
            return Ok(());
        }
        let mut header = header(attr);
        let mut records = records(&name, attr);
        if let Some(first) = self.links.get(&attr.ino) {
            header.set_entry_type(EntryType::Link);
            records.push(("linkpath".into(), first.clone()));
            return self.entry(&mut header, &records, io::empty(), 0);
        }
        if attr.nlink > 1 && attr.kind != FileKind::Dir {
            self.links.insert(attr.ino, name);
        }
        self.xattrs(place, &mut records)?;
        match attr.kind {
            FileKind::File => self.file(place, &mut header, records),
            FileKind::Symlink => {
                let target =
                    self.fs.readlink(attr.ino).map_err(|error| Failure::inside(&place.path, &error))?;
                records.push(("linkpath".into(), target));
                self.entry(&mut header, &records, io::empty(), 0)
            }
            _ => self.entry(&mut header, &records, io::empty(), 0),
        }
    }

    fn xattrs(&self, place: &Place, records: &mut Records) -> Outcome {
        let inside = |error| Failure::inside(&place.path, &error);
        for name in self.fs.list_xattr(place.attr.ino).map_err(inside)? {
            let value = self.fs.xattr(place.attr.ino, &name).map_err(inside)?;
            records.push((format!("SCHILY.xattr.{}", String::from_utf8_lossy(&name)), value));
        }
        Ok(())
    }

    /// A file; with holes as GNU tar's sparse format 1.0: a map in decimal in front of the data.
    fn file(&mut self, place: &Place, header: &mut Header, mut records: Records) -> Outcome {
        let ranges = self.ranges(place)?;
        let size = place.attr.size;
        let stored: u64 = ranges.iter().map(|(start, end)| end - start).sum();
        if stored == size {
            let data = Data::new(self.fs, place.attr.ino, vec![(0, size)], Vec::new());
            return self.entry(header, &records, data, size);
        }
        let mut map = format!("{}\n", ranges.len());
        for (start, end) in &ranges {
            // Writing to a string cannot fail.
            let _ = writeln!(map, "{start}\n{}", end - start);
        }
        let mut map = map.into_bytes();
        map.resize(map.len().next_multiple_of(512), 0);
        let (real, length) = (size.to_string().into_bytes(), map.len() as u64 + stored);
        let name = records.first().map(|(_, name)| name.clone()).unwrap_or_default();
        records.extend([
            ("GNU.sparse.major".into(), b"1".to_vec()),
            ("GNU.sparse.minor".into(), b"0".to_vec()),
            ("GNU.sparse.name".into(), name),
            ("GNU.sparse.realsize".into(), real),
        ]);
        let data = Data::new(self.fs, place.attr.ino, ranges, map);
        self.entry(header, &records, data, length)
    }

    /// Where there are data.
    fn ranges(&self, place: &Place) -> Outcome<Vec<(u64, u64)>> {
        let inside = |error| Failure::inside(&place.path, &error);
        let mut ranges = Vec::new();
        let mut at = 0;
        loop {
            let start = match self.fs.seek(place.attr.ino, at, Seek::Data) {
                Ok(start) => start,
                Err(error) if error.errno() == Errno::NoAddress => return Ok(ranges),
                Err(error) => return Err(inside(error)),
            };
            at = self.fs.seek(place.attr.ino, start, Seek::Hole).map_err(inside)?;
            ranges.push((start, at));
        }
    }

    fn entry(&mut self, header: &mut Header, records: &Records, data: impl Read, size: u64) -> Outcome {
        let failed = |error: io::Error| {
            if error.kind() == io::ErrorKind::BrokenPipe {
                return Failure::new("");
            }
            Failure::new(format!("cannot write the archive: {}", host_reason(&error)))
        };
        let records = records.iter().map(|(key, value)| (key.as_str(), value.as_slice()));
        self.builder.append_pax_extensions(records).map_err(failed)?;
        header.set_size(size);
        header.set_cksum();
        self.builder.append(header, data).map_err(failed)
    }

    fn finish(self) -> Outcome<Vec<String>> {
        let failed =
            |error: io::Error| Failure::new(format!("cannot write the archive: {}", host_reason(&error)));
        let mut out = self.builder.into_inner().map_err(failed)?;
        out.flush().map_err(failed)?;
        Ok(self.lost)
    }
}

fn header(attr: &Attr) -> Header {
    let mut header = Header::new_ustar();
    header.set_mode(attr.perm);
    // Numbers that do not fit stand in a record.
    header.set_uid(u64::from(attr.uid.min(0o777_7777)));
    header.set_gid(u64::from(attr.gid.min(0o777_7777)));
    header.set_mtime(u64::try_from(attr.mtime.seconds).unwrap_or(0).min(0o777_7777_7777));
    header.set_entry_type(match attr.kind {
        FileKind::Dir => EntryType::Directory,
        FileKind::Symlink => EntryType::Symlink,
        FileKind::Fifo => EntryType::Fifo,
        FileKind::CharDevice => EntryType::Char,
        FileKind::BlockDevice => EntryType::Block,
        FileKind::File | FileKind::Socket => EntryType::Regular,
    });
    let (major, minor) = text::device(attr.rdev);
    // Only formats without these fields refuse them.
    let _ = header.set_device_major(major).and_then(|()| header.set_device_minor(minor));
    header
}

fn records(name: &[u8], attr: &Attr) -> Records {
    let time = |time: Timestamp| {
        // The fraction counts away from zero, where the kernel's counts forwards.
        let (seconds, nanos) = if time.seconds < 0 && time.nanos > 0 {
            (time.seconds + 1, 1_000_000_000 - time.nanos)
        } else {
            (time.seconds, time.nanos)
        };
        let sign = if time.seconds < 0 && seconds == 0 { "-" } else { "" };
        format!("{sign}{seconds}.{nanos:09}").into_bytes()
    };
    vec![
        ("path".into(), name.to_vec()),
        ("mtime".into(), time(attr.mtime)),
        ("atime".into(), time(attr.atime)),
        ("ctime".into(), time(attr.ctime)),
        ("uid".into(), attr.uid.to_string().into_bytes()),
        ("gid".into(), attr.gid.to_string().into_bytes()),
    ]
}

/// The bytes of an entry: a map, if there is one, and ranges of a file.
struct Data<'a> {
    fs: &'a Shared,
    ino: Ino,
    ranges: std::vec::IntoIter<(u64, u64)>,
    here: (u64, u64),
    map: io::Cursor<Vec<u8>>,
}

impl<'a> Data<'a> {
    fn new(fs: &'a Shared, ino: Ino, ranges: Vec<(u64, u64)>, map: Vec<u8>) -> Data<'a> {
        Data { fs, ino, ranges: ranges.into_iter(), here: (0, 0), map: io::Cursor::new(map) }
    }
}

impl Read for Data<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.map.read(buffer)?;
        if got > 0 {
            return Ok(got);
        }
        while self.here.0 >= self.here.1 {
            match self.ranges.next() {
                Some(range) => self.here = range,
                None => return Ok(0),
            }
        }
        let (start, end) = self.here;
        let length = usize::try_from(end - start).map_or(buffer.len(), |left| left.min(buffer.len()));
        let chunk = buffer.get_mut(..length).unwrap_or_default();
        let got =
            self.fs.read(self.ino, start, chunk).map_err(|error| io::Error::other(error.to_string()))?;
        self.here.0 += got as u64;
        Ok(got)
    }
}
