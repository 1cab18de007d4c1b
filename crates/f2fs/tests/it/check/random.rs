//! Random damage, truncation and hostile numbers: the check ends, and tells or refuses.

use std::sync::Arc;

use fastrand::Rng;
use pumice_f2fs::{
    check::{Code, check},
    layout::{BlockAddr, Nid},
};
use pumice_knobs::F2FS_CHECKED;

use super::patient::{BLOCK, Patient, place};
use crate::common::image::Golden;

/// All blocks that are not data of files: where damage does most.
pub(crate) fn metadata(patient: &Patient) -> Vec<BlockAddr> {
    let volume = patient.volume();
    let sb = volume.super_block();
    let checkpoint = volume.checkpoint();
    let head = sb.checkpoint_addr(checkpoint.pack()).0;
    let total = checkpoint.raw().cp_pack_total_block_count.get();
    let mut blocks: Vec<_> = (0..2).chain(head..head + total).map(BlockAddr).collect();
    blocks.extend((0..4.min(volume.nat_blocks())).map(|index| volume.nat_addr(index)));
    blocks.extend((0..volume.sit_blocks()).map(|index| volume.sit_addr(index)));
    blocks
        .extend(patient.full_segments().iter().map(|segno| BlockAddr(sb.raw().ssa_blkaddr.get() + segno.0)));
    for nid in (3..2000).map(Nid) {
        if let Ok(node) = volume.node(nid) {
            blocks.push(node.addr);
        }
    }
    blocks
}

pub(crate) fn damage(patient: &mut Patient, blocks: &[BlockAddr], random: &mut Rng) {
    for _ in 0..random.usize(1..12) {
        let at = place(blocks[random.usize(..blocks.len())]) + random.usize(..BLOCK - 4);
        match random.u8(0..4) {
            0 => patient.write(at, &[random.u8(..)]),
            1 => patient.put32(at & !3, random.u32(..)),
            2 => patient.put32(at & !3, [0, 1, u32::MAX, u32::MAX - 1, 0x7fff_ffff][random.usize(..5)]),
            _ => {
                // Numbers from elsewhere: plausible, and wrong.
                let other = patient.read(place(blocks[random.usize(..blocks.len())]), BLOCK);
                let length = 1 << random.u32(2..12);
                let from = random.usize(..BLOCK - length);
                patient.write(
                    place(BlockAddr(u32::try_from(at / BLOCK).unwrap())) + from,
                    &other[from..from + length],
                );
            }
        }
    }
}

#[test]
fn random_damage_ends_in_findings_or_a_refusal() {
    let (seeds, names) = (F2FS_CHECKED.seeds(0..60), ["g02-allfeat", "g09-crash-orphan", "g06-compress"]);
    for name in names {
        let image = Arc::new(Golden::of_kind(name).bytes());
        let blocks = metadata(&Patient::new(&image));
        for seed in seeds.clone() {
            eprintln!("{name}, PUMICE_SEED={seed}");
            let mut random = Rng::with_seed(seed);
            let mut patient = Patient::new(&image);
            damage(&mut patient, &blocks, &mut random);
            if random.bool() {
                let (at, value) = (random.usize(..192 / 4) * 4, random.u32(..));
                patient.edit_checkpoint(|raw| {
                    zerocopy::IntoBytes::as_mut_bytes(raw)[at..at + 4].copy_from_slice(&value.to_le_bytes());
                });
            }
            // An error is an answer, too.
            if let Ok(report) = check(vec![Box::new(patient.disk.clone())], 2, &mut |_, _| ()) {
                assert_eq!(report.findings.is_empty(), report.count == 0);
            }
        }
    }
    F2FS_CHECKED.ran(seeds.clone(), (seeds.end - seeds.start) * names.len() as u64);
}

#[test]
fn truncated_images_are_refused_or_told() {
    let image = Arc::new(Golden::of_kind("g02-allfeat").bytes());
    let mut random = Rng::with_seed(7);
    for _ in 0..40 {
        let mut patient = Patient::new(&image);
        patient.truncate(random.usize(..image.len()));
        if let Ok(report) = check(vec![Box::new(patient.disk)], 2, &mut |_, _| ()) {
            assert!(report.count > 0);
        }
    }
}

/// Every inode points to the same directory block: its entries must not be taken in once for each.
#[test]
fn a_shared_directory_block_is_read_once() {
    let image = Arc::new(Golden::of_kind("g02-allfeat").bytes());
    let mut patient = Patient::new(&image);
    let directories: Vec<_> = patient
        .inodes()
        .filter(|(inode, _)| inode.kind == pumice_vfs::FileKind::Dir && !inode.has_inline_dentry())
        .collect();
    let (first, block) = &directories[0];
    let leaf = block[first.addrs_at()..first.addrs_at() + 4].to_vec();
    for (inode, _) in &directories {
        patient.edit_inode(inode.ino, |block| {
            let (at, words) = (inode.addrs_at(), inode.own_addrs() as usize);
            for word in block[at..at + words * 4].chunks_mut(4) {
                word.copy_from_slice(&leaf);
            }
        });
    }
    let found = patient.check();
    assert!(found.contains(&Code::BlockShared));
    assert!(!found.contains(&Code::DentryTwice), "names are taken in once");
}
