//! The setup of a run: the parameters of the CAT paper, section 6.1.1, and those learnt since.

use pumice_cleaning::{
    Geometry, Params,
    registry::{PlacementRule, VictimRule, WearRule},
};
use pumice_media::ChipSpec;

use super::{Access, Policy};
use crate::LabError;

/// A run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The store.
    pub store: Store,
    /// The source of the writes.
    pub access: Access,
    /// Written after the filling, before counting begins.
    pub warm_up: Amount,
    /// Written while counting; `None` for a trace: all of it, once.
    pub write: Option<Amount>,
    /// The victim policy.
    pub victim: Policy<VictimRule>,
    /// The placement policy.
    pub placement: Policy<PlacementRule>,
    /// Wear levelling.
    pub wear: WearRule,
    /// Seed of the random generator.
    pub seed: u64,
    /// The chip that gives the timing.
    pub chip: ChipSpec,
    /// Erases that a segment withstands. With it the run goes on until the store can take no more, or `write`.
    pub endurance: Option<u32>,
    /// Requests a second, in a Poisson process.
    pub rate: Option<f64>,
}

/// The size of a store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Store {
    /// Bytes of flash; `None`: as much as a trace needs.
    pub flash: Option<u64>,
    /// Bytes of a segment.
    pub segment: u64,
    /// Bytes of a block.
    pub block: u64,
    /// Blocks of a segment that hold its header.
    pub header: u32,
    /// Segments kept free for the cleaner; with none, survivors wait in memory while their segment is erased.
    pub reserve: u32,
    /// Free segments up to which cleaning goes on once it has begun, if more than the reserve.
    pub high_water: u32,
    /// Segments cleaned at once, the survivors of which are sorted together.
    pub together: u32,
    /// The dead part of all written blocks, in percent, above which a segment is cleaned after a write; none: where room
    /// is short.
    pub garbage: Option<u32>,
    /// The share of it that holds data.
    pub room: Room,
}

/// The share of a store that holds data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Room {
    /// This part of the usable blocks; above 0, below 1.
    Fill(f64),
    /// One in so many; above 1.
    Alpha(f64),
}

/// An amount of writing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Bytes.
    Bytes(u64),
    /// So many times the logical size.
    Turnovers(f64),
}

impl Amount {
    /// The count in blocks of `block` bytes on a store of `logical` of them.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    pub fn writes(self, block: u64, logical: u32) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes / block.max(1),
            Self::Turnovers(times) => (f64::from(logical) * times) as u64,
        }
    }
}

impl Store {
    /// The sizes in pages; `footprint` is the number of pages that a trace writes, if one is played.
    fn params(&self, footprint: Option<u32>) -> Result<Params, LabError> {
        let (flash, logical) = match (self.flash, self.room, footprint) {
            (Some(flash), room, _) => (flash, room.of(self.usable(flash)?)),
            (None, Room::Alpha(alpha), Some(pages)) => (self.around(pages, alpha)?, pages),
            _ => {
                return Err(LabError::Setup("want a flash size, or a trace and alpha".to_owned()));
            }
        };
        let geometry = Geometry {
            flash,
            segment: self.segment,
            block: self.block,
            header: self.header,
            // The part that is filled is set below, to the page.
            fill: 0.5,
        };
        Ok(geometry.params()?.with(|it| it.logical = logical))
    }

    /// Blocks of a segment that hold data.
    fn pages(&self) -> Result<u64, LabError> {
        let pages = self.segment.checked_div(self.block).and_then(|n| n.checked_sub(self.header.into()));
        pages.filter(|pages| *pages > 0).ok_or_else(|| {
            let (segment, block, header) = (self.segment, self.block, self.header);
            LabError::Setup(format!(
                "no room for data: a segment of {segment} bytes, blocks of {block}, {header} of them a header"
            ))
        })
    }

    /// Blocks of `flash` bytes that hold data.
    fn usable(&self, flash: u64) -> Result<u64, LabError> {
        let segments = u32::try_from(flash / self.segment.max(1)).map_err(|_| too_large())?;
        u64::from(segments).checked_mul(self.pages()?).ok_or_else(too_large)
    }

    /// Bytes of whole segments that hold `alpha` times `logical` blocks or little more.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    fn around(&self, logical: u32, alpha: f64) -> Result<u64, LabError> {
        let segments = ((f64::from(logical) * alpha) as u64).div_ceil(self.pages()?);
        segments.checked_mul(self.segment).ok_or_else(too_large)
    }
}

impl Room {
    /// Logical blocks out of `usable`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "saturates; more than 2^32 blocks are refused later"
    )]
    fn of(self, usable: u64) -> u32 {
        match self {
            Self::Fill(part) => (usable as f64 * part) as u32,
            Self::Alpha(alpha) => (usable as f64 / alpha) as u32,
        }
    }
}

/// Refuses a store that this machine has no memory for, before anything is allocated. It needs 4 bytes for each
/// physical block and each logical one. Policies take at most 8 more for each logical one.
fn enough_memory(params: &Params) -> Result<(), LabError> {
    let bytes = params.physical().saturating_mul(8).saturating_add(u64::from(params.logical) * 12);
    let fits =
        |bytes| usize::try_from(bytes).is_ok_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok());
    if fits(bytes) {
        return Ok(());
    }
    let (blocks, gib) = (params.physical(), bytes >> 30);
    Err(LabError::Setup(format!(
        "a store of {blocks} blocks needs about {gib} GiB of memory, more than there is"
    )))
}

fn too_large() -> LabError {
    LabError::Setup("the flash is too large (want fewer than 2^32 segments)".to_owned())
}

impl Setup {
    /// The store in pages; `footprint` is the number of pages that a trace writes, if one is played.
    pub(super) fn params(&self, footprint: Option<u32>) -> Result<Params, LabError> {
        let reserve = self.store.reserve;
        if reserve == 0 && self.endurance.is_some() {
            let why = "a store with an endurance needs at least one segment in reserve, for the live data of dead ones";
            return Err(LabError::Setup(why.to_owned()));
        }
        let endurance = self.endurance.unwrap_or(u32::MAX);
        let params = self.store.params(footprint)?.with(|it| {
            it.reserve = reserve;
            it.high_water = self.store.high_water;
            it.together = self.store.together;
            it.garbage = self.store.garbage.unwrap_or(0);
            it.endurance = endurance;
        });
        if params.segments == 0 {
            return Err(LabError::Setup(
                "a store needs at least one segment, and the flash has none".to_owned(),
            ));
        }
        if reserve >= params.segments {
            let segments = params.segments;
            return Err(LabError::Setup(format!(
                "{reserve} segments in reserve are too many, of {segments}"
            )));
        }
        params.check()?;
        enough_memory(&params)?;
        Ok(params)
    }

    /// The CAT paper's chip and amount of writing (sections 5 and 6.1): 24 MiB, segments of 128 KiB, blocks of 4 KiB,
    /// 90 % full, no segment in reserve, 192 MiB written.
    pub fn cat(
        access: Access,
        victim: Policy<VictimRule>,
        placement: Policy<PlacementRule>,
        wear: WearRule,
        chip: ChipSpec,
    ) -> Setup {
        Setup {
            store: Store {
                flash: Some(24 << 20),
                segment: 128 << 10,
                block: 4 << 10,
                header: 1,
                reserve: 0,
                high_water: 0,
                together: 1,
                garbage: None,
                room: Room::Fill(0.9),
            },
            access,
            warm_up: Amount::Bytes(0),
            write: Some(Amount::Bytes(192 << 20)),
            victim,
            placement,
            wear,
            seed: 1,
            chip,
            endurance: None,
            rate: None,
        }
    }
}
