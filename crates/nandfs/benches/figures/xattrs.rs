//! Extended attributes: programs of the chip for one that changes, beside others.

use pumice_vfs::{FileSystem, XattrMode};

use crate::chip::{create, during, formatted, mount};

/// Changes that are measured.
const CHANGES: u32 = 20;

pub(crate) fn table() -> Vec<String> {
    let head = "| setxattr of 20 bytes and fsync, slc-2k-2g, beside | programs, mean | most |\n|---|---|---|";
    let rows = [4, 60, 960].map(|attributes: u32| {
        let fs = mount(formatted("slc-2k-2g", Some(64 << 20)));
        let ino = create(&fs, "file");
        let set = |number: u32, value: u8| {
            fs.set_xattr(ino, format!("user.{number:06}").as_bytes(), &[value; 20], XattrMode::Either)
                .unwrap();
        };
        (0..attributes).for_each(|number| set(number, 1));
        fs.sync().unwrap();
        let programs: Vec<u64> = (0..CHANGES)
            .map(|turn| {
                let did = during(&fs, || {
                    set(turn * 7919 % attributes, 2);
                    fs.fsync(ino, false).unwrap();
                });
                did.programs
            })
            .collect();
        let mean = programs.iter().sum::<u64>() as f64 / f64::from(CHANGES);
        format!("| {attributes} attributes | {mean:.1} | {} |", programs.iter().max().unwrap())
    });
    [head.to_owned()].into_iter().chain(rows).collect()
}
