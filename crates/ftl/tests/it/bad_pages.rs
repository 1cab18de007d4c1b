//! No single bad page breaks a disk: each programmed page in turn cannot be read, or has a wrong bit in its spare area
//! where no code covers it. In CI a sample is looked at; `PUMICE_PAGES=all` takes every page.

use crate::campaign::newest::Newest;
use crate::campaign::table::Row;
use crate::campaign::{Found, Left, Opened, Owner, Volume, bad_page, spare_bit};
use crate::common::shared::Shared;
use crate::common::{CASES, Case, Model, policies, start};
use pumice_ftl::{CreateOptions, Export, Ftl, OpenOptions, create};
use pumice_knobs::{FTL_PAGES, Part};
use pumice_media::{BlockDevice, ChipSpec, Lba, Nand, SimChip};

/// A disk of this layout.
struct Disk(Case);

impl Owner for Disk {
    type Content = Model;
    const NAME: &'static str = "ftl";

    fn populate(&self, spec: &ChipSpec, left: Left) -> Volume<Model> {
        let mut chip = SimChip::new(spec);
        let options = CreateOptions {
            block_bytes: self.0.block_bytes,
            export: Export::Permille(500),
            policies: policies("cost-benefit", "sepbit", "none"),
            uuid: *b"0123456789abcdef",
            endurance: crate::common::ENDURANCE,
            parity_pages: self.0.parity,
            erased: true,
        };
        create(&mut chip, &options, &mut |_, _| {}).unwrap();
        let shared = Shared::new(chip);
        let (probe, last) = Newest::new(shared.clone(), 1);
        let mut disk = start(probe);
        let mut model = Model::new(disk.blocks(), disk.block_bytes());
        fill(&mut disk, &mut model);
        let chip = match left {
            Left::Clean => disk.close().unwrap().chip.copy(),
            Left::Crashed => shared.copy(),
        };
        let gang = self.0.block_bytes.div_ceil(spec.geometry().page_bytes);
        let newest = crate::campaign::newest::log_page(&last, gang);
        Volume { chip, content: model, newest }
    }

    fn examine(&self, chip: SimChip, content: &Model) -> Found {
        let mut found = Found::nothing();
        if let Ok(mut disk) = Ftl::open(chip.clone(), OpenOptions::default()) {
            found.opened = Opened::Writable;
            read_all(&mut disk, content, &mut found);
            // The same bytes must be there the next time, too.
            let again = disk.close().and_then(|chip| Ftl::open(chip, OpenOptions::default()));
            match again {
                Ok(mut disk) => read_all(&mut disk, content, &mut found),
                Err(error) => found.silent.push(format!("the next start: {error}")),
            }
        } else if let Ok(mut disk) =
            Ftl::open(chip, OpenOptions { read_only: true, ..OpenOptions::default() })
        {
            found.opened = Opened::ReadOnly;
            read_all(&mut disk, content, &mut found);
        }
        found
    }
}

/// Every block written once, then some of them again and some trimmed, and everything flushed, bit by bit.
fn fill<N: Nand>(disk: &mut Ftl<N>, model: &mut Model) {
    let blocks = model.blocks();
    let mut rng = fastrand::Rng::with_seed(11);
    for lba in 0..blocks {
        disk.write(Lba(lba), &model.write(lba)).unwrap();
    }
    for round in 0..blocks / 4 {
        let lba = rng.u64(..blocks);
        if round % 8 == 7 {
            disk.discard(Lba(lba), 1).unwrap();
            model.trim(lba);
        } else {
            disk.write(Lba(lba), &model.write(lba)).unwrap();
        }
        if round % 5 == 4 {
            disk.flush().unwrap();
            model.flush();
        }
    }
    disk.flush().unwrap();
    model.flush();
}

/// Reads each block; each thing is told once.
fn read_all<N: Nand>(disk: &mut Ftl<N>, content: &Model, found: &mut Found) {
    for lba in 0..content.blocks() {
        let (list, what) = match content.judge(disk, lba) {
            Ok(()) => continue,
            Err(what) if what.ends_with("cannot be read") => (&mut found.named, what),
            Err(what) => (&mut found.silent, what),
        };
        if !list.contains(&what) {
            list.push(what);
        }
    }
}

/// Runs a campaign on every layout, clean and crashed.
fn rows(sample: u64, run: impl Fn(&Disk, &ChipSpec, Left, Part) -> Row) -> Vec<Row> {
    let mut rows = Vec::new();
    for case in CASES {
        // Where the table lies in leaves there are more pages, and each takes longer.
        let which = FTL_PAGES.sample(if case.name.starts_with("leaves") { sample * 5 } else { sample });
        for left in [Left::Clean, Left::Crashed] {
            let row = run(&Disk(case), &case.spec(), left, which);
            row.print();
            rows.push(row);
        }
    }
    FTL_PAGES.ran_part(rows.iter().map(|row| row.cases as u64).sum());
    rows
}

#[test]
fn no_single_bad_page() {
    let rows = rows(47, |disk, spec, left, which| bad_page::each_page(disk, disk.0.name, spec, left, which));
    assert!(rows.iter().all(Row::holds));
}

#[test]
fn no_single_spare_bit() {
    let rows = rows(47, |disk, spec, left, which| spare_bit::each_page(disk, disk.0.name, spec, left, which));
    assert!(rows.iter().all(Row::is_whole));
}
