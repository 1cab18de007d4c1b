//! A tree with every kind of file and every size class. Its contents can be told from their numbers.

use std::{collections::BTreeMap, io, ops::Range};

use pumice_f2fs::mkfs::{Attributes, Content, EntryId, Source, Tree};
use pumice_vfs::{FileKind, Timestamp};

/// A tree and the content of its files.
pub(crate) struct Sample {
    pub(crate) tree: Tree,
    pub(crate) files: Files,
}

/// Content by entry: where data are, and from which number on they count.
pub(crate) struct Files(BTreeMap<EntryId, (Vec<Range<u64>>, u64)>);

/// Files with this bit in their number hold bytes that cannot be compressed.
const NOISE: u64 = 1 << 63;

/// Byte `at` of a file: neither zero, nor the same in each block.
pub(crate) fn byte(salt: u64, at: u64) -> u8 {
    if salt & NOISE != 0 {
        return fastrand::Rng::with_seed(salt ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).u8(1..);
    }
    let word = (at / 7 + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word.to_le_bytes()[7] | 1
}

pub(crate) fn time(seconds: i64) -> Timestamp {
    Timestamp { seconds, nanos: 123_456_789 }
}

pub(crate) fn plain(kind: FileKind, number: i64) -> Attributes {
    Attributes {
        kind,
        uid: 1000,
        gid: 100,
        ..Attributes::directory(0o644, 0, 0, time(1_500_000_000 + number))
    }
}

impl Sample {
    pub(crate) fn new() -> Sample {
        let root = Attributes::directory(0o755, 0, 0, time(1_400_000_000));
        Sample { tree: Tree::new(root), files: Files(BTreeMap::new()) }
    }

    /// A file with data in some ranges.
    pub(crate) fn file(&mut self, dir: EntryId, name: &str, size: u64, ranges: &[Range<u64>]) -> EntryId {
        let salt = self.tree.len() as u64;
        let whole = ranges.iter().map(|range| range.end - range.start).sum::<u64>() == size;
        let what = Attributes { size, sparse: !whole, ..plain(FileKind::File, 7) };
        let made = self.tree.add(dir, name.as_bytes(), what).unwrap();
        self.files.0.insert(made, (ranges.to_vec(), salt));
        made
    }

    /// The same without holes.
    pub(crate) fn full(&mut self, dir: EntryId, name: &str, size: u64) -> EntryId {
        let all = [Range { start: 0, end: size }];
        self.file(dir, name, size, if size == 0 { &[] } else { &all })
    }

    /// A file that cannot be compressed.
    pub(crate) fn noise(&mut self, dir: EntryId, name: &str, size: u64) -> EntryId {
        let made = self.full(dir, name, size);
        self.files.0.entry(made).and_modify(|(_, salt)| *salt |= NOISE);
        made
    }

    pub(crate) fn dir(&mut self, dir: EntryId, name: &str) -> EntryId {
        self.tree.add(dir, name.as_bytes(), Attributes { perm: 0o750, ..plain(FileKind::Dir, 5) }).unwrap()
    }

    /// Everything there is. With `large`, files that need every level of nodes.
    pub(crate) fn everything(large: bool) -> Sample {
        let mut sample = Sample::new();
        let sizes = sample.dir(EntryId::ROOT, "sizes");
        for size in [0, 1, 100, 3400, 3488, 3489, 3692, 3693, 4095, 4096, 4097, 65_536, 1_000_001] {
            sample.full(sizes, &format!("size-{size}"), size);
        }
        if large {
            // The inode's own addresses, its two direct nodes, and an indirect one.
            sample.full(sizes, "size-direct", 873 * 4096 + 5);
            sample.full(sizes, "size-indirect", (873 + 2 * 1018 + 30) * 4096);
            sample.full(sizes, "song.mp3", 700_000);
            sample.full(sizes, "mail.db", 300_000);
        }
        sample.holes();
        sample.kinds();
        let many = sample.dir(EntryId::ROOT, "many");
        for number in 0..if large { 1000 } else { 200 } {
            sample.full(many, &format!("a name of some length {number:06}"), number % 3);
        }
        let mut deep = EntryId::ROOT;
        for level in 0..40 {
            deep = sample.dir(deep, &format!("level{level}"));
        }
        sample.attributes();
        sample
    }

    fn holes(&mut self) {
        let holes = self.dir(EntryId::ROOT, "holes");
        self.file(holes, "only", 1 << 20, &[]);
        self.file(holes, "middle", 100_000, &[0..4096, 40_960..50_000]);
        self.file(holes, "end", 5 << 20, &[10_000..20_000, 20_000..20_001]);
        // One block below each level of nodes.
        let (own, direct) = (873_u64, 1018_u64);
        let starts = [own, own + direct, own + 2 * direct, own + 2 * direct + direct * direct];
        let far = own + 2 * direct + 2 * direct * direct + 12_345;
        let ranges: Vec<_> = starts.into_iter().chain([far]).map(|at| at * 4096..at * 4096 + 4096).collect();
        self.file(holes, "far", (far + 1) * 4096, &ranges);
    }

    fn kinds(&mut self) {
        let kinds = self.dir(EntryId::ROOT, "kinds");
        let file = self.full(kinds, "first name", 5000);
        self.tree.link(kinds, b"second name", file).unwrap();
        self.tree.link(EntryId::ROOT, b"third name", file).unwrap();
        for (name, kind, rdev) in [
            ("fifo", FileKind::Fifo, 0),
            ("socket", FileKind::Socket, 0),
            ("null", FileKind::CharDevice, 0x103),
            ("large", FileKind::BlockDevice, 0x1234_5678),
        ] {
            self.tree.add(kinds, name.as_bytes(), Attributes { rdev, ..plain(kind, 9) }).unwrap();
        }
        for length in [1, 100, 3488, 3489, 4000] {
            let what = Attributes { target: vec![b'x'; length], perm: 0o777, ..plain(FileKind::Symlink, 3) };
            self.tree.add(kinds, format!("link-{length}").as_bytes(), what).unwrap();
        }
        for name in [&b"bad\xffutf8"[..], b"new\nline", "ü".as_bytes(), &[b'n'; 255]] {
            self.tree.add(kinds, name, plain(FileKind::Fifo, 1)).unwrap();
        }
    }

    fn attributes(&mut self) {
        let dir = self.dir(EntryId::ROOT, "attributes");
        for (number, length) in [1, 20, 150, 180, 400, 3000].into_iter().enumerate() {
            let file = self.full(dir, &format!("value-{length}"), 10);
            let what = self.tree.attributes_mut(file).unwrap();
            what.xattrs.insert(b"user.value".to_vec(), vec![b'v'; length]);
            what.xattrs.insert(b"trusted.number".to_vec(), vec![b'0' + u8::try_from(number).unwrap()]);
        }
        // Version 2; the owner, user 7, the group, a mask, and everybody else.
        let mut list = vec![2, 0, 0, 0];
        for (tag, perm, id) in
            [(1, 7, u32::MAX), (2, 5, 7), (4, 5, u32::MAX), (16, 5, u32::MAX), (32, 1, u32::MAX)]
        {
            list.extend([tag, 0, perm, 0]);
            list.extend(id.to_le_bytes());
        }
        let what = self.tree.attributes_mut(dir).unwrap();
        what.perm = 0o751;
        what.xattrs.insert(b"system.posix_acl_access".to_vec(), list.clone());
        what.xattrs.insert(b"system.posix_acl_default".to_vec(), list);
    }
}

impl Source for Files {
    fn open(&self, file: EntryId) -> io::Result<Box<dyn Content + '_>> {
        let (ranges, salt) = self.0.get(&file).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(File { ranges, salt: *salt }))
    }
}

struct File<'a> {
    ranges: &'a [Range<u64>],
    salt: u64,
}

impl Content for File<'_> {
    fn read(&mut self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        for (at, place) in (at..).zip(buffer) {
            let is_data = self.ranges.iter().any(|range| range.contains(&at));
            *place = if is_data { byte(self.salt, at) } else { 0 };
        }
        Ok(())
    }

    fn next_data(&mut self, from: u64) -> io::Result<Option<(u64, u64)>> {
        let next = self.ranges.iter().find(|range| range.end > from);
        Ok(next.map(|range| (range.start.max(from), range.end)))
    }
}
