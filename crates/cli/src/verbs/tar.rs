//! `pumice tar`: writes a tree as an archive.

use std::{
    collections::HashMap,
    ffi::OsString,
    io::{self, IsTerminal, Read, Write},
    os::unix::ffi::OsStrExt,
    path::PathBuf,
};

use pumice_vfs::{Attr, FileKind, Ino, Timestamp};
use tar::{Builder, EntryType, Header};

use crate::{
    context::Context,
    failure::{Failure, Outcome, host_reason},
    image::{Access, Shared, with_volume},
    interrupt::Watched,
    losses::Losses,
    path,
    source::archive::encoded,
    staged::Staged,
    text,
    tree::{
        CHUNK,
        allowance::Allowance,
        ranges::Data,
        walk::{Place, Step, walk},
        xattrs,
    },
    verbs::Image,
};

/// Write a tree of an image as a tar archive, with owners, times, attributes and holes
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Image,
    /// Path to archive
    #[arg(default_value = "/")]
    path: OsString,
    /// Archive to make [default: standard output]; it appears when it is complete
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(short, long, requires = "output")]
    force: bool,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        with_volume(&self.image.image, Access::Read, context, |fs| {
            let found = path::find(fs, &self.path)?;
            let losses = Losses::kept();
            match &self.output {
                None if io::stdout().is_terminal() => {
                    return Err(Failure::usage(
                        "an archive is not for a terminal; name a file with -o, or a pipe",
                    ));
                }
                None => self.write(fs, &found, io::stdout().lock(), &losses)?,
                Some(output) => {
                    let staged = Staged::new(output, self.force, &context.interrupt)?;
                    let file = Watched::new(staged.open()?, &context.interrupt);
                    let written = self.write(fs, &found, file, &losses);
                    written.map_err(|failure| staged.explain(&failure))?;
                    staged.commit()?;
                }
            }
            losses.end()
        })
    }

    fn write(&self, fs: &Shared, found: &Attr, out: impl Write, losses: &Losses) -> Outcome {
        let builder = Builder::new(io::BufWriter::with_capacity(CHUNK, out));
        let allowance = Allowance::of(fs);
        let mut writer = Archive { fs, builder, links: HashMap::new(), losses, allowance };
        let prefix = self.path.as_bytes().len();
        walk(fs, self.path.as_bytes(), found, losses, &mut |step, place| match step {
            Step::Enter => writer.add(place, prefix),
            Step::Leave => Ok(()),
        })?;
        writer.finish()
    }
}

struct Archive<'a, W: Write> {
    fs: &'a Shared,
    builder: Builder<W>,
    /// Inodes with several names: where the first went, and how many are still to come.
    links: HashMap<Ino, (Box<[u8]>, u32)>,
    losses: &'a Losses,
    allowance: Allowance,
}

/// Records in front of an entry: the fields that its header has no room for.
type Records = Vec<(String, Vec<u8>)>;

impl<W: Write> Archive<'_, W> {
    fn add(&mut self, place: &Place<'_>, prefix: usize) -> Outcome {
        self.note_losses()?;
        let below = place.path.get(prefix..).unwrap_or_default();
        let name = below.strip_prefix(b"/").unwrap_or(below);
        let mut name = if name.is_empty() { b".".to_vec() } else { [b"./", name].concat() };
        let attr = place.attr;
        if attr.kind == FileKind::Dir {
            name.push(b'/');
        }
        if attr.kind == FileKind::Socket {
            crate::message::complain(&format!(
                "{}: a socket, which no archive holds; left out",
                text::name(place.path)
            ));
            return Ok(());
        }
        if attr.nlink > 1 && attr.kind != FileKind::Dir && self.link(&name, attr)? {
            return Ok(());
        }
        let mut header = header(attr);
        let mut records = records(&name, attr);
        self.xattrs(place, &mut records);
        let is_in = match attr.kind {
            FileKind::File => self.file(place, &mut header, records)?,
            FileKind::Symlink => self.symlink(place, &mut header, records)?,
            _ => self.entry(&mut header, &records, io::empty(), 0).map(|()| true)?,
        };
        if is_in && attr.nlink > 1 && attr.kind != FileKind::Dir {
            self.links.insert(attr.ino, (name.into(), attr.nlink - 1));
        }
        Ok(())
    }

    /// One more name of a file in the archive; false if it is not there yet.
    fn link(&mut self, name: &[u8], attr: &Attr) -> Outcome<bool> {
        let Some((first, left)) = self.links.get_mut(&attr.ino) else { return Ok(false) };
        let mut records = records(name, attr);
        records.push(("linkpath".into(), first.to_vec()));
        *left -= 1;
        if *left == 0 {
            self.links.remove(&attr.ino);
        }
        let mut header = header(attr);
        header.set_entry_type(EntryType::Link);
        self.entry(&mut header, &records, io::empty(), 0).map(|()| true)
    }

    fn symlink(&mut self, place: &Place<'_>, header: &mut Header, mut records: Records) -> Outcome<bool> {
        match self.fs.readlink(place.attr.ino) {
            Ok(target) => records.push(("linkpath".into(), target)),
            Err(error) => return Ok(self.lose(&Failure::inside(place.path, &error))),
        }
        self.entry(header, &records, io::empty(), 0).map(|()| true)
    }

    fn xattrs(&self, place: &Place<'_>, records: &mut Records) {
        let found = self.losses.pass(xattrs(self.fs, place.path, place.attr.ino)).unwrap_or_default();
        for (name, value) in found {
            records.push((format!("SCHILY.xattr.{}", String::from_utf8_lossy(&encoded(&name))), value));
        }
    }

    /// A file; with holes as GNU tar's sparse format 1.0: a map in decimal in front of the data. False if nothing of it
    /// can be read.
    fn file(&mut self, place: &Place<'_>, header: &mut Header, mut records: Records) -> Outcome<bool> {
        let data = Data::of(self.fs, place.attr);
        let allowed = data.and_then(|data| self.allowance.take(data.data_bytes()).map(|()| data));
        let mut data = match allowed {
            Ok(data) => data,
            Err(error) => return Ok(self.lose(&Failure::inside(place.path, &error))),
        };
        let size = data.size();
        let mut length = data.stored();
        if length != size {
            data.put_map();
            length += data.map_bytes();
            let name = records.first().map(|(_, name)| name.clone()).unwrap_or_default();
            records.extend([
                ("GNU.sparse.major".into(), b"1".to_vec()),
                ("GNU.sparse.minor".into(), b"0".to_vec()),
                ("GNU.sparse.name".into(), name),
                ("GNU.sparse.realsize".into(), size.to_string().into_bytes()),
            ]);
        }
        self.entry(header, &records, &mut data, length)?;
        if let Some(missing) = data.missing() {
            self.lose(&Failure::new(format!("{}: {missing}", text::name(place.path))));
        }
        Ok(true)
    }

    fn lose(&self, failure: &Failure) -> bool {
        self.losses.add(failure);
        false
    }

    fn entry(&mut self, header: &mut Header, records: &Records, data: impl Read, size: u64) -> Outcome {
        let records = records.iter().map(|(key, value)| (key.as_str(), value.as_slice()));
        self.builder.append_pax_extensions(records).map_err(|error| failed(&error))?;
        header.set_size(size);
        header.set_cksum();
        self.builder.append(header, data).map_err(|error| failed(&error))
    }

    /// Lists the missing parts in the archive itself: comments, which programs pass over.
    fn note_losses(&mut self) -> Outcome {
        let told = self.losses.take_told();
        if told.is_empty() {
            return Ok(());
        }
        let comments: Vec<u8> = told.lines().flat_map(comment).collect();
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::XGlobalHeader);
        header.set_mode(0o644);
        header.set_size(comments.len() as u64);
        header.set_cksum();
        self.builder.append(&header, &*comments).map_err(|error| failed(&error))
    }

    fn finish(mut self) -> Outcome {
        self.note_losses()?;
        let mut out = self.builder.into_inner().map_err(|error| failed(&error))?;
        out.flush().map_err(|error| failed(&error))
    }
}

/// The failure of a write. A reader that has gone away (`| head`) is not worth a word; the exit code tells.
fn failed(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failure::new("");
    }
    Failure::new(format!("cannot write the archive: {}", host_reason(error)))
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

/// A record of pax: its length, itself among it, a key and a value.
fn comment(text: &str) -> Vec<u8> {
    let rest = format!(" comment={text}\n");
    let mut length = rest.len() + 1;
    while length.to_string().len() + rest.len() != length {
        length = length.to_string().len() + rest.len();
    }
    format!("{length}{rest}").into_bytes()
}
