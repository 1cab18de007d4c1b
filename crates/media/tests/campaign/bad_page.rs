//! No single bad page: each programmed page in turn cannot be read.

use pumice_media::{ChipSpec, PageId};

use super::table::Row;
use super::{Found, Left, Owner, Volume, programmed};

/// Makes every `step`th programmed page unreadable, one at a time.
pub fn each_page<O: Owner>(owner: &O, chip_name: &str, spec: &ChipSpec, left: Left, step: usize) -> Row {
    let mut volume = owner.populate(spec, left);
    let sound = owner.examine(volume.chip.clone(), &volume.content);
    assert!(sound.named.is_empty() && sound.silent.is_empty(), "{chip_name}: unhurt, and yet {sound:?}");
    let mut row = Row::new(O::NAME, chip_name, &format!("{left:?}, a bad page"));
    for page in programmed(&mut volume.chip).into_iter().step_by(step) {
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

/// The newest page of all may take along what it held, if the power failed.
fn excuse<C>(volume: &Volume<C>, left: Left, page: PageId, mut found: Found) -> Found {
    if left == Left::Crashed && volume.newest.contains(&page) {
        found.silent.clear();
    }
    found
}
