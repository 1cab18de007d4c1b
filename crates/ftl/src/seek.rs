//! The search for a disk that may have lost anchors or records: its identity and its newest record, by whatever is
//! left.

use alloc::{format, vec::Vec};

use pumice_flashlog::{Anchor, Medium, Roots, find_records};
use pumice_media::{AnyChip, Geometry, Nand};

use crate::error::{FtlError, Result};
use crate::findings::Findings;
use crate::flash::{Flash, Found};
use crate::identity::{Identity, Void, anchor_of};
use crate::layout::{Kind, MAGIC, NO_BLOCK};
use crate::open::{CACHE_BYTES, Export, export};
use crate::policy::PolicyNames;
use crate::record::{DiskBytes, Record};
use crate::roots::record_shape;
use crate::server::Server;
use crate::shape::{ANCHOR_BLOCKS, Place, Shape};
use crate::summary::Summary;
use crate::trims;

/// Bytes that logical blocks may have; those that are likeliest first.
const BLOCK_BYTES: [u32; 8] = [4096, 512, 2048, 1024, 8192, 16384, 32768, 65536];

/// Records at the most that fade one after the other while they are looked for.
const FADED_MOST: u32 = 8;

/// A disk that was found, with nothing loaded.
pub(crate) struct Sought<'c> {
    pub(crate) ftl: Server<'c>,
    pub(crate) found: Findings,
    /// Its newest record.
    pub(crate) record: Option<Record>,
    /// The highest sequence number of its roots is not known.
    pub(crate) is_adrift: bool,
    /// The blocks of the record that the anchors name, if a newer one was found elsewhere. A cut may have left that one, and it
    /// may fade: these are the only others.
    pub(crate) named: Vec<u32>,
    /// The newest record cannot be read any more; there may be an older one.
    has_faded: bool,
}

/// Finds a disk; `uuid` names it if nothing on the chip does.
pub(crate) fn seek(nand: AnyChip<'_>, uuid: [u8; 16]) -> Result<Sought<'_>> {
    let mut sought = seek_once(nand, uuid)?;
    for _ in 0..FADED_MOST {
        if !sought.has_faded {
            break;
        }
        sought = seek_once(sought.ftl.log.flash.medium.into_chip(), uuid)?;
    }
    Ok(sought)
}

fn seek_once(mut nand: AnyChip<'_>, uuid: [u8; 16]) -> Result<Sought<'_>> {
    let (geometry, mut found) = (nand.geometry(), Findings::default());
    let anchored = Roots::find(&mut nand, &MAGIC)?;
    if let Some(roots) = &anchored {
        // A version or a feature that is not known is refused before anything else is looked at.
        Identity::of(roots.anchor(), &geometry)?;
        roots.anchor().check_pairing(nand.pairing()).map_err(FtlError::Pairing)?;
    } else {
        found.add("anchors", "no anchor can be read".into());
    }
    let newest = newest_record(&mut nand, &geometry, anchored.as_ref().map(Roots::anchor))?;
    let (is_unanchored, was_found) = (anchored.is_none(), newest.is_some());
    let anchor = match (&newest, &anchored) {
        (Some(newest), _) => newest.anchor.clone(),
        (None, Some(roots)) => roots.anchor().clone(),
        (None, None) => anchor_by_pages(&mut nand, uuid, &mut found)?,
    };
    let (shape, mut identity) = Identity::of(&anchor, &geometry)?;
    let shape = shape.on(nand.pairing())?;
    if let Some(roots) = &anchored {
        // An anchor may declare a segment void after the record.
        identity.void = Identity::of(roots.anchor(), &geometry)?.1.void;
    }
    let records = record_shape(&shape, identity.logical_blocks, &geometry).ok_or(FtlError::Foreign)?;
    let mut flash = Flash::new(nand, shape);
    let lost = || FtlError::Segments { pages: shape.pages, blocks: shape.blocks };
    let mut roots = match anchored {
        Some(roots) => roots,
        None => Roots::without_anchors(records, anchor.clone()).ok_or_else(lost)?,
    };
    let (mut payload, mut named) = (roots.find_record(&mut flash.medium, records)?, Vec::new());
    if let Some(newest) = newest.filter(|newest| Some(newest.rank) != payload.as_deref().and_then(rank)) {
        found.add("anchors", format!("erase block {} holds a newer record than they name", newest.blocks[0]));
        let mut others = Roots::without_anchors(records, anchor).ok_or_else(lost)?;
        // One that a cut had stopped may have faded since: then it was the only copy, and the one before counts again.
        let again = others.find_record(&mut flash.medium, records)?;
        if again.is_some() || payload.is_none() {
            named.extend(roots.blocks());
            (roots, payload) = (others, again);
        }
    }
    let record = payload.and_then(|bytes| Record::decode(&bytes));
    if record.is_none() {
        found.add("records", "no record of a checkpoint can be read".into());
    }
    let is_adrift = is_unanchored || record.is_none();
    let ftl = Server::assemble(flash, shape, identity, roots, CACHE_BYTES);
    Ok(Sought { ftl, found, has_faded: record.is_none() && was_found, record, is_adrift, named })
}

/// The rank of a record. Of two with the same number the unclean one is taken, and replayed.
fn rank(payload: &[u8]) -> Option<(u64, bool)> {
    Record::decode(payload).map(|record| (record.number, !record.clean))
}

/// The newest record of all blocks, and the anchor that would name it.
struct Newest {
    anchor: Anchor,
    rank: (u64, bool),
    blocks: [u32; 2],
}

/// Looks for the newest record in every block. Its shape depends on the disk's options: without an anchor all are
/// tried.
fn newest_record(
    nand: &mut (dyn Nand + Send),
    geometry: &Geometry,
    anchor: Option<&Anchor>,
) -> Result<Option<Newest>> {
    let mut shapes: Vec<pumice_flashlog::Shape> = Vec::new();
    if let Some(anchor) = anchor {
        let (shape, identity) = Identity::of(anchor, geometry)?;
        shapes.extend(record_shape(&shape, identity.logical_blocks, geometry));
    } else {
        shapes.extend(pumice_flashlog::Shape::of_anchors(geometry));
        for shape in possible(nand, geometry)?.into_iter().map(|(shape, _)| shape.medium) {
            if !shapes.contains(&shape) {
                shapes.push(shape);
            }
        }
    }
    for shape in shapes {
        let is_ours = |bytes: &[u8]| {
            let disk = DiskBytes::decode(bytes).map(|disk| anchor_of(&disk, *geometry));
            disk.is_some_and(|found| {
                Identity::of(&found, geometry).is_ok()
                    && anchor.is_none_or(|anchor| anchor.uuid == found.uuid)
            })
        };
        let records = find_records(&mut Medium::new(AnyChip::lend(&mut *nand), shape), is_ours)?;
        let order = |payload: &[u8], seq: u64| (seq, rank(payload));
        let Some(best) = records.iter().max_by_key(|record| order(&record.payload, record.seq)) else {
            continue;
        };
        let (Some(rank), Some(disk)) = (rank(&best.payload), DiskBytes::decode(&best.payload)) else {
            continue;
        };
        let same = |block: u32, payload: &[u8], seq: u64| {
            block != best.block && order(payload, seq) == order(&best.payload, best.seq)
        };
        let copy = records.iter().find(|record| same(record.block, &record.payload, record.seq));
        let blocks = [best.block, copy.map_or(0, |copy| copy.block)];
        let anchor = Anchor { checkpoints: blocks, ..anchor_of(&disk, *geometry) };
        return Ok(Some(Newest { anchor, rank, blocks }));
    }
    Ok(None)
}

/// Every shape that the disk on a chip may have, with its parity pages, the likeliest first. Shapes with parity are
/// left out unless the first page of some segment proves them.
fn possible(nand: &mut (dyn Nand + Send), geometry: &Geometry) -> Result<Vec<(Shape, u8)>> {
    let mut shapes = Vec::new();
    for bytes in BLOCK_BYTES {
        let Ok(plain) = Shape::of(geometry, bytes, 0) else { continue };
        shapes.push((plain, 0));
        let mut medium = Medium::new(AnyChip::lend(&mut *nand), plain.medium);
        for block in ANCHOR_BLOCKS..plain.blocks {
            let parity = medium.proven_parity(block)?.and_then(|parity| u8::try_from(parity).ok());
            let shape = parity.and_then(|parity| Some((Shape::of(geometry, bytes, parity).ok()?, parity)));
            shapes.extend(shape.filter(|shape| !shapes.contains(shape)));
        }
    }
    Ok(shapes)
}

/// The proof in the pages of a chip without any roots.
struct Proof {
    shape: Shape,
    parity_pages: u8,
    /// Pages, or summaries, that prove this shape.
    votes: u32,
    /// The number behind the highest logical block on them.
    end: u32,
}

/// The anchor of a disk of which only the pages of its blocks are left. Its block size is the one that proves them. The
/// disk counts as large as it can be on this chip, so that no block number is too high.
fn anchor_by_pages(nand: &mut (dyn Nand + Send), uuid: [u8; 16], found: &mut Findings) -> Result<Anchor> {
    let geometry = nand.geometry();
    let mut best: Option<Proof> = None;
    for (shape, parity_pages) in possible(nand, &geometry)? {
        let Ok(shape) = shape.on(nand.pairing()) else { continue };
        let proof = proof(nand, shape, parity_pages)?;
        if proof.votes > best.as_ref().map_or(0, |best| best.votes) {
            best = Some(proof);
        }
    }
    let Proof { shape, parity_pages, end, .. } = best.ok_or(FtlError::Foreign)?;
    let mut good = 0;
    for block in ANCHOR_BLOCKS..shape.blocks {
        good += u32::from(!nand.is_bad(pumice_media::BlockId(block))?);
    }
    let most = match export(&shape, good, Export::Bytes(u64::MAX)) {
        Err(FtlError::Export { most, .. }) => u32::try_from(most).unwrap_or(u32::MAX),
        Err(error) => return Err(error),
        Ok(blocks) => blocks,
    };
    let logical_blocks = most.max(end);
    found.add(
        "identity",
        format!(
            "neither anchor nor record identifies the disk: taken for {logical_blocks} blocks of {} bytes, \
             as many as fit, with default policies and a new UUID",
            shape.block_bytes
        ),
    );
    let identity = Identity {
        uuid,
        logical_blocks,
        policies: PolicyNames::default(),
        endurance: u32::MAX,
        parity_pages,
        void: Void::NONE,
    };
    Ok(identity.anchor(&shape, geometry))
}

/// Counts the pages that prove a shape.
fn proof(nand: &mut (dyn Nand + Send), shape: Shape, parity_pages: u8) -> Result<Proof> {
    let mut flash = Flash::new(AnyChip::lend(&mut *nand), shape);
    let mut proof = Proof { shape, parity_pages, votes: 0, end: 0 };
    let slots = u64::from(shape.blocks) * u64::from(shape.capacity());
    for block in ANCHOR_BLOCKS..shape.blocks {
        let mut end = 0;
        for index in 0..shape.pages {
            let place = Place { block, index };
            let found = flash.read(place)?;
            if !matches!(found, Found::Erased) {
                end = index + shape.reach;
            }
            let (tag, page) = match found {
                Found::Page(tag, page) => (tag, page),
                Found::Erased if index < end => continue,
                Found::Erased => break,
                // Of another shape, most likely.
                Found::Unproved if index >= 3 && proof.votes == 0 => break,
                Found::Unproved => continue,
            };
            let mut lbas: Vec<u32> = Vec::new();
            match tag.kind {
                Kind::Data => lbas.extend(tag.entries.iter().map(|entry| entry.lba)),
                Kind::Trim => {
                    lbas.extend(trims::decode(&page.payload, NO_BLOCK - 1).iter().map(|(_, end)| end - 1));
                }
                Kind::Summary => match Summary::decode_whole(&shape, place, &page.payload) {
                    Some(summary) => lbas.extend(summary.contents.entries.iter().map(|entry| entry.lba)),
                    None => continue,
                },
                Kind::Checkpoint | Kind::Map => continue,
            }
            let stored = lbas.into_iter().filter(|lba| *lba < crate::layout::TRIM_BLOCK);
            let highest = stored.max().unwrap_or(0);
            if u64::from(highest) < slots {
                proof.votes += u32::from(shape.tagged || tag.kind == Kind::Summary);
                proof.end = proof.end.max(highest + 1);
            }
        }
    }
    Ok(proof)
}
