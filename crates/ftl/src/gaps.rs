//! Pages that a start cannot read, and whose they were: the page that was programmed next says so, in whatever segment
//! it lies. A page that the power cut tore has none behind it, and nobody names it.

use alloc::{collections::BTreeMap, vec::Vec};

use pumice_media::Nand;

use crate::error::Result;
use crate::flash::{Flash, Found};
use crate::newest::Newest;
use crate::shape::{Place, Shape};

/// What a start met.
#[derive(Default)]
pub(crate) struct Gaps {
    /// Pages that cannot be read, each with the sequence number of one that was programmed before it.
    pub(crate) places: Vec<(Place, u64)>,
}

/// A page that is lost.
pub(crate) struct Lost {
    pub(crate) place: Place,
    /// A sequence number in the order of all pages.
    pub(crate) sequence: u64,
    /// Its logical blocks.
    pub(crate) lbas: Vec<u32>,
    /// The segment whose tags tell so.
    pub(crate) told_by: u32,
}

/// The newest page, and what it held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Doubted {
    pub(crate) place: Place,
    pub(crate) lbas: Vec<u32>,
}

impl Gaps {
    /// The pages that a later one names, and those that none does. Looks at those later ones alone before which a number
    /// is missing.
    pub(crate) fn named<N: Nand>(
        self,
        flash: &mut Flash<N>,
        shape: &Shape,
        newest: &Newest,
    ) -> Result<(Vec<Lost>, Vec<Place>)> {
        let Some(first) = self.places.iter().map(|(_, before)| *before).min() else {
            return Ok((Vec::new(), Vec::new()));
        };
        let mut gaps: BTreeMap<u32, Place> =
            self.places.iter().map(|(place, _)| (shape.page(*place), *place)).collect();
        let mut found = Vec::new();
        let mut last = first;
        for (sequence, teller) in newest.above(first) {
            let is_behind = last + 1 < sequence || last == first;
            last = sequence;
            if !is_behind {
                continue;
            }
            let Found::Page(tag, _) = flash.read(teller)? else { continue };
            let Some(before) = tag.before else { continue };
            if let Some(place) = gaps.remove(&before.page) {
                // None lies between the two.
                found.push(Lost { place, sequence: sequence - 1, lbas: before.lbas, told_by: teller.block });
            }
        }
        Ok((found, gaps.into_values().collect()))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use pumice_cleaning::Class;
    use pumice_media::{BlockDevice, ChipSpec, Lba, SimChip};

    use crate::ftl::Ftl;
    use crate::open::{CreateOptions, OpenOptions, create};

    fn write(disk: &mut Ftl<SimChip>, lba: u32) {
        disk.write(Lba(lba.into()), &vec![8; disk.block_bytes() as usize]).unwrap();
    }

    /// What tells of a lost page lies in a segment in which nothing lives any more. Whichever free segments are taken after
    /// the start, and erased, the next start must still know.
    #[test]
    fn the_segment_that_names_a_lost_page_is_kept() {
        let mut chip = SimChip::new(&ChipSpec::parse_geometry("2048+64:8:40").unwrap());
        let options = CreateOptions {
            block_bytes: 2048,
            policies: crate::PolicyNames { placement: "m1".parse().unwrap(), ..Default::default() },
            ..CreateOptions::default()
        };
        create(&mut chip, &options, &mut |_, _| {}).unwrap();
        let mut disk = Ftl::open(chip, OpenOptions::default()).unwrap();
        (0..32).for_each(|lba| write(&mut disk, lba));
        let mut disk = Ftl::open(disk.close().unwrap(), OpenOptions::default()).unwrap();
        let (older, _) = disk.shape.place(disk.table.get(15));
        // The last page of a segment, named by the first of the next, of which all is written twice.
        (0..8).for_each(|lba| write(&mut disk, lba + 8));
        (0..16).for_each(|turn| write(&mut disk, turn % 8));
        disk.flush().unwrap();
        let (place, _) = disk.shape.place(disk.table.get(15));
        assert_eq!(place.index, 7);
        let page = disk.shape.page(place);
        let mut chip = disk.chip().clone();
        chip.faults_mut().unreadable.insert(disk.shape.medium.chip_page(page, 0));

        let mut disk = Ftl::open(chip, OpenOptions::default()).unwrap();
        let mut bytes = vec![0; 2048];
        assert!(disk.read(Lba(15), &mut bytes).is_err());
        // But for the one with the older copy.
        while let Some(free) = disk.policies.wear.allocate(Class(0)) {
            assert!(free == older.block || disk.erase(free).unwrap());
        }
        let mut disk = Ftl::open(disk.chip().clone(), OpenOptions::default()).unwrap();
        assert!(disk.read(Lba(15), &mut bytes).is_err(), "older in silence");
    }
}
