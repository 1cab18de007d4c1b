//! The mount options of F2FS, most of them by Linux's names: each is obeyed, or accepted because nothing that users here
//! can see depends on it, or refused with a reason.

use pumice_f2fs::{
    CompressionRule, DiscardUnit, IdleCleaning, InPlace, Logging, QuotaKind, Streams, compress::Method,
};

use crate::{context::F2fsOptions, options::named};

/// What becomes of an option.
#[derive(Clone, Copy)]
enum Effect {
    /// It is obeyed, with its value.
    Obeyed(fn(&mut F2fsOptions, &str) -> Result<(), String>),
    /// Nothing. If it has a value, it is one of these.
    Nothing(&'static [&'static str]),
    /// It is refused, for a reason.
    Refused(&'static str),
}
use Effect::{Nothing, Obeyed, Refused};

/// An option: its name, with `=` if it has a value, that value in the help, and what becomes of it.
type Row = (&'static str, &'static str, Effect);

const INLINE: &str = "small files, directories and attributes are kept in their inodes";
const NAMED_QUOTA: &str = "use is counted in hidden quota files only";
const RESERVED: &str = "nothing is reserved for one user";
const FAULTS: &str = "faults are for tests of the kernel";

const TABLE: &[Row] = &[
    (
        "mode=",
        "adaptive|lfs",
        Obeyed(|f2fs, value| set(&mut f2fs.logging, named("mode", value, &Logging::NAMED))),
    ),
    (
        "active_logs=",
        "6|4|4-cold|2",
        Obeyed(|f2fs, value| set(&mut f2fs.streams, named("active_logs", value, &Streams::NAMED))),
    ),
    (
        "in_place=",
        "never|fsync|ssr|util|ssr_util|force",
        Obeyed(|f2fs, value| set(&mut f2fs.in_place, named("in_place", value, &InPlace::NAMED))),
    ),
    ("atgc", "", Obeyed(|f2fs, _| set(&mut f2fs.idle_cleaning, Ok(IdleCleaning::AgeThreshold)))),
    (
        "background_gc=",
        "on|off",
        Obeyed(|f2fs, value| {
            set(&mut f2fs.cleans_idle, named("background_gc", value, &[("on", true), ("off", false)]))
        }),
    ),
    (
        "compress_algorithm=",
        "lz4|zstd:3|...",
        Obeyed(|f2fs, value| set(&mut f2fs.compression.method, Method::parse(value))),
    ),
    (
        "compress_log_size=",
        "2..8",
        Obeyed(|f2fs, value| set(&mut f2fs.compression.log_blocks, log_size(value))),
    ),
    (
        "compress_extension=",
        "EXT",
        Obeyed(|f2fs, value| add(&mut f2fs.compression.extensions, value.to_owned())),
    ),
    ("nocompress_extension=", "EXT", Obeyed(|f2fs, value| add(&mut f2fs.compression.not, value.to_owned()))),
    ("compress_chksum", "", Obeyed(|f2fs, _| set(&mut f2fs.compression.checksum, Ok(true)))),
    ("discard", "", Obeyed(|f2fs, _| set(&mut f2fs.discard, Ok(true)))),
    ("nodiscard", "", Obeyed(|f2fs, _| set(&mut f2fs.discard, Ok(false)))),
    (
        "discard_unit=",
        "segment|section|block",
        Obeyed(|f2fs, value| set(&mut f2fs.discard_unit, named("discard_unit", value, &DiscardUnit::NAMED))),
    ),
    (
        "fsync_mode=",
        "posix|strict|nobarrier",
        Obeyed(|f2fs, value| set(&mut f2fs.strict_fsync, named("fsync_mode", value, &FSYNC_MODES))),
    ),
    ("quota", "", Obeyed(|f2fs, _| add(&mut f2fs.enforced, QuotaKind::User))),
    ("usrquota", "", Obeyed(|f2fs, _| add(&mut f2fs.enforced, QuotaKind::User))),
    ("grpquota", "", Obeyed(|f2fs, _| add(&mut f2fs.enforced, QuotaKind::Group))),
    ("prjquota", "", Obeyed(|f2fs, _| add(&mut f2fs.enforced, QuotaKind::Project))),
    ("noquota", "", Obeyed(|f2fs, _| set(&mut f2fs.enforced, Ok(Vec::new())))),
    ("gc_merge", "", Nothing(&[])),
    ("nogc_merge", "", Nothing(&[])),
    ("user_xattr", "", Nothing(&[])),
    ("acl", "", Nothing(&[])),
    ("inline_xattr", "", Nothing(&[])),
    ("inline_data", "", Nothing(&[])),
    ("inline_dentry", "", Nothing(&[])),
    ("disable_ext_identify", "", Nothing(&[])),
    ("flush_merge", "", Nothing(&[])),
    ("noflush_merge", "", Nothing(&[])),
    ("barrier", "", Nothing(&[])),
    ("nobarrier", "", Nothing(&[])),
    ("fastboot", "", Nothing(&[])),
    ("extent_cache", "", Nothing(&[])),
    ("noextent_cache", "", Nothing(&[])),
    ("age_extent_cache", "", Nothing(&[])),
    ("data_flush", "", Nothing(&[])),
    ("heap", "", Nothing(&[])),
    ("no_heap", "", Nothing(&[])),
    ("lazytime", "", Nothing(&[])),
    ("nolazytime", "", Nothing(&[])),
    ("inlinecrypt", "", Nothing(&[])),
    ("checkpoint_merge", "", Nothing(&[])),
    ("nocheckpoint_merge", "", Nothing(&[])),
    ("compress_cache", "", Nothing(&[])),
    ("alloc_mode=", "default|reuse", Nothing(&["default", "reuse"])),
    ("memory=", "normal|low", Nothing(&["normal", "low"])),
    ("jqfmt=", "vfsold|vfsv0|vfsv1", Nothing(&["vfsold", "vfsv0", "vfsv1"])),
    (
        "disable_roll_forward",
        "",
        Refused("what fsync promised would be lost; norecovery leaves it out and only reads"),
    ),
    ("nouser_xattr", "", Refused("attributes of users are kept")),
    ("noacl", "", Refused("access control lists hold")),
    ("noinline_xattr", "", Refused(INLINE)),
    ("noinline_data", "", Refused(INLINE)),
    ("noinline_dentry", "", Refused(INLINE)),
    ("inline_xattr_size=", "N", Refused("the room for attributes is that of mkfs")),
    ("reserve_root=", "N", Refused(RESERVED)),
    ("resuid=", "N", Refused(RESERVED)),
    ("resgid=", "N", Refused(RESERVED)),
    ("fault_injection=", "N", Refused(FAULTS)),
    ("fault_type=", "N", Refused(FAULTS)),
    ("usrjquota=", "FILE", Refused(NAMED_QUOTA)),
    ("grpjquota=", "FILE", Refused(NAMED_QUOTA)),
    ("prjjquota=", "FILE", Refused(NAMED_QUOTA)),
    ("test_dummy_encryption", "", Refused("keys come from --key-file")),
    ("test_dummy_encryption=", "V", Refused("keys come from --key-file")),
];

/// The modes of fsync, and whether names are kept with it. A barrier is never left out.
const FSYNC_MODES: [(&str, bool); 3] = [("posix", false), ("strict", true), ("nobarrier", false)];

/// Options of which some values are accepted and others refused: name, the values that change nothing, and the reason.
const BY_VALUE: &[(&str, &[&str], &str)] = &[
    ("checkpoint=", &["enable"], "sync always makes a checkpoint"),
    ("compress_mode=", &["fs"], "files are compressed as they are written"),
    ("errors=", &["remount-ro"], "after a failed write nothing more is written"),
];

fn set<T>(to: &mut T, value: Result<T, String>) -> Result<(), String> {
    *to = value?;
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "obeying an option may fail")]
fn add<T>(to: &mut Vec<T>, value: T) -> Result<(), String> {
    to.push(value);
    Ok(())
}

/// The name of an option, with `=` if it has a value, and the value.
fn parts(word: &str) -> (&str, &str) {
    word.find('=').map_or((word, ""), |at| word.split_at(at + 1))
}

/// True if it is an option of F2FS.
pub(super) fn is_option(word: &str) -> bool {
    let (name, _) = parts(word);
    TABLE.iter().any(|(known, ..)| *known == name) || BY_VALUE.iter().any(|(known, ..)| *known == name)
}

/// Takes an option of F2FS; false if it is none.
pub(super) fn take(word: &str, f2fs: &mut F2fsOptions) -> Result<bool, String> {
    let (name, value) = parts(word);
    let refused = |why: &str| Err(format!("mount option `{word}` is refused: {why}"));
    if let Some((_, accepted, why)) = BY_VALUE.iter().find(|(known, ..)| *known == name) {
        return if accepted.contains(&value) { Ok(true) } else { refused(why) };
    }
    let Some((_, shown, effect)) = TABLE.iter().find(|(known, ..)| *known == name) else { return Ok(false) };
    match effect {
        Obeyed(obey) => obey(f2fs, value)?,
        Nothing(values) if values.is_empty() || values.contains(&value) => {}
        Nothing(_) => return refused(&format!("its values are {shown}")),
        // Linux takes an empty name for none.
        Refused(_) if name.ends_with("jquota=") && value.is_empty() => {}
        Refused(why) => return refused(why),
    }
    Ok(true)
}

/// The options for the help: those that are obeyed, those that change nothing, and those that are refused.
pub(super) fn help() -> [String; 3] {
    let list = |wanted: fn(&Effect) -> bool| {
        let rows = TABLE.iter().filter(|(_, _, effect)| wanted(effect));
        rows.map(|(name, value, _)| format!("{name}{value}")).collect::<Vec<_>>()
    };
    let mut nothing = list(|effect| matches!(effect, Nothing(_)));
    nothing.extend(BY_VALUE.iter().map(|(name, values, _)| format!("{name}{}", values.join("|"))));
    [list(|effect| matches!(effect, Obeyed(_))), nothing, list(|effect| matches!(effect, Refused(_)))]
        .map(|words| words.join(", "))
}

/// Blocks of a cluster, as a power of two.
fn log_size(text: &str) -> Result<u8, String> {
    let sizes = CompressionRule::LOG_BLOCKS;
    let size = text.parse().ok().filter(|size| sizes.contains(size));
    size.ok_or_else(|| {
        format!("invalid compress_log_size `{text}` (want {} to {})", sizes.start(), sizes.end())
    })
}
