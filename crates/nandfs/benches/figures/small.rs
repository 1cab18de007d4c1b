//! Many small files.

use pumice_vfs::{FileSystem, Ino};

use crate::Figure;
use crate::chip::{create, during, formatted, mount, noise, reads};

pub(crate) fn figures() -> Vec<Figure> {
    const FILES: u64 = 5000;
    let fs = mount(formatted("slc-2k-2g", None));
    let did = during(&fs, || {
        for n in 0..FILES {
            fs.write(create(&fs, &format!("file number {n}")), 0, &noise(1024, n)).unwrap();
        }
        fs.sync().unwrap();
    });
    let mut chip = fs.unmount().unwrap();
    let mut worst = 0;
    for n in (0..FILES).step_by(97) {
        let fs = mount(chip);
        let cost = during(&fs, || {
            fs.lookup(Ino::ROOT, format!("file number {n}").as_bytes()).unwrap();
        });
        worst = worst.max(reads(cost));
        chip = fs.unmount().unwrap();
    }
    vec![
        Figure::at_most(
            "create, write and close a 1 KiB file",
            "programs",
            did.programs as f64 / FILES as f64,
            1.5,
        ),
        Figure::at_most("stat after mount, worst of 52", "reads", worst as f64, 4.0),
    ]
}
