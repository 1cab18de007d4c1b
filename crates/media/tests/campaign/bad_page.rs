//! No single bad page: each programmed page in turn cannot be read.

use pumice_knobs::Part;
use pumice_media::{ChipSpec, PageId, SimChip};

use super::table::Row;
use super::{Found, Left, Owner, Volume, programmed};

/// Makes these programmed pages unreadable, one at a time.
pub fn each_page<O: Owner>(owner: &O, chip_name: &str, spec: &ChipSpec, left: Left, which: Part) -> Row {
    let mut volume = owner.populate(spec, left);
    let sound = owner.examine(volume.chip.clone(), &volume.content);
    assert!(sound.named.is_empty() && sound.silent.is_empty(), "{chip_name}: unhurt, and yet {sound:?}");
    let mut row = Row::new(O::NAME, chip_name, &format!("{left:?}, a bad page"));
    for page in which.pick(programmed(&mut volume.chip).into_iter()) {
        let found = hurt(owner, &volume, page);
        row.add(&format!("page {}", page.0), &excuse(&volume, left, page, found));
    }
    row
}

fn hurt<O: Owner>(owner: &O, volume: &Volume<O::Content>, page: PageId) -> Found {
    let mut chip = volume.chip.clone();
    chip.faults_mut().unreadable.insert(page);
    owner.examine(chip, &volume.content)
}

/// Pages of a chip that lost its power, of which each may be made unreadable: every `step`th that holds something, but
/// for the pages that were programmed last. Each operation must have had a second of its own.
pub fn behind_the_cut(chip: &mut SimChip, gang: u32, step: usize, first: usize) -> Vec<PageId> {
    let mut pages: Vec<(u32, PageId)> =
        programmed(chip).into_iter().map(|page| (chip.programmed_s(page).unwrap(), page)).collect();
    pages.sort_unstable();
    // The log page that the cut hit, and the newest one before it: nobody can tell their loss from a torn program.
    pages.truncate(pages.len().saturating_sub(2 * gang as usize));
    pages.into_iter().map(|(_, page)| page).skip(first % step).step_by(step).collect()
}

/// The newest page of all may take its contents along, if the power failed.
fn excuse<C>(volume: &Volume<C>, left: Left, page: PageId, mut found: Found) -> Found {
    if left == Left::Crashed && volume.newest.contains(&page) {
        found.silent.clear();
    }
    found
}
