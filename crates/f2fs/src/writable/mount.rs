//! Opening a volume to write to it: refusals, and repairs that come first.

use pumice_media::BlockDevice;
use pumice_vfs::{Errno, Timestamp};

use super::{
    blocks::Blocks,
    keys::Keys,
    nodes::Nodes,
    options::{InPlace, Logging, WritableOptions},
    quota,
    replay::{replay, replay_sound},
    tree::Tree,
};
use crate::{
    compression::CompressionRule,
    error::{Error, Result},
    layout::{CpFlags, Features, SuperBlock},
    nodes::Nodes as StoredNodes,
    recovery::{BrokenPromise, Recovery},
    volume::{Volume, read_super_block},
    write::{
        Writer,
        medium::{Device, Medium},
        pack::Reserve,
    },
};

/// Features of volumes that cannot be written to.
const NOT_WRITTEN: [Features; 3] = [Features::BLKZONED, Features::RO, Features::DEVICE_ALIAS];

/// States of a volume that must be put right by others first.
const UNFIT: [(CpFlags, &str); 3] = [
    (CpFlags::ERROR, "the kernel met an error on it"),
    (CpFlags::FSCK, "it needs a check"),
    (CpFlags::RESIZEFS, "a resize of it did not end"),
];

const STALE: &str = "its quota files are out of date";

/// One segment in so many must be free before logs stop to fill holes.
const SCARCE: u32 = 20;
/// And so many at least: more than a call has to leave, so that holes are filled before anything is cleaned.
const SCARCE_MIN: u32 = 8;

/// A volume that was opened: its tree with the changes rolled forward, the state that its checkpoints keep, and the
/// seconds it was mounted in its life. Inodes without a name, which nobody holds, are still there.
pub(super) struct Opened {
    pub(super) tree: Tree,
    pub(super) recovery: Recovery,
    pub(super) reserve: Reserve,
    pub(super) elapsed: u64,
    /// A flag of its checkpoint holds no more: checkpoints are switched off, or quota files are out of date.
    pub(super) is_flagged: bool,
}

/// Opens a volume at its newer checkpoint. `now` makes generations differ from mount to mount.
pub(super) fn open(
    device: Box<dyn BlockDevice + Send>,
    options: &WritableOptions,
    now: Timestamp,
) -> Result<Opened> {
    if !CompressionRule::LOG_BLOCKS.contains(&options.compression.log_blocks) {
        return Err(Error::Errno(Errno::Invalid));
    }
    let block_bytes = device.block_bytes();
    let device = Device::new(device);
    let sb = read_super_block(&device)?;
    if block_bytes != sb.block().bytes() {
        return Err(unsupported(&format!(
            "its blocks have {} bytes, and the device was opened with {block_bytes}",
            sb.block().bytes()
        )));
    }
    check_kind(&sb)?;
    let mut nodes = StoredNodes::new(Volume::open(vec![Box::new(device.clone())], options.cache_bytes)?);
    check(nodes.volume())?;
    let recovery = nodes.recover(now)?;
    let mut tree = load(nodes.volume(), device, options, now)?;
    let flags = nodes.volume().checkpoint().flags();
    let is_stale = flags.has(CpFlags::QUOTA_NEED_FSCK);
    if is_stale {
        let counted = quota::count_anew(tree.blocks_mut(), nodes.volume());
        counted.map_err(|error| unsupported(&format!("{STALE}, and its use cannot be counted: {error}")))?;
    }
    for kind in &options.enforced {
        quota::enforce(tree.blocks_mut(), *kind)?;
    }
    if recovery.inodes > 0 {
        replay(&mut tree, &nodes)?;
    }
    let volume = nodes.volume();
    let elapsed = volume.checkpoint().raw().elapsed_time.get();
    let is_flagged = is_stale || flags.has(CpFlags::DISABLED);
    Ok(Opened { tree, recovery, reserve: Reserve::of(volume.checkpoint()), elapsed, is_flagged })
}

/// Opens a volume that was mended, whatever its features, and rolls `promised` forward, which an older checkpoint has.
/// Tells the promises that were not kept.
pub(super) fn open_mended(
    device: Box<dyn BlockDevice + Send>,
    options: &WritableOptions,
    now: Timestamp,
    promised: Option<&StoredNodes>,
) -> Result<(Opened, Vec<BrokenPromise>)> {
    let device = Device::new(device);
    let volume = Volume::open(vec![Box::new(device.clone())], options.cache_bytes)?;
    check_numbers(&volume)?;
    let mut tree = load(&volume, device, options, now)?;
    let broken = match promised {
        Some(promised) => replay_sound(&mut tree, promised)?,
        None => Vec::new(),
    };
    let (reserve, elapsed) = (Reserve::of(volume.checkpoint()), volume.checkpoint().raw().elapsed_time.get());
    let opened = Opened { tree, recovery: Recovery::default(), reserve, elapsed, is_flagged: false };
    Ok((opened, broken))
}

/// The tree of a volume as its checkpoint has it.
fn load(volume: &Volume, device: Device, options: &WritableOptions, now: Timestamp) -> Result<Tree> {
    let sb = volume.super_block();
    let discards = options.discard.then_some(options.discard_unit);
    let medium = Medium::cached(device, sb.block(), options.cache_bytes, discards);
    let scarce = scarce(sb.main_segments(), options.logging);
    let mut writer = Writer::load(volume, medium, scarce, options.streams)?;
    if volume.packs().iter().any(Result::is_err) {
        writer.clear_torn_pack()?;
    }
    let raw = volume.checkpoint().raw();
    let in_place = match options.logging {
        Logging::Adaptive => options.in_place,
        Logging::Normal => InPlace::Never,
    };
    let seed = volume.checkpoint().version() ^ now.seconds.cast_unsigned() ^ (u64::from(now.nanos) << 32);
    let keys = Keys::new(options.keys.clone());
    let blocks = Blocks::new(Nodes::new(writer), keys, in_place, raw.user_block_count.get());
    let mut tree = Tree::new(blocks, options.compression.clone(), seed);
    let orphans = volume.orphan_blocks()?.into_iter().flat_map(|block| block.inodes);
    orphans.for_each(|ino| tree.set_orphan(ino));
    Ok(tree)
}

/// The number of free segments at or below which logs fill holes first.
fn scarce(segments: u32, logging: Logging) -> u32 {
    match logging {
        Logging::Adaptive => (segments / SCARCE).max(SCARCE_MIN),
        Logging::Normal => 0,
    }
}

/// Checks that a volume is one that [`crate::WritableF2fs::mount`] takes, as far as can be told without doing it.
///
/// # Errors
/// The one of mounting it.
pub fn check_writable(volume: &Volume) -> Result<()> {
    check_kind(volume.super_block())?;
    check(volume)
}

fn check_kind(sb: &SuperBlock) -> Result<()> {
    for feature in NOT_WRITTEN {
        if sb.features().has(feature) {
            return Err(unsupported(&format!("it has the feature {feature}, which is read but not written")));
        }
    }
    if sb.devices().len() > 1 { Err(unsupported("it is on several devices")) } else { Ok(()) }
}

fn check(volume: &Volume) -> Result<()> {
    if let Some(passed) = volume.passed_over() {
        return Err(unsupported(&format!(
            "a newer checkpoint, version {}, cannot be used: {}",
            passed.version, passed.why
        )));
    }
    for (flag, what) in UNFIT {
        if volume.checkpoint().flags().has(flag) {
            return Err(unsupported(what));
        }
    }
    // Quota files with names are the business of Linux's tools.
    let is_stale = volume.checkpoint().flags().has(CpFlags::QUOTA_NEED_FSCK);
    if is_stale && !volume.features().has(Features::QUOTA_INO) {
        return Err(unsupported(STALE));
    }
    check_numbers(volume)
}

fn check_numbers(volume: &Volume) -> Result<()> {
    let raw = volume.checkpoint().raw();
    let segments = volume.super_block().main_segments();
    for head in volume.log_heads() {
        if head.segno.0 >= segments || head.offset >= 512 {
            let place = crate::error::Place::Segment(head.segno);
            return Err(crate::error::corrupt(place, "a log goes on at block", head.offset, segments));
        }
    }
    let blocks = u64::from(segments) * 512;
    if raw.user_block_count.get() > blocks || raw.valid_block_count.get() > blocks {
        let place = crate::error::Place::Checkpoint(volume.checkpoint().pack());
        return Err(crate::error::corrupt(place, "blocks in use are", raw.valid_block_count.get(), blocks));
    }
    Ok(())
}

fn unsupported(what: &str) -> Error {
    Error::Unsupported(format!("cannot be written to: {what}"))
}
