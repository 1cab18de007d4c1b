//! Repair: every finding of the check is put right in a draft, until the check finds nothing more; then the draft goes to
//! the medium as a checkpoint does.
//!
//! [`plan`] changes nothing. It gives a [`Repair`] that says what was found, what is done about it and what is left;
//! [`Repair::commit`] writes it, and [`Repair::undo`] is the way back. If power fails meanwhile the next repair finds
//! the volume as it was, or as it is mended but for tables that are derived.
//!
//! Findings are mended in the order of their stages, and a stage only when those before it have nothing left:
//! what is derived from the nodes is never made from nodes that are still wrong.

mod bench;
mod draft;
mod inodes;
mod links;
mod lost;
mod names;
mod nat;
mod pack;
mod packs;
mod pointers;
mod quota;
mod rebuild;
mod relay;
mod relocate;
mod resize;
mod revive;
mod root;
mod settle;
mod stage;
mod strays;
mod super_blocks;
mod tables;
mod tree;
mod tune;
mod undo;

use std::{collections::BTreeSet, sync::Arc};

use pumice_media::BlockDevice;
use pumice_vfs::Timestamp;

use self::{bench::Bench, draft::Draft, names::Homeless, settle::Steps, stage::Stage, strays::Strays};
pub use self::{
    resize::{Extents, Resizing},
    tune::{Tuning, tune},
    undo::Undo,
};
pub use crate::recovery::BrokenPromise;
use crate::{
    check::{Code, Cure, Finding, Object, Report, check_in_full},
    error::{Error, Result},
    layout::{BlockAddr, BlockSize, Checkpoint, CpFlags, Features, SuperBlock},
    nodes::Nodes,
    quota::LostLimits,
    rescue,
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
    /// The same, of a volume whose checkpoints or tables are gone: they are made anew from all nodes that are found.
    Rebuild {
        /// The identity of a volume that has lost both super blocks.
        uuid: [u8; 16],
    },
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
    broken: Vec<BrokenPromise>,
    lost: Vec<LostLimits>,
    steps: Steps,
    draft: Draft,
    device: Device,
}

/// True if the repair of a fault loses nothing.
fn is_safe(code: Code) -> bool {
    let derived = matches!(
        Stage::of(code),
        Some(Stage::Counts | Stage::Tables | Stage::Logs | Stage::Quota | Stage::Notes)
    );
    derived || matches!(code, Code::SuperBlock | Code::SuperBlockCopy)
}

/// Works out a repair of the volume on a device with blocks as large as the volume's. Nothing is written. New names are
/// made at `now`.
///
/// # Errors
/// If the volume cannot be opened at all, or is of a kind that is not repaired: on several devices, zoned, or made to be
/// read only. If a block cannot be read at first, and can be later: nothing is taken away for a read that fails at times.
pub fn plan(
    device: Box<dyn BlockDevice + Send>,
    extent: Extent,
    now: Timestamp,
    threads: usize,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Repair> {
    let block_bytes = device.block_bytes();
    let device = Device::new(device);
    let sb = match extent {
        Extent::Rebuild { uuid } => rescue::super_block(&device, uuid)?,
        _ => read_super_block(&device)?,
    };
    if block_bytes != sb.block().bytes() {
        let bytes = sb.block().bytes();
        return Err(refused(&format!("its blocks have {bytes} bytes, and the device's {block_bytes}")));
    }
    let draft = Draft::new(Arc::new(device.clone()), sb.block());
    let before = if let Err(error) = read_super_block(&device) {
        super_blocks::write(&draft, sb.raw())?;
        without_super_block(&error)
    } else {
        look(&draft, threads, progress)?
    };
    let unsafe_ones = before.findings.iter().any(|finding| !is_safe(finding.code));
    let done = if before.count == 0 || (extent == Extent::Safe && unsafe_ones) {
        None
    } else {
        work_out(&draft, extent, now, threads, progress)?
    };
    let done = done.filter(|done| extent != Extent::Safe || done.lost.is_empty());
    let Done { after, steps, broken, lost } = done.unwrap_or_else(|| Done::nothing(before.clone()));
    if !steps.0.is_empty() {
        draft.check_failed()?;
    }
    let left: BTreeSet<String> = after.findings.iter().map(name).collect();
    let gone = before.findings.iter().filter(|finding| !left.contains(&name(finding)));
    let fixes = gone.map(|finding| Fix { finding: finding.clone() }).collect();
    Ok(Repair { before, after, fixes, broken, lost, steps, draft, device })
}

/// A draft that was mended.
struct Done {
    /// The check of it.
    after: Report,
    /// The way to the medium.
    steps: Steps,
    /// Promises that were not kept.
    broken: Vec<BrokenPromise>,
    /// Limits that were not kept.
    lost: Vec<LostLimits>,
}

impl Done {
    /// Nothing was done.
    fn nothing(after: Report) -> Done {
        Done { after, steps: Steps::default(), broken: Vec::new(), lost: Vec::new() }
    }
}

/// Mends the draft; `None` if nothing can be known of the volume.
fn work_out(
    draft: &Draft,
    extent: Extent,
    now: Timestamp,
    threads: usize,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Option<Done>> {
    super_blocks::mend(draft, threads)?;
    let sb = read_super_block(draft)?;
    if let Some(what) = not_repaired(&sb) {
        return Err(refused(&what));
    }
    packs::mend(draft, &sb, extent != Extent::Safe)?;
    let kept = match extent {
        Extent::Rebuild { .. } => Some(rescue::kept(Box::new(draft.fork()), sb.clone(), CACHE_BYTES)?),
        _ => None,
    };
    if let Some(kept) = kept.as_ref().filter(|kept| !kept.has_checkpoint) {
        rebuild::checkpoint(draft, &sb, kept.version + 1);
    }
    let open = || Volume::open(vec![Box::new(draft.fork())], CACHE_BYTES);
    let old = match open() {
        Ok(old) => old,
        // No checkpoint can be used: nothing is known of the volume.
        Err(Error::Corrupt(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    if let Some(kept) = &kept {
        rebuild::tables(draft, kept)?;
    }
    let report = look(draft, threads, progress)?;
    if report.count == 0 && settle::is_of_super_blocks(draft, &old) {
        return Ok(Some(Done { steps: settle::steps(draft, &old, &[])?, ..Done::nothing(report) }));
    }
    // The chain of promises belongs to the old checkpoint, and is rolled forward when all is sound.
    let chain = Nodes::new(open()?).chain_blocks()?;
    let chained = (!chain.is_empty()).then(|| old.checkpoint().clone());
    let (broken, lost) = (Vec::new(), Vec::new());
    let mut work = Work { homeless: BTreeSet::new(), chained, broken, lost, chain: &chain, now };
    let after = rounds(draft, &mut work, report, threads, progress)?;
    if work.chained.is_some() {
        work.broken.push(BrokenPromise::of_all("the repair did not come to them"));
    }
    let steps = settle::steps(draft, &old, &chain)?;
    Ok(Some(Done { after, steps, broken: work.broken, lost: work.lost }))
}

/// The report about a volume that has lost both super blocks.
fn without_super_block(error: &Error) -> Report {
    let lost = |number| Finding {
        code: Code::SuperBlock,
        object: Object::SuperBlock(number),
        detail: error.to_string(),
        cure: Cure::Place,
    };
    Report { findings: vec![lost(1), lost(2)], count: 2, ..Report::default() }
}

fn name(finding: &Finding) -> String {
    format!("{} {}", finding.code.name(), finding.object)
}

fn refused(what: &str) -> Error {
    Error::Unsupported(format!("cannot be repaired: {what}"))
}

/// A number as its field holds it: where that cannot, nothing else is written in its place.
fn field<T: TryFrom<u64>>(number: u64) -> Result<T> {
    T::try_from(number).map_err(|_| refused(&format!("no field holds the number {number}")))
}

/// The reason why a volume is not of a kind that is repaired.
fn not_repaired(sb: &SuperBlock) -> Option<String> {
    if sb.devices().len() > 1 {
        return Some("it is on several devices".to_owned());
    }
    let feature = [Features::BLKZONED, Features::RO].into_iter().find(|feature| sb.features().has(*feature));
    feature.map(|feature| format!("it has the feature {feature}"))
}

fn look(draft: &Draft, threads: usize, progress: &mut dyn FnMut(u64, u64)) -> Result<Report> {
    check_in_full(vec![Box::new(draft.clone())], threads, progress)
}

/// The state of a repair between its looks.
struct Work<'a> {
    /// Names to be made again.
    homeless: BTreeSet<Homeless>,
    /// The checkpoint with promises of fsync behind it, until they are kept.
    chained: Option<Checkpoint>,
    /// Those that cannot be kept.
    broken: Vec<BrokenPromise>,
    /// Limits that cannot be kept.
    lost: Vec<LostLimits>,
    /// The nodes of these promises.
    chain: &'a [BlockAddr],
    now: Timestamp,
}

/// Mends and looks until nothing more is found, or nothing more can be done. Returns what is left.
fn rounds(
    draft: &Draft,
    work: &mut Work<'_>,
    mut report: Report,
    threads: usize,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Report> {
    for _ in 0..ROUNDS {
        let before = draft.count();
        work.mend(draft, &report)?;
        if draft.count() == before {
            break;
        }
        report = look(draft, threads, progress)?;
    }
    Ok(report)
}

impl Work<'_> {
    /// Mends the findings of the first stage that can do something about any.
    fn mend(&mut self, draft: &Draft, report: &Report) -> Result<()> {
        for stage in Stage::ALL {
            let before = draft.count();
            self.mend_stage(stage, draft, report)?;
            if draft.count() != before {
                return Ok(());
            }
        }
        Ok(())
    }

    fn mend_stage(&mut self, stage: Stage, draft: &Draft, report: &Report) -> Result<()> {
        let of_stage = || report.findings.iter().filter(|finding| Stage::of(finding.code) == Some(stage));
        if stage == Stage::Lost {
            let (homeless, chained) = (std::mem::take(&mut self.homeless), self.chained.take());
            match lost::mend(draft, report, homeless, chained.as_ref(), self.now) {
                Ok(broken) => self.broken.extend(broken),
                // Names that are missing are told by what is left.
                Err(error) if chained.is_some() => self.broken.push(BrokenPromise::of_all(error)),
                Err(_) => {}
            }
            return Ok(());
        }
        if stage == Stage::Quota {
            self.lost.extend(quota::mend(draft, report, self.now).unwrap_or_default());
            return Ok(());
        }
        let is_asked =
            of_stage().next().is_some() || matches!(stage, Stage::Nat | Stage::Pointers | Stage::Names);
        if !is_asked || report.count == 0 {
            return Ok(());
        }
        let mut bench = Bench::open(draft)?;
        match stage {
            Stage::Nat => {
                let strays = Strays::of(&bench, report);
                report.findings.iter().try_for_each(|finding| nat::mend(&bench, &strays, finding))?;
                root::mend(&mut bench, report, self.chain, self.now)?;
            }
            Stage::Inodes => inodes::mend(&bench, report)?,
            Stage::Links => links::mend(&bench, report)?,
            Stage::Pointers => {
                let strays = Strays::of(&bench, report);
                pointers::restore(&bench, &strays, report)?;
                pointers::mend(&bench, &strays, report)?;
            }
            Stage::Names => {
                self.lost.extend(quota::find(&bench, report)?);
                names::restore_dots(&bench, report)?;
                let before = draft.count();
                names::mend(&bench, report, &mut self.homeless)?;
                if draft.count() == before {
                    revive::mend(&bench, report, &self.homeless)?;
                }
            }
            Stage::Counts if names::redirect(&bench, report)? => {}
            Stage::Directories => {
                let all = names::Names::new();
                of_stage().try_for_each(|finding| names::directory(&bench, finding, &all))?;
            }
            Stage::Counts => of_stage().try_for_each(|finding| inodes::count(&bench, finding))?,
            Stage::Tables | Stage::Logs => {
                of_stage().try_for_each(|finding| tables::mend(&mut bench, finding))?;
            }
            Stage::Notes => notes(&mut bench)?,
            Stage::Lost | Stage::Quota => {}
        }
        bench.keep();
        Ok(())
    }
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

    /// Promises of fsync that cannot be kept.
    pub fn broken(&self) -> &[BrokenPromise] {
        &self.broken
    }

    /// Limits of owners that cannot be kept.
    pub fn lost_limits(&self) -> &[LostLimits] {
        &self.lost
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
        write(self.device, self.draft.size(), &self.steps)
    }
}

/// Brings blocks to a device, one group after the other.
fn write(device: Device, size: BlockSize, steps: &Steps) -> Result<()> {
    let mut medium = Medium::cached(device, size, 0, None);
    for group in &steps.0 {
        for (addr, block) in group {
            medium.write(BlockAddr(*addr), block)?;
        }
        medium.flush()?;
    }
    Ok(())
}
