//! Quota files, which are hidden inodes that the super block names: what they say that users, groups and projects use is
//! what these use.

use std::collections::{BTreeMap, HashSet};

use pumice_vfs::FileKind;
use zerocopy::FromBytes;

use super::{
    codes::Code,
    facts::Inodes,
    findings::{Findings, Object},
};
use crate::{
    layout::{
        CpFlags, Features, Inode, Nid, QUOTA_BLOCK_BYTES, QUOTA_LEVELS, QUOTA_MAGICS, QUOTA_VERSION,
        RawQuotaEntry, RawQuotaLeaf,
    },
    reader::Reader,
    volume::{Node, Volume},
};

/// Inodes and bytes.
type Usage = BTreeMap<u32, (u64, u64)>;

/// Compares the quota files of a volume that has some.
pub(super) fn check(reader: &Reader, inodes: &Inodes, findings: &mut Findings) {
    let volume = reader.nodes().volume();
    if !volume.features().has(Features::QUOTA_INO) {
        return;
    }
    let flags = volume.checkpoint().flags();
    // After a crash the next mount brings them up to date.
    let exact = flags.has(CpFlags::UMOUNT) && !flags.has(CpFlags::QUOTA_NEED_FSCK);
    for (kind, ino) in volume.super_block().quota_inodes().into_iter().enumerate() {
        if ino.is_null() {
            continue;
        }
        if let Some(stored) = read(reader, inodes, kind, ino, findings)
            && exact
        {
            compare(kind, &stored, &counted(volume, inodes, kind), findings);
        }
    }
}

/// What a quota file says.
fn read(reader: &Reader, inodes: &Inodes, kind: usize, ino: Nid, findings: &mut Findings) -> Option<Usage> {
    let is_file = inodes.find(ino).is_some_and(|facts| facts.kind == FileKind::File);
    let Some((inode, node)) = reader.nodes().inode(ino).ok().filter(|_| is_file) else {
        findings.add(Code::QuotaInode, Object::Inode(ino), || {
            "the super block names it for quota, and it is no file".to_owned()
        });
        return None;
    };
    let mut file = QuotaFile { reader, inode, node, seen: HashSet::new(), usage: Usage::new() };
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
    usage: Usage,
}

impl QuotaFile<'_> {
    fn load(&mut self, kind: usize) -> Result<(), String> {
        let head = self.block(0)?;
        let (magic, version) = (word(&head, 0), word(&head, 1));
        if QUOTA_MAGICS.get(kind) != Some(&magic) || version != QUOTA_VERSION {
            return Err(format!("the quota file has magic {magic:#010x} and version {version}"));
        }
        self.descend(1, 0)
    }

    /// A block of the tree: below its last level stand leaves.
    fn descend(&mut self, number: u32, level: u32) -> Result<(), String> {
        if !self.seen.insert(number) {
            // Ids that are close together share a leaf, but no other block.
            return if level == QUOTA_LEVELS {
                Ok(())
            } else {
                Err(format!("block {number} of the tree is in it twice"))
            };
        }
        let block = self.block(number)?;
        if level == QUOTA_LEVELS {
            self.take_leaf(&block);
            return Ok(());
        }
        for below in (0..QUOTA_BLOCK_BYTES / 4).map(|at| word(&block, at)).filter(|below| *below != 0) {
            self.descend(below, level + 1)?;
        }
        Ok(())
    }

    fn take_leaf(&mut self, block: &[u8]) {
        let entries = block
            .get(size_of::<RawQuotaLeaf>()..)
            .unwrap_or_default()
            .chunks_exact(size_of::<RawQuotaEntry>());
        for raw in entries.filter_map(|raw| RawQuotaEntry::read_from_bytes(raw).ok()) {
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

/// What users, groups or projects use: inodes, and blocks besides the inodes' own.
fn counted(volume: &Volume, inodes: &Inodes, kind: usize) -> Usage {
    let mut usage = Usage::new();
    let hidden = volume.super_block().quota_inodes();
    for facts in inodes.all().iter().filter(|facts| !hidden.contains(&facts.ino)) {
        let Some(id) = facts.owners.get(kind) else { continue };
        let entry = usage.entry(*id).or_default();
        entry.0 += 1;
        entry.1 += facts.counted_blocks().saturating_sub(1) * volume.block_size().bytes_u64();
    }
    usage
}

fn compare(kind: usize, stored: &Usage, counted: &Usage, findings: &mut Findings) {
    let ids: std::collections::BTreeSet<_> = stored.keys().chain(counted.keys()).collect();
    for id in ids {
        let (stored, counted) =
            (stored.get(id).copied().unwrap_or_default(), counted.get(id).copied().unwrap_or_default());
        if stored != counted {
            findings.add(Code::QuotaUsage, Object::Quota { kind, id: *id }, || {
                format!(
                    "it counts {} inodes and {} bytes, and there are {} and {}",
                    stored.0, stored.1, counted.0, counted.1
                )
            });
        }
    }
}
