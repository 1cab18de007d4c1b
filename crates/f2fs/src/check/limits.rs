//! Inodes: Linux's limits, which are stricter than reading needs. It takes an inode that breaks one for damaged.

use super::{codes::Code, findings::Object, worker::Worker};
use crate::layout::{Advise, EXTRA_BYTES, ExtraAttr, Features, InlineFlags, Inode, InodeFlags};

/// Words that a list of attributes needs for its head.
const XATTR_WORDS_MIN: u16 = 6;
/// Words that an inline directory needs for `.` and `..`, and the first address in front of it.
const DIRECTORY_WORDS_MIN: u32 = 10 + 1;
/// Longest name in bytes.
const NAME_MAX: u32 = 255;
/// Compression levels of lz4 with high compression, besides 0; of zstd.
const LZ4_LEVELS: std::ops::RangeInclusive<u16> = 3..=12;
const ZSTD_LEVELS: std::ops::RangeInclusive<u16> = 1..=22;

impl Worker<'_> {
    pub(super) fn check_limits(&mut self, inode: &Inode) {
        self.check_flags(inode);
        let wrong = [self.extra_size(inode), self.xattr_size(inode)];
        for wrong in wrong.into_iter().flatten() {
            self.findings.add(Code::InodeExtra, Object::Inode(inode.ino), || wrong);
        }
        if let Some(wrong) = inode.compression().and_then(|extra| compression(inode, extra)) {
            self.findings.add(Code::InodeCompression, Object::Inode(inode.ino), || wrong);
        }
        if inode.name_len > NAME_MAX {
            self.findings.add(Code::InodeName, Object::Inode(inode.ino), || {
                format!("the name that it carries has {} bytes, and {NAME_MAX} are the most", inode.name_len)
            });
        }
    }

    /// Flags need the feature of the volume that they belong to.
    fn check_flags(&mut self, inode: &Inode) {
        let folded = inode.flags.has(InodeFlags::CASEFOLD);
        let flags = [
            (inode.extra.is_some(), Features::EXTRA_ATTR, "extra_attr"),
            (inode.advise.has(Advise::ENCRYPT), Features::ENCRYPT, "encrypt"),
            (inode.is_verity(), Features::VERITY, "verity"),
            (folded, Features::CASEFOLD, "casefold"),
            (inode.compression().is_some(), Features::COMPRESSION, "compression"),
            (inode.flags.has(InodeFlags::DEVICE_ALIAS), Features::DEVICE_ALIAS, "device_alias"),
        ];
        for (set, feature, name) in flags {
            if set && !self.volume.features().has(feature) {
                self.findings.add(Code::InodeFlags, Object::Inode(inode.ino), || {
                    format!("it needs the feature {name}, which the volume does not have")
                });
            }
        }
        if folded && !inode.is_casefolded() {
            self.findings.add(Code::InodeFlags, Object::Inode(inode.ino), || {
                "it ignores case, and is no directory".to_owned()
            });
        }
    }

    fn extra_size(&self, inode: &Inode) -> Option<String> {
        let flexible = self.volume.features().has(Features::FLEXIBLE_INLINE_XATTR);
        match inode.extra {
            Some(extra) if usize::from(extra.bytes) > EXTRA_BYTES => Some(format!(
                "its extra attributes have {} bytes, and {EXTRA_BYTES} are the most",
                extra.bytes
            )),
            None if flexible => {
                Some("it has no extra attributes, and flexible_inline_xattr needs them".to_owned())
            }
            _ => None,
        }
    }

    fn xattr_size(&self, inode: &Inode) -> Option<String> {
        let extra = inode.extra.filter(|_| self.volume.features().has(Features::FLEXIBLE_INLINE_XATTR))?;
        let words = extra.xattr_words;
        let taken = u32::try_from(EXTRA_BYTES / 4).unwrap_or(0) + DIRECTORY_WORDS_MIN;
        let most = self.volume.block_size().inode_words() - taken;
        let least = if inode.inline.has(InlineFlags::XATTR) { XATTR_WORDS_MIN } else { 0 };
        (words < least || u32::from(words) > most)
            .then(|| format!("{words} words are kept for attributes, want {least} to {most}"))
    }
}

fn compression(inode: &Inode, extra: &ExtraAttr) -> Option<String> {
    let blocks = inode.blocks.saturating_sub(1);
    if extra.saved_blocks > blocks {
        return Some(format!("compression saves {} blocks, and it has {blocks}", extra.saved_blocks));
    }
    let level = extra.compress_flag >> 8;
    let fits = match extra.algorithm {
        1 => level == 0 || LZ4_LEVELS.contains(&level),
        2 => ZSTD_LEVELS.contains(&level),
        _ => level == 0,
    };
    (!fits).then(|| format!("its compression {} has level {level}, which it does not have", extra.algorithm))
}
