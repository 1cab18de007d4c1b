//! Quota files, which are hidden inodes named by the super block: their figures for users, groups and projects against
//! the true use.

use std::collections::{BTreeMap, HashSet};

use pumice_vfs::FileKind;
use zerocopy::FromBytes;

use super::{
    codes::Code,
    facts::{Facts, Inodes},
    findings::{Cure, Findings, Object},
};
use crate::{
    layout::{
        CpFlags, Features, Inode, Nid, QUOTA_BLOCK_BYTES, QUOTA_LEVELS, QUOTA_MAGICS, QUOTA_VERSION,
        RawQuotaEntry, RawQuotaLeaf, file_type,
    },
    reader::Reader,
    volume::{Node, Volume},
};

/// Inodes and bytes, by owner.
type Usage = BTreeMap<u32, (u64, u64)>;

/// The use of users, groups and projects: inodes, and blocks besides the inodes' own.
#[derive(Default)]
pub(super) struct Usages([Usage; 3]);

impl Usages {
    /// Adds an inode after its blocks were counted, unless nobody asks.
    pub(super) fn add(&mut self, volume: &Volume, facts: &Facts) {
        if !volume.features().has(Features::QUOTA_INO)
            || volume.super_block().quota_inodes().contains(&facts.ino)
        {
            return;
        }
        for (usage, id) in self.0.iter_mut().zip(facts.owners) {
            let entry = usage.entry(id).or_default();
            entry.0 += 1;
            entry.1 += facts.counted_blocks().saturating_sub(1) * volume.block_size().bytes_u64();
        }
    }

    /// Adds counts from elsewhere.
    pub(super) fn merge(&mut self, other: Usages) {
        for (usage, other) in self.0.iter_mut().zip(other.0) {
            for (id, (inodes, bytes)) in other {
                let entry = usage.entry(id).or_default();
                entry.0 += inodes;
                entry.1 += bytes;
            }
        }
    }
}

/// Compares the quota files of a volume that has some with the counts of all inodes.
pub(super) fn check(reader: &Reader, inodes: &Inodes<'_>, counted: &Usages, findings: &mut Findings) {
    let volume = reader.nodes().volume();
    if !volume.features().has(Features::QUOTA_INO) {
        return;
    }
    let flags = volume.checkpoint().flags();
    // After a crash the next mount brings them up to date.
    let exact = flags.has(CpFlags::UMOUNT) && !flags.has(CpFlags::QUOTA_NEED_FSCK);
    let quotas = volume.super_block().quota_inodes().into_iter().zip(&counted.0);
    for (kind, (ino, counted)) in quotas.enumerate().filter(|(_, (ino, _))| !ino.is_null()) {
        if let Some(stored) = read(reader, inodes, kind, ino, findings)
            && exact
        {
            compare(kind, &stored, counted, findings);
        }
    }
}

/// The contents of a quota file.
fn read(
    reader: &Reader,
    inodes: &Inodes<'_>,
    kind: usize,
    ino: Nid,
    findings: &mut Findings,
) -> Option<Usage> {
    let is_file = inodes.file_type(ino) == Some(file_type(FileKind::File));
    let Some((inode, node)) = reader.nodes().inode(ino).ok().filter(|_| is_file) else {
        findings.add(Code::QuotaInode, Object::Inode(ino), || {
            "the super block names it for quota, and it is no file".to_owned()
        });
        return None;
    };
    let mut file =
        QuotaFile { reader, inode, node, seen: HashSet::new(), leaves: HashSet::new(), usage: Usage::new() };
    match file.load(kind) {
        Ok(()) => Some(file.usage),
        Err(wrong) => {
            findings.add(Code::QuotaFile, Object::Inode(ino), || wrong);
            None
        }
    }
}

struct QuotaFile<'a> {
    reader: &'a Reader,
    inode: Inode,
    node: Node,
    seen: HashSet<u32>,
    /// Leaves, and the owners that they have.
    leaves: HashSet<(u32, u32)>,
    usage: Usage,
}

impl QuotaFile<'_> {
    fn load(&mut self, kind: usize) -> Result<(), String> {
        let main = self.reader.nodes().volume().super_block().main_bytes();
        if self.inode.is_larger_than(main) {
            return Err(format!("the quota file claims more bytes than all blocks have, {main}"));
        }
        let head = self.block(0)?;
        let (magic, version) = (word(&head, 0), word(&head, 1));
        if QUOTA_MAGICS.get(kind) != Some(&magic) || version != QUOTA_VERSION {
            return Err(format!("the quota file has magic {magic:#010x} and version {version}"));
        }
        self.descend(1, 0, 0)
    }

    /// A block of the tree: below its last level stand leaves. The owners below it begin with the bytes of `prefix`.
    fn descend(&mut self, number: u32, level: u32, prefix: u32) -> Result<(), String> {
        if !self.seen.insert(number) {
            return Err(format!("block {number} of the tree is in it twice"));
        }
        let block = self.block(number)?;
        let below = (0..).zip((0..QUOTA_BLOCK_BYTES / 4).map(|at| word(&block, at)));
        for (byte, below) in below.filter(|(_, below)| *below != 0) {
            let prefix = prefix << 8 | byte;
            if level + 1 == QUOTA_LEVELS {
                self.look_up(prefix, below)?;
            } else {
                self.descend(below, level + 1, prefix)?;
            }
        }
        Ok(())
    }

    /// The leaf of an owner, which others may share, has an entry of it.
    fn look_up(&mut self, id: u32, leaf: u32) -> Result<(), String> {
        if self.seen.insert(leaf) {
            let block = self.block(leaf)?;
            self.take_leaf(leaf, &block);
        }
        if self.leaves.contains(&(leaf, id)) {
            Ok(())
        } else {
            Err(format!("block {leaf} of the tree has no entry of {id}, to which it leads"))
        }
    }

    fn take_leaf(&mut self, number: u32, block: &[u8]) {
        let entries = block
            .get(size_of::<RawQuotaLeaf>()..)
            .unwrap_or_default()
            .chunks_exact(size_of::<RawQuotaEntry>());
        let used = entries.filter(|raw| raw.iter().any(|byte| *byte != 0));
        for raw in used.filter_map(|raw| RawQuotaEntry::read_from_bytes(raw).ok()) {
            self.leaves.insert((number, raw.id.get()));
            let usage = (raw.inodes.get(), raw.bytes.get());
            if usage != (0, 0) {
                self.usage.insert(raw.id.get(), usage);
            }
        }
    }

    fn block(&self, number: u32) -> Result<Vec<u8>, String> {
        let mut block = vec![0; QUOTA_BLOCK_BYTES];
        let at = u64::from(number) * QUOTA_BLOCK_BYTES as u64;
        match self.reader.read(&self.inode, &self.node, at, &mut block) {
            Ok(QUOTA_BLOCK_BYTES) => Ok(block),
            Ok(_) => Err(format!("block {number} of the tree is beyond the end of the file")),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn word(block: &[u8], at: usize) -> u32 {
    block.get(at * 4..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn compare(kind: usize, stored: &Usage, counted: &Usage, findings: &mut Findings) {
    let ids: std::collections::BTreeSet<_> = stored.keys().chain(counted.keys()).collect();
    for id in ids {
        let (stored, counted) =
            (stored.get(id).copied().unwrap_or_default(), counted.get(id).copied().unwrap_or_default());
        if stored != counted {
            let more = |stored: u64, counted: u64| counted.wrapping_sub(stored).cast_signed();
            let right = Cure::Usage(more(stored.0, counted.0), more(stored.1, counted.1));
            findings.add_with(Code::QuotaUsage, Object::Quota { kind, id: *id }, right, || {
                format!(
                    "it counts {} inodes and {} bytes, and there are {} and {}",
                    stored.0, stored.1, counted.0, counted.1
                )
            });
        }
    }
}
