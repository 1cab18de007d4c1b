//! Pages that a start cannot read, and their owners: the next programmed page names them, in any segment. A page torn
//! by the power cut has none behind it, and nobody names it.

use alloc::{collections::BTreeMap, vec::Vec};

use crate::error::Result;
use crate::flash::{Flash, Found};
use crate::newest::Newest;
use crate::shape::{Place, Shape};
use crate::tails::Tail;

/// A page that cannot be read.
pub(crate) struct Gap {
    pub(crate) place: Place,
    /// The sequence number of one that was programmed before it.
    pub(crate) before: u64,
    /// The power cut may have destroyed it with the page that was programmed then.
    pub(crate) risk: Risk,
}

/// Whether the page that was programmed when the power went shares cells with another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Risk {
    None,
    /// It is torn, or erased by the look of it.
    Torn,
    /// It is readable, and has this sequence number: if there is a higher one, the power went later.
    Complete(u64),
}

/// The gaps that a start met.
#[derive(Default)]
pub(crate) struct Gaps {
    pub(crate) places: Vec<Gap>,
    /// The ends of segments, where pages have no tags of their own.
    pub(crate) tails: Vec<Tail>,
}

/// The end of a segment's pages.
#[derive(Clone, Copy)]
pub(crate) struct End {
    /// The index behind the last readable page, and that page's sequence number.
    pub(crate) read: (u32, u64),
    /// The index behind the last page that is not erased.
    pub(crate) written: u32,
}

impl End {
    /// The end behind a readable page.
    pub(crate) fn behind(index: u32, sequence: u64) -> End {
        End { read: (index + 1, sequence), written: index + 1 }
    }

    /// Whether the last page of the segment, or one that was being programmed behind it, may have destroyed the one at
    /// `index`.
    pub(crate) fn risk(self, shape: &Shape, index: u32) -> Risk {
        let (read, sequence) = self.read;
        let end = shape.pages.min(self.written + shape.reach);
        if (read.max(index + 1)..end).any(|by| shape.medium.may_destroy(by, index)) {
            return Risk::Torn;
        }
        let is_last = read > index + 1 && shape.medium.may_destroy(read - 1, index);
        if is_last { Risk::Complete(sequence) } else { Risk::None }
    }
}

/// A page that is lost.
pub(crate) struct Lost {
    pub(crate) place: Place,
    /// A sequence number in the order of all pages.
    pub(crate) sequence: u64,
    /// Its logical blocks.
    pub(crate) lbas: Vec<u32>,
    /// The segment with the tags that tell so.
    pub(crate) told_by: u32,
}

/// Whether a page that another names is lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Not known to have been promised yet, or ever.
    Open,
    Lost,
    /// The power cut destroyed it before it was promised.
    Cut,
}

/// The pages that others name, readable or not, with sequence numbers, by segment. An erase takes no name back.
#[derive(Default)]
struct Names(BTreeMap<u32, Vec<(u32, u64)>>);

impl Names {
    fn add(&mut self, shape: &Shape, page: u32, sequence: u64) {
        let of_segment = self.0.entry(shape.medium.block_of(page)).or_default();
        of_segment.push((shape.medium.index_of(page), sequence));
    }

    /// For each segment the highest number of a page that lay in it before it was erased last, as far as the names tell.
    /// A page in front of that one, or in its place, was programmed later.
    fn before_erase(self, newest: &Newest) -> BTreeMap<u32, u64> {
        let of_segment = |block: u32, mut names: Vec<(u32, u64)>| {
            names.sort_unstable();
            let (mut bound, mut in_front) = (0, 0);
            for same in names.chunk_by(|(index, _), (other, _)| index == other) {
                let [(index, _), ..] = *same else { continue };
                let later = newest.last_until(Place { block, index }).max(in_front);
                for (_, sequence) in same {
                    in_front = in_front.max(*sequence);
                    bound = if *sequence < later { bound.max(*sequence) } else { bound };
                }
            }
            bound
        };
        self.0.into_iter().map(|(block, names)| (block, of_segment(block, names))).collect()
    }
}

/// Pages that cannot be read.
#[derive(Default)]
pub(crate) struct Told {
    /// Pages that a later one names.
    pub(crate) lost: Vec<Lost>,
    /// Pages that none names.
    pub(crate) unnamed: Vec<Place>,
    /// Pages that the power cut may have destroyed before they were promised, named or not.
    pub(crate) cut: Vec<Place>,
}

/// The newest page and its blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Doubted {
    pub(crate) place: Place,
    pub(crate) lbas: Vec<u32>,
}

impl Gaps {
    /// Asks later pages about these. Looks only at pages before which a number is missing.
    pub(crate) fn named(self, flash: &mut Flash<'_>, shape: &Shape, newest: &Newest) -> Result<Told> {
        let Some(first) = self.places.iter().map(|gap| gap.before).min() else {
            return Ok(Told::default());
        };
        let gaps: BTreeMap<u32, Gap> =
            self.places.into_iter().map(|gap| (shape.page(gap.place), gap)).collect();
        let pages = newest.above(first);
        let highest = newest.highest();
        let may_be_cut = |risk: Risk| match risk {
            Risk::None => false,
            Risk::Torn => true,
            Risk::Complete(sequence) => sequence >= highest,
        };
        let mut named: BTreeMap<u32, (Lost, Fate)> = BTreeMap::new();
        let mut all = Names::default();
        let mut previous = first;
        for (sequence, teller) in pages {
            let is_behind = previous + 1 < sequence || previous == first;
            previous = sequence;
            if !is_behind {
                continue;
            }
            let Found::Page(tag, _) = flash.read(teller)? else { continue };
            // The first page behind a power cut promises no page before it.
            if tag.promised || tag.before.is_none() {
                let settled = if tag.promised { Fate::Lost } else { Fate::Cut };
                let open = named.values_mut().filter(|(_, fate)| *fate == Fate::Open);
                open.for_each(|(_, fate)| *fate = settled);
            }
            let Some(before) = tag.before else { continue };
            // None lies between the two.
            all.add(shape, before.page, sequence - 1);
            if let Some(Gap { place, risk, .. }) = gaps.get(&before.page) {
                let fate = if may_be_cut(*risk) && !tag.promised { Fate::Open } else { Fate::Lost };
                let lost =
                    Lost { place: *place, sequence: sequence - 1, lbas: before.lbas, told_by: teller.block };
                // A name of an earlier page in this place is older.
                named.insert(before.page, (lost, fate));
            }
        }
        let erased = all.before_erase(newest);
        let is_older =
            |lost: &Lost| erased.get(&lost.place.block).is_some_and(|bound| lost.sequence <= *bound);
        named.retain(|_, (lost, _)| !is_older(lost));
        let mut told = Told::default();
        // The newest known number in the segment so far.
        let mut newest = (u32::MAX, 0);
        for (page, Gap { place, before, risk }) in gaps {
            let known = if newest.0 == place.block { newest.1.max(before) } else { before };
            newest = (place.block, known);
            match named.remove(&page).filter(|(lost, _)| lost.sequence >= known) {
                Some((lost, Fate::Lost)) => {
                    newest.1 = lost.sequence;
                    told.lost.push(lost);
                }
                Some(_) => told.cut.push(place),
                None if may_be_cut(risk) => told.cut.push(place),
                None => told.unnamed.push(place),
            }
        }
        Ok(told)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use pumice_cleaning::Class;
    use pumice_media::{BlockDevice, ChipSpec, Lba, SimChip};

    use crate::open::{CreateOptions, OpenOptions, create};
    use crate::server::Server;
    use crate::testing::{chip_of, served};

    fn write(disk: &mut Server<'static>, lba: u32) {
        disk.write(Lba(lba.into()), &vec![8; disk.block_bytes() as usize]).unwrap();
    }

    /// The page that tells of a lost page lies in a segment with nothing live. Any free segments may be taken and
    /// erased after the start: the next start must still know.
    #[test]
    fn the_segment_that_names_a_lost_page_is_kept() {
        let mut chip = SimChip::new(&ChipSpec::parse_geometry("2048+64:8:40").unwrap());
        let options = CreateOptions {
            block_bytes: 2048,
            policies: crate::PolicyNames { placement: "m1".parse().unwrap(), ..Default::default() },
            ..CreateOptions::default()
        };
        create(&mut chip, &options, &mut |_, _| {}).unwrap();
        let mut disk = served(chip);
        (0..32).for_each(|lba| write(&mut disk, lba));
        let mut disk = Server::open(disk.close().unwrap(), OpenOptions::default()).unwrap();
        let (older, _) = {
            let addr = disk.map.addr(&mut disk.log, 15).unwrap();
            disk.log.shape.place(addr)
        };
        // The last page of a segment, named by the first of the next, of which all is written twice.
        (0..8).for_each(|lba| write(&mut disk, lba + 8));
        (0..16).for_each(|turn| write(&mut disk, turn % 8));
        disk.flush().unwrap();
        let (place, _) = {
            let addr = disk.map.addr(&mut disk.log, 15).unwrap();
            disk.log.shape.place(addr)
        };
        assert_eq!(place.index, 7);
        let page = disk.log.shape.page(place);
        let mut chip = chip_of(&disk);
        chip.faults_mut().unreadable.insert(disk.log.shape.medium.chip_page(page, 0));

        let mut disk = served(chip);
        let mut bytes = vec![0; 2048];
        assert!(disk.read(Lba(15), &mut bytes).is_err());
        // But for the one with the older copy.
        while let Some(free) = disk.log.policies.wear.allocate(Class(0), &disk.log.segments) {
            assert!(free == older.block || disk.log.erase(&mut disk.map, free).unwrap());
        }
        let mut disk = served(chip_of(&disk));
        assert!(disk.read(Lba(15), &mut bytes).is_err(), "older in silence");
    }
}
