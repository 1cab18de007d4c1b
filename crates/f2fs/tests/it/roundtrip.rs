//! Every structure of every volume at hand survives being taken apart and put together again.

use std::ops::ControlFlow;

use crate::common::image::Golden;
use pumice_f2fs::{
    Node, Nodes, Volume, crc,
    layout::{
        Checkpoint, DentryLayout, Inode, JournalEntries, NatEntry, NatJournalEntry, Nid, NodeFooter,
        RawNatEntry, RawSitEntry, RawSummary, SegNo, SitEntry, SitJournalEntry, Summary, SuperBlock,
        parse_journal,
    },
};
use pumice_vfs::FileKind;
use zerocopy::{FromBytes, IntoBytes};

#[test]
fn structures_are_put_together_as_they_were() {
    for golden in Golden::other_names().iter().chain(&Golden::own_names()).map(|name| Golden::of_kind(name)) {
        let opened = golden.open();
        let volume = opened.volume();
        heads(volume);
        tables(volume);
        summaries(volume);
        assert!(nodes(&opened) > 0, "{}", golden.name());
    }
}

fn heads(volume: &Volume) {
    let block = volume.block(pumice_f2fs::layout::BlockAddr(0)).unwrap();
    let bytes = &block[1024..1024 + 3072];
    assert_eq!(SuperBlock::from_bytes(bytes).unwrap().raw().as_bytes(), bytes);
    let cp = volume.checkpoint();
    let again = Checkpoint::from_block(cp.pack(), cp.block(), volume.block_size()).unwrap();
    assert_eq!(again.raw().as_bytes(), &cp.block()[..192]);
    let start = volume.super_block().checkpoint_addr(cp.pack()).0 + 1;
    for (index, orphans) in volume.orphan_blocks().unwrap().into_iter().enumerate() {
        let addr = pumice_f2fs::layout::BlockAddr(start + u32::try_from(index).unwrap());
        assert_eq!(orphans.to_block(volume.block_size()), *volume.block(addr).unwrap());
    }
}

fn tables(volume: &Volume) {
    for index in 0..volume.nat_blocks().min(8) {
        let block = volume.nat_block(index).unwrap();
        for raw in block.chunks_exact(size_of::<RawNatEntry>()) {
            let entry = NatEntry::from(RawNatEntry::read_from_bytes(raw).unwrap());
            assert_eq!(entry.to_raw().as_bytes(), raw);
        }
    }
    for index in 0..volume.sit_blocks() {
        let block = volume.sit_block(index).unwrap();
        for raw in block.chunks_exact(size_of::<RawSitEntry>()) {
            let entry = SitEntry::from(RawSitEntry::read_from_bytes(raw).unwrap());
            assert_eq!(entry.to_raw().as_bytes(), raw);
            assert_eq!(entry.bits(), u32::from(entry.valid_blocks));
        }
    }
}

fn summaries(volume: &Volume) {
    for segno in 0..volume.super_block().main_segments() {
        let summary = volume.ssa(SegNo(segno)).unwrap();
        let entries = summary.as_bytes().chunks_exact(size_of::<RawSummary>()).take(512);
        for (offset, raw) in entries.enumerate() {
            let entry = Summary::from(RawSummary::read_from_bytes(raw).unwrap());
            assert_eq!(entry, summary.entry(u32::try_from(offset).unwrap()));
            assert_eq!(entry.to_raw().as_bytes(), raw);
        }
    }
    for (log, head) in volume.log_heads().iter().enumerate() {
        let Some(summary) = &head.summary else { continue };
        match log {
            0 => journal::<NatJournalEntry>(summary.journal()),
            2 => journal::<SitJournalEntry>(summary.journal()),
            _ => {}
        }
    }
}

fn journal<E: JournalEntries>(bytes: &[u8]) {
    let entries: Vec<E> = parse_journal(bytes).unwrap();
    let mut again = u16::try_from(entries.len()).unwrap().to_le_bytes().to_vec();
    for entry in &entries {
        again.extend_from_slice(entry.to_raw().as_bytes());
    }
    assert_eq!(again, bytes[..again.len()]);
}

/// Every node that the NAT knows; returns how many.
fn nodes(nodes: &Nodes) -> usize {
    let volume = nodes.volume();
    let mut count = 0;
    for nid in (3..volume.nat_blocks().min(8) * volume.block_size().nat_entries()).map(Nid) {
        let entry = volume.nat_entry(nid).unwrap();
        if !entry.is_used() {
            continue;
        }
        let node = nodes.node(nid).unwrap();
        count += 1;
        let stored = volume.block(node.addr).unwrap();
        let footer = NodeFooter::of(&stored).unwrap();
        assert_eq!(footer.to_raw().as_bytes(), &stored[stored.len() - 24..]);
        if footer.is_inode() {
            inode(nodes, nid, &stored);
        }
    }
    count
}

fn inode(nodes: &Nodes, ino: Nid, stored: &[u8]) {
    let volume = nodes.volume();
    let inode = Inode::from_block(ino, stored, volume.block_size(), volume.features()).unwrap();
    let bytes = inode.addrs_at();
    let mut again = vec![0; stored.len()];
    inode.write_to(&mut again);
    assert_eq!(again[..bytes], stored[..bytes], "inode {ino}");
    let (inode, node) = nodes.inode(ino).unwrap();
    if inode.kind == FileKind::Dir {
        dentries(nodes, &inode, &node);
    }
    let list = nodes.xattrs(&inode, &node).unwrap();
    let mut at = 24;
    for entry in list.entries() {
        let entry = entry.unwrap();
        let mut again = entry.to_raw().as_bytes().to_vec();
        again.extend_from_slice(entry.name);
        again.extend_from_slice(entry.value);
        assert_eq!(again, list.as_bytes()[at..at + again.len()]);
        at += entry.bytes();
    }
}

fn dentries(nodes: &Nodes, inode: &Inode, node: &Node) {
    let volume = nodes.volume();
    let layout = if inode.has_inline_dentry() {
        DentryLayout::for_bytes(inode.inline_range().len())
    } else {
        DentryLayout::for_block(volume.block_size())
    };
    nodes
        .each_dentry(inode, node, &mut |index, dentry| {
            let block = if inode.has_inline_dentry() {
                node.block[inode.inline_range()].to_vec()
            } else {
                match nodes.run_at(inode, node, index, 1).unwrap().mapped {
                    pumice_f2fs::Mapped::At(addr) => volume.block(addr).unwrap().to_vec(),
                    other => panic!("a block of entries is {other:?}"),
                }
            };
            let at = layout.entry_at(dentry.slot);
            assert_eq!(dentry.to_raw().as_bytes(), &block[at..at + 11]);
            let at = layout.name_at(dentry.slot);
            assert_eq!(dentry.name, &block[at..at + dentry.name.len()]);
            ControlFlow::Continue(())
        })
        .unwrap();
}

#[test]
fn inode_checksums_are_those_that_linux_wrote() {
    let golden = Golden::of_kind("g02-allfeat");
    let nodes = golden.open();
    let volume = nodes.volume();
    let (inode, node) = nodes.inode(volume.super_block().root()).unwrap();
    let sum = crc::inode_checksum(volume.inode_seed(), inode.ino.0, inode.generation, &node.block);
    assert_eq!(sum, inode.extra.map(|extra| extra.checksum));
}
