//! Another size of a volume: more or fewer segments at its end, and larger tables where they have no room for more.
//!
//! Segments that are to go are emptied as a cleaner does it, by ordinary writes. Where tables must grow they are laid anew twice:
//! first behind the place where they are to be in the end, which is emptied for it, and then there. Blocks of the main area stay.

use std::ops::Range;

use pumice_media::{BlockDevice, ReadAt};
use pumice_vfs::{Errno, Timestamp};

use super::{draft::Draft, look, not_repaired, relay};
use crate::{
    check::{Code, Report},
    error::{Error, Result},
    layout::{BlockAddr, CpFlags, Features, Nid, SegNo, SuperBlock},
    mkfs::geometry::{Geometry, LOGS, SEGMENT_BLOCKS, Shape, reserve},
    nodes::Nodes,
    volume::{Volume, read_super_block},
    word::word,
    writable::{WritableF2fs, WritableOptions},
    write::medium::Device,
};

/// Bytes of metadata kept in memory.
const CACHE_BYTES: usize = 1 << 20;
/// Faults that a resize leaves if power fails: the next puts them right.
const OURS: [Code; 3] = [Code::CheckpointFreeSegments, Code::SuperBlock, Code::SuperBlockCopy];

/// The sizes of a volume, in short.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extents {
    /// Bytes, of which the last may belong to no segment.
    pub bytes: u64,
    /// Segments of the main area.
    pub segments: u64,
    /// Segments in front of it.
    pub metadata: u64,
    /// Bytes that users can fill, nodes among them.
    pub users: u64,
    /// Node numbers: files, directories and their further nodes.
    pub numbers: u64,
}

/// A resize that is worked out.
pub struct Resizing {
    device: Device,
    shape: Shape,
    old: Geometry,
    new: Geometry,
    /// Nothing is wrong, not even what a resize leaves that lost its power.
    is_sound: bool,
    /// Blocks that must be moved first.
    moved: u64,
    before: Extents,
}

impl Resizing {
    /// Works out what it takes to make a volume `bytes` bytes large, or nearly so: whole segments, and whole zones. The device has blocks as
    /// large as the volume's, and may be smaller than `bytes` until [`Resizing::run`]. Nothing is written.
    ///
    /// # Errors
    /// If the volume is of a kind that is not resized, has problems, was not unmounted, or does not fit that size, since a
    /// pinned file is in the way, too.
    pub fn plan(
        device: Box<dyn BlockDevice + Send>,
        bytes: u64,
        threads: usize,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Resizing> {
        let device = Device::new(device);
        let sb = read_super_block(&device)?;
        if let Some(what) = not_resized(&sb) {
            return Err(refused(&what));
        }
        let report = look(&Draft::new(std::sync::Arc::new(device.clone()), sb.block()), threads, progress)?;
        check(&report)?;
        let volume = Volume::open(vec![Box::new(device.clone())], CACHE_BYTES)?;
        let flags = volume.checkpoint().flags();
        let shape = Shape {
            block: sb.block(),
            section_segments: sb.segments_per_section(),
            zone_sections: sb.sections_per_zone(),
            features: sb.features(),
            ..Shape::default()
        };
        let old = Geometry::of(&sb, flags.has(CpFlags::LARGE_NAT_BITMAP));
        let plan = Plan { shape, old: &old, valid: volume.checkpoint().raw().valid_blocks() };
        let new = plan.target(bytes)?;
        let mut resizing = Resizing {
            device,
            shape,
            before: extents(&shape, &old),
            old,
            new,
            is_sound: report.count == 0,
            moved: 0,
        };
        resizing.moved = resizing.blocks_to_move(&Nodes::new(volume))?;
        Ok(resizing)
    }

    /// The sizes before.
    pub fn before(&self) -> Extents {
        self.before
    }

    /// The sizes afterwards.
    pub fn after(&self) -> Extents {
        extents(&self.shape, &self.new)
    }

    /// Blocks that are moved out of the way.
    pub fn moved(&self) -> u64 {
        self.moved
    }

    /// True if tables are laid anew, since they must grow.
    pub fn lays_tables(&self) -> bool {
        self.new.segment0 != self.old.segment0 || self.new.metadata() != self.old.metadata()
    }

    /// Segments of the main area that are emptied, by their present numbers.
    fn to_vacate(&self) -> Vec<Range<u32>> {
        let main = self.old.main;
        let behind = self.kept().min(main)..main;
        let in_front = if self.lays_tables() { 0..self.in_front().min(behind.start) } else { 0..0 };
        [in_front, behind].into_iter().map(|span| word(span.start)..word(span.end)).collect()
    }

    /// Blocks in the segments that are emptied, of which none may be pinned.
    fn blocks_to_move(&self, nodes: &Nodes) -> Result<u64> {
        let mut count = 0;
        // The last pinned block says how small the volume can be made.
        for segno in self.to_vacate().into_iter().flatten().map(SegNo).rev() {
            if let Some((ino, path)) = pinned_in(nodes, segno)? {
                let file =
                    path.map_or_else(|| format!("inode {}", ino.0), |path| path.escape_ascii().to_string());
                let zone = self.shape.section_segments * self.shape.zone_sections;
                let end = self.old.main_start() + u64::from((segno.0 / zone + 1) * zone) * SEGMENT_BLOCKS;
                let least = end * self.shape.block.bytes_u64();
                let hint = match u64::from(segno.0) < self.kept() {
                    true => "where its tables must grow".to_owned(),
                    false => format!("behind that end; it can be made as small as {least} bytes"),
                };
                return Err(refused(&format!("{file} is pinned, and has blocks {hint}")));
            }
            count += u64::from(nodes.volume().sit_entry(segno)?.bits());
        }
        Ok(count)
    }

    /// Segments in front of the new end, counted as they are now.
    fn kept(&self) -> u64 {
        let end = self.new.main_start() + self.new.main * SEGMENT_BLOCKS;
        end.saturating_sub(self.old.main_start()) / SEGMENT_BLOCKS
    }

    /// Segments of the main area where tables stand for a while.
    fn in_front(&self) -> u64 {
        let aside = self.aside();
        let is_direct = self.new.main_start() <= self.old.segment0;
        if is_direct { 0 } else { aside.main_start().saturating_sub(self.old.main_start()) / SEGMENT_BLOCKS }
    }

    /// The areas while the new tables stand behind the place that they will have.
    fn aside(&self) -> Geometry {
        let metadata = self.new.metadata();
        Geometry {
            segment0: self.new.main_start(),
            main: self.new.main.saturating_sub(metadata),
            segments: self.new.segments.saturating_sub(metadata),
            ..self.new.clone()
        }
    }

    /// Checks that the device is large enough.
    ///
    /// # Errors
    /// If it is not.
    pub fn check_device(&self) -> Result<()> {
        let blocks = self.new.main_start() + self.new.main * SEGMENT_BLOCKS;
        let (bytes, wanted) = (self.device.bytes(), blocks * self.shape.block.bytes_u64());
        if bytes < wanted {
            return Err(refused(&format!("it needs {wanted} bytes, and the device has {bytes}")));
        }
        Ok(())
    }

    /// Writes it. If power fails the volume is as before, or as it is to be, or between these: all files are there, it can be mounted, and
    /// the same resize goes on.
    pub fn run(self, now: Timestamp) -> Result<()> {
        self.check_device()?;
        let main = self.kept();
        self.vacate(main.min(self.old.main)..self.old.main, now)?;
        // As far as the present tables reach the main area has its new end at once.
        let main = main.min(self.old.room(&self.shape));
        if main != self.old.main || !self.is_sound {
            let segments = self.old.segments + main - self.old.main;
            let there = Geometry { main, segments, blocks: self.new.blocks, ..self.old.clone() };
            relay::set_end(&self.device, &self.shape, &there)?;
        }
        if !self.lays_tables() {
            return Ok(());
        }
        let in_front = self.in_front();
        if in_front > 0 {
            self.vacate(0..in_front, now)?;
            relay::lay(&self.device, &self.shape, &self.aside())?;
        }
        relay::lay(&self.device, &self.shape, &self.new)
    }

    /// Empties segments.
    fn vacate(&self, segments: Range<u64>, now: Timestamp) -> Result<()> {
        if segments.is_empty() {
            return Ok(());
        }
        let section = u64::from(self.shape.section_segments);
        let options = WritableOptions {
            discard: false,
            idle_cleaning: None,
            ..WritableOptions::new(Box::new(move || now))
        };
        let fs = WritableF2fs::mount(Box::new(self.device.clone()), options)?;
        let sections = word(segments.start / section)..word(segments.end.div_ceil(section));
        let full = |error| match error {
            Error::Errno(Errno::NoSpace) | Error::NoSegment { .. } => {
                refused("it is too full for its blocks to be moved")
            }
            error => error,
        };
        fs.vacate(&sections).map_err(full)?;
        fs.unmount()
    }
}

/// A pinned file with blocks in a segment, and its path.
fn pinned_in(nodes: &Nodes, segno: SegNo) -> Result<Option<(Nid, Option<Vec<u8>>)>> {
    let (volume, mut last) = (nodes.volume(), Nid::NULL);
    let (entry, start) = (volume.sit_entry(segno)?, volume.segment_start(segno));
    let is_of_data = entry.kind < 3;
    for offset in (0..word(SEGMENT_BLOCKS)).filter(|offset| is_of_data && entry.is_valid(*offset)) {
        let Some(owner) = volume.summary(BlockAddr(start.0 + offset))? else { continue };
        if owner.nid != last {
            last = owner.nid;
            let ino = volume.node(owner.nid)?.footer.ino;
            if volume.inode(ino)?.0.is_pinned() {
                return Ok(Some((ino, nodes.path_of(ino))));
            }
        }
    }
    Ok(None)
}

fn extents(shape: &Shape, areas: &Geometry) -> Extents {
    let block = shape.block.bytes_u64();
    let users = users(shape, areas.main).unwrap_or(0);
    Extents {
        bytes: areas.blocks * block,
        segments: areas.main,
        metadata: areas.metadata(),
        users: users * block,
        numbers: areas.nat / 2 * SEGMENT_BLOCKS * u64::from(shape.block.nat_entries()),
    }
}

/// Blocks that users have of a main area; `None` if it is too small for a reserve.
fn users(shape: &Shape, main: u64) -> Option<u64> {
    let section = u64::from(shape.section_segments);
    let (_, overprovision) = reserve(main, section, None)?;
    let is_enough = main / (section * u64::from(shape.zone_sections)) > LOGS;
    is_enough.then(|| (main - overprovision) * SEGMENT_BLOCKS)
}

/// The reason why a volume is not of a kind that is resized.
fn not_resized(sb: &SuperBlock) -> Option<String> {
    if sb.features().has(Features::DEVICE_ALIAS) {
        return Some(format!("it has the feature {}", Features::DEVICE_ALIAS));
    }
    if !sb.devices().is_empty() {
        return Some("it names its devices".to_owned());
    }
    not_repaired(sb)
}

fn check(report: &Report) -> Result<()> {
    if let Some(finding) = report.findings.iter().find(|finding| !OURS.contains(&finding.code)) {
        let what = format!("{}: {}: {}", finding.code.name(), finding.object, finding.detail);
        return Err(refused(&format!("it has problems; repair them first ({what})")));
    }
    if report.fsynced_nodes > 0 {
        return Err(refused("it was not unmounted; mount it first, to be written to"));
    }
    Ok(())
}

/// A volume, to which the areas of another size are found.
struct Plan<'a> {
    shape: Shape,
    old: &'a Geometry,
    /// Blocks in use.
    valid: u64,
}

impl Plan<'_> {
    /// The areas of a volume of `bytes` bytes. Tables stay as they are if they are large enough.
    fn target(&self, bytes: u64) -> Result<Geometry> {
        let (shape, old) = (&self.shape, self.old);
        let block = shape.block.bytes_u64();
        let numbers = old.nat / 2 * SEGMENT_BLOCKS * u64::from(shape.block.nat_entries());
        // A NAT that is larger than usual stays so; a few numbers are in front of files.
        let nodes = if old.large_nat { numbers.saturating_sub(shape.block.nat_entries().into()) } else { 0 };
        let usual = Geometry::new(&Shape { nodes, ..*shape }, bytes).map_err(|error| match self.least() {
            Some(least) if bytes < least => self.too_small(least),
            _ => refused(&error.to_string()),
        })?;
        let has_room = usual.sit <= old.sit && usual.nat <= old.nat && usual.ssa <= old.ssa;
        let tables = if has_room { old } else { &usual };
        if tables.nat < old.nat {
            return Err(refused("its NAT is larger than that of a volume of this size"));
        }
        // A first segment that stands further on is of a resize that lost its power.
        let start = old.segment0.min(usual.segment0);
        let zone = u64::from(shape.section_segments) * u64::from(shape.zone_sections);
        let behind = (usual.segment0 - start) / SEGMENT_BLOCKS / zone * zone;
        let mut areas = Geometry { segment0: start, blocks: bytes / block, ..tables.clone() };
        let segments = usual.segments + behind;
        let main = segments.saturating_sub(areas.metadata()).min(areas.room(shape)) / zone * zone;
        (areas.main, areas.segments) = (main, areas.metadata() + main);
        let users = users(shape, main);
        let grows = main >= old.main;
        match (users, self.least()) {
            (Some(users), _) if grows || users >= self.valid => Ok(areas),
            (_, Some(least)) => Err(self.too_small(least)),
            (_, None) => Err(refused("no size is large enough for it")),
        }
    }

    fn too_small(&self, least: u64) -> Error {
        let blocks = self.valid;
        refused(&format!("{blocks} blocks are in use; it can be made as small as {least} bytes"))
    }

    /// The least size that its blocks have room in.
    fn least(&self) -> Option<u64> {
        let shape = &self.shape;
        let zone = u64::from(shape.section_segments) * u64::from(shape.zone_sections);
        let fits = |zones: u64| users(shape, zones * zone).is_some_and(|users| users >= self.valid);
        let (mut low, mut high) = (0, self.old.main / zone);
        if !fits(high) {
            return None;
        }
        while low + 1 < high {
            let middle = low.midpoint(high);
            if fits(middle) { high = middle } else { low = middle }
        }
        let blocks = self.old.main_start() + high * zone * SEGMENT_BLOCKS;
        Some(blocks * shape.block.bytes_u64())
    }
}

fn refused(what: &str) -> Error {
    Error::Unsupported(format!("cannot be resized: {what}"))
}
