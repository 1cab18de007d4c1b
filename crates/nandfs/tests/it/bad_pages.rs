//! No single bad page breaks a volume: each programmed page of a volume of 200 files in turn cannot be read, or has a
//! wrong bit in its spare area where no code covers it. In CI a sample is looked at; `PUMICE_PAGES=all` takes every page,
//! and every page of every cut.

use std::sync::{Arc, Mutex};

use crate::campaign::newest::Newest;
use crate::campaign::table::Row;
use crate::campaign::{Found, Left, Opened, Owner, Volume, bad_page, spare_bit};
use crate::common::examine::examine;
use crate::cut::image::Image;
use crate::cut::player::{Notes, Player};
use crate::cut::probe::{Hook, Probe};
use crate::cut::runner::{CHIPS, MODES, chip};
use crate::cut::scenarios::scenario;
use crate::cut::shared::Shared;
use crate::cut::step::bytes_of;
use crate::cut::verify::{CACHE_BYTES, mount};
use pumice_knobs::{NANDFS_PAGES, Part};
use pumice_media::{ChipSpec, CutMode, Nand, PageId, SimChip};
use pumice_nandfs::{Compression, FormatOptions, FsyncProtection, MountOptions, NandFs, check, format};
use pumice_vfs::conformance::{TestClock, write_file};
use pumice_vfs::{FileSystem, XattrMode};

const FILES: usize = 200;
/// Chip pages programmed last that are always looked at where fsync is protected at once.
const NEWEST: usize = 12;

/// The file system, with so many parity pages in each erase block.
struct Files {
    parity: u8,
    from: FsyncProtection,
    compression: Option<Compression>,
}

const PLAIN: Files = Files { parity: 0, from: FsyncProtection::AtClose, compression: None };

impl Owner for Files {
    type Content = Image;
    const NAME: &'static str = "nandfs";

    fn populate(&self, spec: &ChipSpec, left: Left) -> Volume<Image> {
        let clock = TestClock::new();
        let mut chip = SimChip::new(spec);
        let (created, parity_pages) = (clock.now(), self.parity);
        let fsync_protection = self.from;
        let options = FormatOptions::default().with(|it| {
            it.created = created;
            it.erased = true;
            it.parity_pages = parity_pages;
            it.fsync_protection = fsync_protection;
            it.compression = self.compression;
        });
        format(&mut chip, &options, &mut |_, _| {}).unwrap();
        let shared = Shared::new(chip);
        let newest = if self.from == FsyncProtection::Now { NEWEST } else { 1 };
        let (probe, last) = Newest::new(shared.clone(), newest);
        let fs = mount(probe, &clock).unwrap();
        fill(&fs, &clock);
        let content = Image::take(&fs, &Image::default()).unwrap();
        let gang = fs.info().unwrap().gang_pages;
        let chip = match left {
            Left::Clean => fs.unmount().unwrap().chip.copy(),
            Left::Crashed => shared.copy(),
        };
        let newest = crate::campaign::newest::log_page(&last, gang);
        Volume { chip, content, newest }
    }

    fn examine(&self, chip: SimChip, content: &Image) -> Found {
        let clock = TestClock::new();
        let report = check(chip.clone(), &mut |_, _| {});
        let mut found = Found::nothing();
        found.reported = report.map_or(true, |report| !report.findings.is_empty());
        if let Ok(fs) = mount(chip.clone(), &clock) {
            found.opened = Opened::Writable;
            examine(&fs, content, &mut found);
            // The same files must be there the next time, too.
            match fs.unmount().and_then(|chip| mount(chip, &clock)) {
                Ok(fs) => examine(&fs, content, &mut found),
                Err(error) => found.silent.push(format!("the next mount: {error}")),
            }
        } else if let Ok(fs) =
            NandFs::mount(chip, MountOptions::new(CACHE_BYTES, clock.clock()).with(|it| it.read_only = true))
        {
            found.opened = Opened::ReadOnly;
            examine(&fs, content, &mut found);
        }
        found
    }
}

/// 200 files of all sizes in some directories, a checkpoint, and then changes that fsync promises one by one.
fn fill<N: pumice_media::Nand>(fs: &NandFs<N>, clock: &TestClock) {
    let path = |number: usize| format!("{}/file{number}", ["", "/a", "/b", "/b/c"][number % 4]);
    for dir in ["/a", "/b", "/b/c"] {
        crate::cut::step::Step::Make(dir.into(), pumice_vfs::FileKind::Dir)
            .apply(fs, 0, &mut crate::cut::step::Held::new())
            .unwrap();
    }
    for number in 0..FILES - 10 {
        clock.tick();
        let len = [300, 2000, 5000, 900][number / 4 % 4] + u32::try_from(number).unwrap();
        let ino = write_file(fs, &path(number), &bytes_of(number, len)).unwrap();
        if number % 10 == 3 {
            fs.set_xattr(ino, b"user.color", &bytes_of(number, 30), XattrMode::Either).unwrap();
        }
    }
    let large = write_file(fs, "/large", &bytes_of(1000, 90_000)).unwrap();
    fs.sync().unwrap();
    for number in FILES - 10..FILES {
        clock.tick();
        let ino = write_file(fs, &path(number), &bytes_of(number, 700)).unwrap();
        fs.fsync(ino, false).unwrap();
    }
    for number in (0..60).step_by(3) {
        clock.tick();
        let ino = write_file(fs, &path(number), &bytes_of(number + 2000, 1500)).unwrap();
        fs.fsync(ino, false).unwrap();
        fs.write(large, number as u64 * 1400, &bytes_of(number + 3000, 600)).unwrap();
        fs.fsync(large, false).unwrap();
    }
}

fn ran(cases: usize) {
    NANDFS_PAGES.ran_part(cases as u64);
}

/// Runs a campaign on every layout, clean and crashed.
fn rows(sample: u64, run: impl Fn(&str, &ChipSpec, Left, Part) -> Row) -> Vec<Row> {
    let which = NANDFS_PAGES.sample(sample);
    let mut rows = Vec::new();
    for (name, geometry) in CHIPS {
        let spec = ChipSpec::parse_geometry(geometry).unwrap();
        for left in [Left::Clean, Left::Crashed] {
            let row = run(name, &spec, left, which);
            row.print();
            rows.push(row);
        }
    }
    ran(rows.iter().map(|row| row.cases).sum());
    rows
}

/// Judges chips that lost their power and, beside it, a page.
struct PageAndCut {
    /// None before the first mount is through.
    notes: Option<Notes>,
    operations: Part,
    pages: usize,
    gang: u32,
    row: Row,
}

impl Hook for PageAndCut {
    fn modes(&mut self, n: u64) -> Vec<CutMode> {
        let mode = MODES[(n % 5) as usize].1;
        if self.notes.is_some() && self.operations.takes(n) { vec![mode] } else { Vec::new() }
    }

    fn crashed(&mut self, n: u64, mode: CutMode, mut chip: SimChip) {
        let Some(notes) = &self.notes else { return };
        let first = usize::try_from(n).unwrap();
        for page in bad_page::behind_the_cut(&mut chip, self.gang, self.pages, first) {
            let mut chip = chip.clone();
            chip.faults_mut().unreadable.insert(page);
            let found = nearest(&chip, notes);
            self.row.add(&format!("operation {n}, {mode:?}, page {}", page.0), &found);
        }
    }
}

/// Plays a scenario on a chip with cuts in these operations, and pages behind each of them that are bad in turn.
fn behind_cuts(name: &str, of: &str, operations: Part, pages: usize) -> Row {
    let clock = TestClock::new();
    let start = chip(name, &clock);
    let gang = mount(start.clone(), &clock).unwrap().info().unwrap().gang_pages;
    let row = Row::new("nandfs", name, &format!("{of}, a bad page behind a cut"));
    let hook = Arc::new(Mutex::new(PageAndCut { notes: None, operations, pages, gang, row }));
    let mut player = Player::new(Probe::new(start, hook.clone()), clock);
    hook.lock().unwrap().notes = Some(player.notes.clone());
    for step in scenario(of) {
        player.play(&step).unwrap();
    }
    let none = Row::new("nandfs", name, of);
    let row = std::mem::replace(&mut hook.lock().unwrap().row, none);
    row.print();
    row
}

/// The findings on a chip, compared with the nearest of the allowed trees.
fn nearest(chip: &SimChip, notes: &Notes) -> Found {
    let mut best: Option<Found> = None;
    for (_, tree) in notes.history.lock().unwrap().allowed(notes.promise()) {
        let found = PLAIN.examine(chip.clone(), &tree);
        if best.as_ref().is_none_or(|best| found.silent.len() < best.silent.len()) {
            best = Some(found);
        }
        if best.as_ref().is_some_and(|best| best.silent.is_empty()) {
            break;
        }
    }
    best.unwrap()
}

/// Every page in every cut of some scenarios, or a sample.
#[test]
fn no_single_bad_page_after_any_cut() {
    let (mut holds, mut cases) = (true, 0);
    let operations = NANDFS_PAGES.sample(401);
    let pages = if NANDFS_PAGES.whole().is_some() { 1 } else { 61 };
    for (name, _) in CHIPS {
        for of in ["names", "appends", "newfiles", "remounts", "saves"] {
            let row = behind_cuts(name, of, operations, pages);
            holds &= row.holds();
            cases += row.cases;
        }
    }
    ran(cases);
    assert!(holds);
}

/// The page that tells of a name that went has told of the links of another one, too.
#[test]
fn no_single_bad_page_after_a_name_of_two_went() {
    for name in ["spare", "gang"] {
        let row = behind_cuts(name, "links", Part { index: 0, of: 1 }, 1);
        assert!(row.cases > 60 && row.holds());
    }
}

#[test]
fn no_single_bad_page() {
    let rows = rows(23, |name, spec, left, which| bad_page::each_page(&PLAIN, name, spec, left, which));
    assert!(rows.iter().all(Row::holds));
}

#[test]
fn no_single_bad_page_with_compression() {
    let files = Files { compression: Some(Compression::Lz4), ..PLAIN };
    let rows = rows(41, |name, spec, left, which| {
        bad_page::each_page(&files, &format!("{name}@lz4"), spec, left, which)
    });
    assert!(rows.iter().all(Row::holds));
}

/// True if the parity of a page's block is not programmed yet.
fn is_open(chip: &mut SimChip, page: PageId, gang: u32) -> bool {
    let geometry = chip.geometry();
    let end = geometry.pages_per_block / gang * gang;
    let last = geometry.page(geometry.block_of(page), end - 1);
    !chip.page_state(last).unwrap().is_written()
}

/// Nothing is lost with parity, but for pages of blocks that were still open when the power went.
#[test]
fn no_single_bad_page_where_blocks_have_parity() {
    let (which, mut cases) = (NANDFS_PAGES.sample(29), 0);
    for (name, parity) in [("spares", 1), ("gangs", 2), ("inpage", 1)] {
        let files = Files { parity, ..PLAIN };
        let spec = crate::cut::runner::spec(name);
        for left in [Left::Clean, Left::Crashed] {
            let mut volume = files.populate(&spec, left);
            let gang = mount(volume.chip.clone(), &TestClock::new()).unwrap().info().unwrap().gang_pages;
            let row =
                |what| Row::new(Files::NAME, name, &format!("+{parity} {left:?}, a bad page of {what}"));
            let (mut closed, mut open) = (row("a closed block"), row("an open block"));
            for page in which.pick(crate::campaign::programmed(&mut volume.chip).into_iter()) {
                let is_open = left == Left::Crashed && is_open(&mut volume.chip, page, gang);
                let mut chip = volume.chip.clone();
                chip.faults_mut().unreadable.insert(page);
                let mut found = files.examine(chip, &volume.content);
                if is_open && volume.newest.contains(&page) {
                    found.silent.clear();
                }
                if is_open { &mut open } else { &mut closed }.add(&format!("page {}", page.0), &found);
            }
            closed.print();
            open.print();
            assert!(closed.is_whole() && closed.read_only == 0 && open.holds());
            // Of a small part there are few pages.
            assert!(which.of > 29 || closed.cases > 3 * open.cases);
            cases += closed.cases + open.cases;
        }
    }
    ran(cases);
}

/// Nothing is lost with copies of parity, not even the newest page of a head; that of the copies themselves neither.
#[test]
fn no_single_bad_page_where_fsync_is_protected_at_once() {
    let (which, mut cases) = (NANDFS_PAGES.sample(31), 0);
    for (name, parity) in [("spares", 1), ("gangs", 2), ("inpage", 1), ("spares", 2)] {
        let files = Files { parity, from: FsyncProtection::Now, compression: None };
        let spec = crate::cut::runner::spec(name);
        for left in [Left::Clean, Left::Crashed] {
            let mut volume = files.populate(&spec, left);
            let mut row = Row::new(Files::NAME, name, &format!("+{parity} now, {left:?}, a bad page"));
            let pages = which.pick(crate::campaign::programmed(&mut volume.chip).into_iter());
            for page in pages.chain(volume.newest.clone()) {
                let mut chip = volume.chip.clone();
                chip.faults_mut().unreadable.insert(page);
                row.add(&format!("page {}", page.0), &files.examine(chip, &volume.content));
            }
            row.print();
            assert!(row.is_whole() && row.read_only == 0);
            cases += row.cases;
        }
    }
    ran(cases);
}

#[test]
fn no_single_spare_bit() {
    let rows = rows(23, |name, spec, left, which| spare_bit::each_page(&PLAIN, name, spec, left, which));
    assert!(rows.iter().all(Row::is_whole));
}
