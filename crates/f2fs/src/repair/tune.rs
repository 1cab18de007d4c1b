//! Changes to what a super block says: label, lists of extensions, identity, features. They are written as a repair is.
//!
//! Another identity needs other checksums of inodes, and both cannot be changed at once. So the first super block has no
//! checksums of inodes in between, while the second still has them: by that the same change, begun anew, knows that they are
//! to come back.

use std::collections::BTreeMap;

use pumice_media::BlockDevice;
use pumice_vfs::Timestamp;

use super::{
    Done, Extent, Repair, bench::Bench, draft::Draft, is_safe, look, not_repaired, settle, super_blocks,
    work_out,
};
use crate::{
    check::Finding,
    crypt::{self, Context},
    error::{Error, Result},
    layout::{Features, RawSuperBlock, SuperBlock, XattrSpace},
    mkfs::extensions::Extensions,
    nodes::Nodes,
    volume::{Volume, read_super_block, read_super_blocks},
    write::medium::Device,
};

/// Bytes of metadata kept in memory.
const CACHE_BYTES: usize = 1 << 20;

/// The changes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tuning {
    /// The label.
    pub label: Option<String>,
    /// The identity.
    pub uuid: Option<[u8; 16]>,
    /// Extensions of files that are written once, to be added; behind a `!`, to be taken away.
    pub cold: Vec<String>,
    /// The same of files that are overwritten often.
    pub hot: Vec<String>,
    /// Features to be switched on, of [`Tuning::FEATURES`].
    pub features: Features,
}

impl Tuning {
    /// The features that can be switched on: nothing that is there changes its meaning by them.
    pub const FEATURES: [Features; 5] = [
        Features::ENCRYPT,
        Features::VERITY,
        Features::CASEFOLD,
        Features::COMPRESSION,
        Features::SB_CHECKSUM,
    ];

    /// The super block with these changes.
    fn of(&self, sb: &SuperBlock) -> Result<RawSuperBlock> {
        let mut raw = *sb.raw();
        if let Some(label) = &self.label
            && !raw.set_label(label)
        {
            return Err(refused("a label has at most 511 UTF-16 units"));
        }
        if let Some(uuid) = self.uuid {
            raw.set_uuid(uuid);
        }
        let mut extensions = Extensions::of(&raw);
        extensions.change(&self.cold, &self.hot).map_err(|error| Error::Unsupported(error.to_string()))?;
        extensions.fill(&mut raw);
        for name in self.features.names() {
            let feature = Features::by_name(name).unwrap_or_default();
            if !Tuning::FEATURES.contains(&feature) && !sb.features().has(feature) {
                return Err(refused(&format!("the feature {name} cannot be switched on later")));
            }
        }
        let features = sb.features().with(self.features);
        if features.has(Features::COMPRESSION) && !features.has(Features::EXTRA_ATTR) {
            return Err(refused("the feature compression needs extra_attr, which is not on"));
        }
        raw.switch_on(features);
        raw.seal();
        Ok(raw)
    }
}

/// Works out these changes to the volume on a device with blocks as large as the volume's. Nothing is written.
///
/// Another identity gives inodes other checksums: the volume must be sound then, and unmounted.
///
/// # Errors
/// If the volume is of a kind that is not repaired, if a change makes no sense, or if keys of encrypted files derive from
/// the identity that is changed.
pub fn tune(
    device: Box<dyn BlockDevice + Send>,
    tuning: &Tuning,
    now: Timestamp,
    threads: usize,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Repair> {
    let device = Device::new(device);
    let sb = read_super_block(&device)?;
    if let Some(what) = not_repaired(&sb) {
        return Err(refused(&what));
    }
    let lost_sums = lost_sums(&device, &sb).filter(|_| tuning.uuid.is_some());
    let is_another = lost_sums.is_some() || tuning.uuid.is_some_and(|uuid| uuid != sb.uuid());
    let whole = lost_sums.as_ref().unwrap_or(&sb);
    let raw = tuning.of(whole)?;
    let draft = Draft::new(std::sync::Arc::new(device.clone()), sb.block());
    let mut before = crate::check::Report::default();
    let has_sums = is_another && whole.features().has(Features::INODE_CHECKSUM);
    if is_another && sb.features().has(Features::ENCRYPT) {
        refuse_derived(&draft)?;
    }
    if has_sums {
        before = look(&draft, threads, progress)?;
        let is_of_cut = |finding: &Finding| lost_sums.is_some() && is_safe(finding.code);
        if !before.findings.iter().all(is_of_cut) {
            return Err(refused("it has problems; repair them first"));
        }
        if before.fsynced_nodes > 0 {
            return Err(refused("it was not unmounted; mount it first, to be written to"));
        }
    }
    super_blocks::write(&draft, &raw)?;
    let done = if has_sums {
        let mut done = work_out(&draft, Extent::All, now, threads, progress)?
            .unwrap_or_else(|| Done::nothing(before.clone()));
        done.steps.0.insert(0, without_sums(&device, &sb)?);
        done
    } else {
        let old = Volume::open(vec![Box::new(draft.fork())], CACHE_BYTES)?;
        Done { steps: settle::steps(&draft, &old, &[])?, ..Done::nothing(before.clone()) }
    };
    Ok(Repair {
        before,
        after: done.after,
        fixes: Vec::new(),
        broken: done.broken,
        lost: done.lost,
        steps: done.steps,
        draft,
        device,
    })
}

/// The super block with checksums of inodes, if the first copy has lost them to a change that was cut.
fn lost_sums(device: &Device, sb: &SuperBlock) -> Option<SuperBlock> {
    let [_, second] = read_super_blocks(device);
    let has_sums = second.is_ok_and(|second| second.features().has(Features::INODE_CHECKSUM));
    let mut raw = *sb.raw();
    raw.switch_on(sb.features().with(Features::INODE_CHECKSUM));
    raw.seal();
    SuperBlock::from_raw(raw).ok().filter(|_| has_sums && !sb.features().has(Features::INODE_CHECKSUM))
}

/// The block of the first super block without checksums of inodes.
fn without_sums(device: &Device, sb: &SuperBlock) -> Result<BTreeMap<u32, Vec<u8>>> {
    let draft = Draft::new(std::sync::Arc::new(device.clone()), sb.block());
    let mut raw = *sb.raw();
    raw.switch_on(Features(sb.features().0 & !Features::INODE_CHECKSUM.0));
    raw.seal();
    super_blocks::write(&draft, &raw)?;
    Ok(draft.changes().into_iter().filter(|(addr, _)| *addr == 0).collect())
}

/// Refuses another identity where keys derive from this one.
fn refuse_derived(draft: &Draft) -> Result<()> {
    let inodes = Bench::open(&draft.fork())?.inodes();
    let nodes = Nodes::new(Volume::open(vec![Box::new(draft.fork())], CACHE_BYTES)?);
    for ino in inodes {
        let (inode, node) = nodes.inode(ino)?;
        if !inode.is_encrypted() {
            continue;
        }
        let list = nodes.xattrs(&inode, &node)?;
        let is_context = |entry: &crate::layout::XattrEntry<'_>| {
            entry.space == XattrSpace::Encryption && entry.name == crypt::XATTR_NAME
        };
        let context = list.entries().filter_map(std::result::Result::ok).find(is_context);
        // A context that nobody knows here may be one of those.
        let is_free = context.is_some_and(|entry| Context::parse(entry.value).is_ok_and(|c| !c.needs_uuid()));
        if !is_free {
            return Err(refused(&format!("the key of inode {ino} may derive from its UUID")));
        }
    }
    Ok(())
}

fn refused(what: &str) -> Error {
    Error::Unsupported(format!("cannot be changed: {what}"))
}
