//! Repair: every finding of the check is put right in a draft, until the check finds nothing more; then the draft goes to
//! the medium as a checkpoint does.
//!
//! [`plan`] changes nothing. It gives a [`Repair`] that says what was found, what is done about it and what is left;
//! [`Repair::commit`] writes it, and [`Repair::undo`] is the way back. If power fails meanwhile the next repair finds
//! the volume as it was, or as it is mended but for tables that are derived ([`settle`]).
//!
//! Findings are mended in the order of their stages, and a stage only when those before it have nothing left:
//! what is derived from the nodes is never made from nodes that are still wrong.

mod bench;
mod draft;
mod pack;
mod packs;
mod settle;
mod super_blocks;
mod tables;
mod undo;

use std::{collections::BTreeSet, sync::Arc};

use pumice_media::BlockDevice;

pub use self::undo::Undo;
use self::{bench::Bench, draft::Draft, settle::Steps};
use crate::{
    check::{Code, Finding, Report, check_in_full},
    error::{Error, Result},
    layout::{BlockAddr, CpFlags, Features, SuperBlock},
    volume::{Volume, read_super_block},
    write::medium::{Device, Medium},
};

/// Bytes of metadata kept in memory.
const CACHE_BYTES: usize = 1 << 20;
/// Looks at the volume at most.
const ROUNDS: usize = 64;

/// The faults that are put right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Those that lose nothing, if there are no others: tables, counts, copies, notes.
    Safe,
    /// All that can be.
    All,
}

/// A fault that is put right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fix {
    /// The fault.
    pub finding: Finding,
}

/// A repair that is ready to be written.
pub struct Repair {
    before: Report,
    after: Report,
    fixes: Vec<Fix>,
    steps: Steps,
    draft: Draft,
    device: Device,
}

/// The order of repairs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Stage {
    /// Tables and counts, derived from nodes and names.
    Tables,
    /// Notes that something was wrong.
    Notes,
}

impl Stage {
    const ALL: [Stage; 2] = [Stage::Tables, Stage::Notes];

    /// The stage that mends a fault; `None` if nothing does.
    fn of(code: Code) -> Option<Stage> {
        match code {
            Code::SitCount
            | Code::SitKind
            | Code::SitMissing
            | Code::SitExtra
            | Code::SsaKind
            | Code::SsaOwner
            | Code::LogSegment
            | Code::LogSegmentKind
            | Code::LogNextBlock
            | Code::LogAllocation
            | Code::NatBits
            | Code::JournalSit
            | Code::OrphanInode
            | Code::OrphanNamed
            | Code::CheckpointNumbers
            | Code::CheckpointValidBlocks
            | Code::CheckpointValidNodes
            | Code::CheckpointValidInodes
            | Code::CheckpointFreeSegments => Some(Stage::Tables),
            Code::CheckpointFlag | Code::SuperBlockErrors => Some(Stage::Notes),
            _ => None,
        }
    }
}

/// True if the repair of a fault loses nothing.
fn is_safe(code: Code) -> bool {
    Stage::of(code).is_some() || matches!(code, Code::SuperBlock | Code::SuperBlockCopy)
}

/// Works out a repair of the volume on a device with blocks as large as the volume's. Nothing is written.
///
/// # Errors
/// If the volume cannot be opened at all, or is of a kind that is not repaired: on several devices, zoned, or made to be
/// read only.
pub fn plan(
    device: Box<dyn BlockDevice + Send>,
    extent: Extent,
    threads: usize,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Repair> {
    let block_bytes = device.block_bytes();
    let device = Device::new(device);
    let sb = read_super_block(&device)?;
    refuse(&sb, block_bytes)?;
    let draft = Draft::new(Arc::new(device.clone()), sb.block());
    let before = look(&draft, threads, progress)?;
    let unsafe_ones = before.findings.iter().any(|finding| !is_safe(finding.code));
    let after = if before.count == 0 || (extent == Extent::Safe && unsafe_ones) {
        None
    } else {
        work_out(&draft, &before, extent, threads, progress)?
    };
    let (after, steps) = after.unwrap_or_else(|| (before.clone(), Steps::default()));
    let left: BTreeSet<String> = after.findings.iter().map(name).collect();
    let gone = before.findings.iter().filter(|finding| !left.contains(&name(finding)));
    let fixes = gone.map(|finding| Fix { finding: finding.clone() }).collect();
    Ok(Repair { before, after, fixes, steps, draft, device })
}

/// Mends the draft. Returns what is left, and the way to the medium; `None` if nothing can be known of the volume.
fn work_out(
    draft: &Draft,
    before: &Report,
    extent: Extent,
    threads: usize,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Option<(Report, Steps)>> {
    super_blocks::mend(draft, threads)?;
    let sb = read_super_block(draft)?;
    packs::mend(draft, &sb, extent == Extent::All)?;
    let old = match Volume::open(vec![Box::new(draft.fork())], CACHE_BYTES) {
        Ok(old) => old,
        // No checkpoint can be used: nothing is known of the volume.
        Err(Error::Corrupt(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    if before.fsynced_nodes > 0 && look(draft, threads, progress)?.count > 0 {
        return Err(Error::Unsupported(
            "cannot be repaired: promises of fsync wait for the next mount".to_owned(),
        ));
    }
    let after = rounds(draft, threads, progress)?;
    Ok(Some((after, settle::steps(draft, &old)?)))
}

fn name(finding: &Finding) -> String {
    format!("{} {}", finding.code.name(), finding.object)
}

fn refuse(sb: &SuperBlock, block_bytes: u32) -> Result<()> {
    let refused = |what: &str| Err(Error::Unsupported(format!("cannot be repaired: {what}")));
    if block_bytes != sb.block().bytes() {
        return refused(&format!(
            "its blocks have {} bytes, and the device's {block_bytes}",
            sb.block().bytes()
        ));
    }
    if sb.devices().len() > 1 {
        return refused("it is on several devices");
    }
    for feature in [Features::BLKZONED, Features::RO] {
        if sb.features().has(feature) {
            return refused(&format!("it has the feature {feature}"));
        }
    }
    Ok(())
}

fn look(draft: &Draft, threads: usize, progress: &mut dyn FnMut(u64, u64)) -> Result<Report> {
    check_in_full(vec![Box::new(draft.clone())], threads, progress)
}

/// Looks and mends until nothing more is found, or nothing more can be done. Returns what is left.
fn rounds(draft: &Draft, threads: usize, progress: &mut dyn FnMut(u64, u64)) -> Result<Report> {
    let mut report = look(draft, threads, progress)?;
    for _ in 0..ROUNDS {
        let before = draft.count();
        if report.count > 0 {
            mend(draft, &report)?;
        }
        if draft.count() == before {
            break;
        }
        report = look(draft, threads, progress)?;
    }
    Ok(report)
}

/// Mends the findings of the first stage that has any.
fn mend(draft: &Draft, report: &Report) -> Result<()> {
    let mut bench = Bench::open(draft)?;
    if report.findings.iter().any(|finding| Stage::of(finding.code).is_none()) {
        return Ok(());
    }
    let has = |stage| report.findings.iter().any(|finding| Stage::of(finding.code) == Some(stage));
    let Some(stage) = Stage::ALL.into_iter().find(|stage| has(*stage)) else { return Ok(()) };
    let of_stage = report.findings.iter().filter(|finding| Stage::of(finding.code) == Some(stage));
    for finding in of_stage {
        match stage {
            Stage::Tables => tables::mend(&mut bench, finding)?,
            Stage::Notes => notes(&mut bench)?,
        }
    }
    bench.keep();
    Ok(())
}

/// Clears what says that something is wrong.
fn notes(bench: &mut Bench) -> Result<()> {
    for flag in [CpFlags::ERROR, CpFlags::FSCK, CpFlags::QUOTA_NEED_FSCK, CpFlags::RESIZEFS] {
        bench.pack.clear(flag);
    }
    super_blocks::clear_notes(&bench.draft, bench.volume.super_block())
}

impl Repair {
    /// The check before the repair.
    pub fn before(&self) -> &Report {
        &self.before
    }

    /// The check after it.
    pub fn after(&self) -> &Report {
        &self.after
    }

    /// The faults that are put right.
    pub fn fixes(&self) -> &[Fix] {
        &self.fixes
    }

    /// True if there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.steps.0.iter().all(std::collections::BTreeMap::is_empty)
    }

    /// Blocks that are written.
    pub fn blocks(&self) -> usize {
        self.steps.0.iter().map(std::collections::BTreeMap::len).sum()
    }

    /// The way back: all blocks that are written, as they are now.
    pub fn undo(&self) -> Result<Undo> {
        let addrs: BTreeSet<u32> = self.steps.0.iter().flat_map(|group| group.keys().copied()).collect();
        let blocks = addrs.into_iter().map(|addr| Ok((addr, self.draft.original(BlockAddr(addr))?)));
        Ok(Undo::new(self.draft.size(), blocks.collect::<Result<_>>()?))
    }

    /// Writes the repair to the device that it was planned for.
    pub fn commit(self) -> Result<()> {
        let mut medium = Medium::cached(self.device, self.draft.size(), 0, false);
        for group in &self.steps.0 {
            for (addr, block) in group {
                medium.write(BlockAddr(*addr), block)?;
            }
            medium.flush()?;
        }
        Ok(())
    }
}
