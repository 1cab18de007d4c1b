//! Structures of F2FS as documents, for `info` and `dump`.

pub(crate) mod args;

use std::ops::ControlFlow;

use pumice_f2fs::{
    BlockAddr, Error, F2fs, Inode, Nid, NodeFooter, NodeOffset, Nodes, Result, SegNo, SitEntry, Summary,
    SummaryKind, Volume,
};
use pumice_vfs::{Errno, FileKind, Ino};
use serde_json::{Map, Value, json};

use crate::{document, text};

pub(crate) fn super_block(volume: &Volume) -> Value {
    let sb = volume.super_block();
    let raw = sb.raw();
    let devices: Vec<Value> = sb
        .devices()
        .iter()
        .map(|device| json!({ "path": device.path, "first_block": device.first, "blocks": device.blocks }))
        .collect();
    json!({
        "format_version": format!("{}.{}", raw.major_ver.get(), raw.minor_ver.get()),
        "label": sb.label(),
        "uuid": uuid::Uuid::from_bytes(sb.uuid()).to_string(),
        "features": sb.features().names().collect::<Vec<_>>(),
        "sector_bytes": 1_u64 << raw.log_sectorsize.get(),
        "block_bytes": sb.block().bytes(),
        "segment_blocks": sb.blocks_per_segment(),
        "section_segments": raw.segs_per_sec.get(),
        "zone_sections": raw.secs_per_zone.get(),
        "blocks": raw.block_count.get(),
        "sections": raw.section_count.get(),
        "segments": raw.segment_count.get(),
        "checkpoint_segments": raw.segment_count_ckpt.get(),
        "sit_segments": raw.segment_count_sit.get(),
        "nat_segments": raw.segment_count_nat.get(),
        "ssa_segments": raw.segment_count_ssa.get(),
        "main_segments": raw.segment_count_main.get(),
        "segment0_block": raw.segment0_blkaddr.get(),
        "checkpoint_block": raw.cp_blkaddr.get(),
        "sit_block": raw.sit_blkaddr.get(),
        "nat_block": raw.nat_blkaddr.get(),
        "ssa_block": raw.ssa_blkaddr.get(),
        "main_block": raw.main_blkaddr.get(),
        "root_inode": raw.root_ino.get(),
        "quota_inodes": sb.quota_inodes().map(|ino| ino.0),
        "checkpoint_payload_blocks": raw.cp_payload.get(),
        "encoding": raw.s_encoding.get(),
        "encoding_flags": raw.s_encoding_flags.get(),
        "kernel": c_text(&raw.version),
        "made_by": c_text(&raw.init_version),
        "devices": devices,
    })
}

fn c_text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).trim().to_owned()
}

/// The checkpoint that counts, its log heads, and its orphans.
pub(crate) fn checkpoint(volume: &Volume) -> Result<Value> {
    let cp = volume.checkpoint();
    let raw = cp.raw();
    let names = ["hot_data", "warm_data", "cold_data", "hot_node", "warm_node", "cold_node"];
    let logs: Vec<Value> = names
        .iter()
        .zip(volume.log_heads())
        .enumerate()
        .map(|(log, (name, head))| {
            json!({ "log": name, "segment": head.segno.0, "next_block": head.offset, "reuses_holes": cp.reuses_holes(log) })
        })
        .collect();
    let orphans: Vec<u32> =
        volume.orphan_blocks()?.iter().flat_map(|block| block.inodes.iter().map(|ino| ino.0)).collect();
    Ok(json!({
        "pack": cp.pack(),
        "version": cp.version(),
        "flags": cp.flags().names().collect::<Vec<_>>(),
        "user_blocks": raw.user_block_count.get(),
        "valid_blocks": raw.valid_block_count.get(),
        "reserved_segments": raw.rsvd_segment_count.get(),
        "overprovision_segments": raw.overprov_segment_count.get(),
        "free_segments": raw.free_segment_count.get(),
        "valid_nodes": raw.valid_node_count.get(),
        "valid_inodes": raw.valid_inode_count.get(),
        "next_free_node": raw.next_free_nid.get(),
        "pack_blocks": raw.cp_pack_total_block_count.get(),
        "summary_block": raw.cp_pack_start_sum.get(),
        "elapsed_s": raw.elapsed_time.get(),
        "nat_journal_entries": volume.nat_journal().len(),
        "sit_journal_entries": volume.sit_journal().len(),
        "logs": logs,
        "orphans": orphans,
    }))
}

/// Entries of the NAT.
pub(crate) fn nat(volume: &Volume, first: u32, count: u32) -> Result<Value> {
    let mut entries = Vec::new();
    for nid in first..first.saturating_add(count) {
        let entry = volume.nat_entry(Nid(nid))?;
        let journal = volume.nat_journal().contains_key(&Nid(nid));
        entries.push(json!({
            "node": nid,
            "inode": entry.ino.0,
            "block": entry.addr.0,
            "version": entry.version,
            "from_journal": journal,
        }));
    }
    Ok(json!({ "entries": entries }))
}

/// Entries of the SIT.
pub(crate) fn sit(volume: &Volume, first: u32, count: u32) -> Result<Value> {
    let mut entries = Vec::new();
    for segno in first..first.saturating_add(count) {
        let entry = volume.sit_entry(SegNo(segno))?;
        entries.push(segment(SegNo(segno), &entry, volume.sit_journal().contains_key(&SegNo(segno))));
    }
    Ok(json!({ "entries": entries }))
}

fn segment(segno: SegNo, entry: &SitEntry, from_journal: bool) -> Value {
    json!({
        "segment": segno.0,
        "kind": entry.kind,
        "valid_blocks": entry.valid_blocks,
        "modified_s": entry.mtime,
        "from_journal": from_journal,
        "valid_map_hex": document::hex(&entry.valid_map),
    })
}

/// The summary of a segment.
pub(crate) fn ssa(volume: &Volume, segment: u32) -> Result<Value> {
    let summary = volume.ssa(SegNo(segment))?;
    let kind = match summary.kind() {
        SummaryKind::Data => "data".to_owned(),
        SummaryKind::Node => "nodes".to_owned(),
        SummaryKind::Other(byte) => format!("unknown ({byte})"),
    };
    let mut entries = Vec::new();
    let start = volume.segment_start(SegNo(segment));
    for offset in 0..volume.super_block().blocks_per_segment() {
        let addr = start.plus(offset).unwrap_or(BlockAddr::NULL);
        let newest = volume.summary(addr)?.unwrap_or(Summary::default());
        entries.push(json!({
            "block": addr.0,
            "node": newest.nid.0,
            "version": newest.version,
            "slot": newest.offset,
            "valid": volume.is_valid(addr)?,
        }));
    }
    Ok(json!({ "segment": segment, "kind": kind, "entries": entries }))
}

pub(crate) fn node(nodes: &Nodes, nid: u32) -> Result<Value> {
    let node = nodes.node(Nid(nid))?;
    let size = nodes.volume().block_size();
    let mut map = Map::new();
    map.insert("block".into(), node.addr.0.into());
    map.insert("footer".into(), footer(&node.footer));
    if node.footer.is_inode() {
        let (inode, node) = nodes.inode(Nid(nid))?;
        map.insert("inode".into(), inode_value(&inode, &node.block, nodes)?);
        return Ok(Value::Object(map));
    }
    let words = || node.block.chunks_exact(4).take(size.node_words() as usize);
    let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    if node.footer.offset == NodeOffset::XATTR {
        let bytes = node.block.get(..size.node_bytes()).unwrap_or_default();
        map.insert("attributes_hex".into(), document::hex(bytes).into());
    } else {
        let key = if node.footer.offset.is_direct(size) { "addresses" } else { "nodes" };
        map.insert(key.into(), words().map(word).collect::<Vec<u32>>().into());
    }
    Ok(Value::Object(map))
}

fn footer(footer: &NodeFooter) -> Value {
    json!({
        "node": footer.nid.0,
        "inode": footer.ino.0,
        "offset": footer.offset.0,
        "cold": footer.is_cold,
        "fsync": footer.is_fsync,
        "dentry": footer.is_dentry,
        "checkpoint_version": footer.cp_version,
        "next_block": footer.next.0,
    })
}

/// The fields of `stat` that only F2FS has: flags, project, and the form of the content.
pub(crate) fn attributes(fs: &F2fs, ino: Ino) -> Result<Map<String, Value>> {
    let (inode, _) = fs.inode(ino)?;
    let mut map = Map::new();
    map.insert("flags".into(), format!("{:#x}", inode.shown_flags()).into());
    map.insert("project".into(), inode.extra.map_or(0, |extra| extra.project).into());
    let mut kept: Vec<&str> = Vec::new();
    kept.extend((inode.has_inline_data() || inode.has_inline_dentry()).then_some("inline"));
    kept.extend(inode.compression().is_some().then_some("compressed"));
    kept.extend(inode.is_encrypted().then_some("encrypted"));
    kept.extend(inode.is_verity().then_some("verity"));
    map.insert("kept".into(), kept.into());
    Ok(map)
}

fn inode_value(inode: &Inode, block: &[u8], nodes: &Nodes) -> Result<Value> {
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| map.insert(key.into(), value);
    put("kind", text::kind(inode.kind).into());
    put("mode_octal", format!("{:06o}", inode.mode).into());
    put("advise", inode.advise.0.into());
    put("inline", inode.inline.0.into());
    put("uid", inode.uid.into());
    put("gid", inode.gid.into());
    put("links", inode.links.into());
    put("size_bytes", inode.size.into());
    put("blocks", inode.blocks.into());
    put("accessed_utc", text::time(inode.atime).into());
    put("changed_utc", text::time(inode.ctime).into());
    put("modified_utc", text::time(inode.mtime).into());
    put("generation", inode.generation.into());
    put("depth", inode.depth.into());
    put("dir_level", inode.dir_level.into());
    put("xattr_node", inode.xattr_nid.0.into());
    put("flags", format!("{:#x}", inode.flags.0).into());
    put("parent", inode.parent.0.into());
    put(
        "extent",
        json!({ "first": inode.extent.first, "block": inode.extent.addr.0, "blocks": inode.extent.blocks }),
    );
    if let Some(extra) = &inode.extra {
        put(
            "extra",
            json!({
                "bytes": extra.bytes,
                "inline_xattr_words": extra.xattr_words,
                "project": extra.project,
                "checksum": extra.checksum,
                "born_utc": text::time(extra.crtime),
                "saved_blocks": extra.saved_blocks,
                "compress_algorithm": extra.algorithm,
                "cluster_blocks": 1_u64.checked_shl(extra.log_cluster.into()),
                "compress_flag": extra.compress_flag,
            }),
        );
    }
    put("nodes", inode.nids(block).map(|nid| nid.0).to_vec().into());
    if !inode.has_inline_data() && !inode.has_inline_dentry() {
        let start = inode.addrs_at();
        let words = block.get(start..start + inode.own_addrs() as usize * 4).unwrap_or_default();
        let addresses = words.chunks_exact(4).filter_map(|bytes| bytes.first_chunk().copied());
        put("addresses", addresses.map(u32::from_le_bytes).collect::<Vec<_>>().into());
    }
    document::put_bytes(&mut map, "name", inode.last_name());
    let (inode, node) = nodes.inode(inode.ino)?;
    let list = nodes.xattrs(&inode, &node)?;
    let attributes: Vec<Value> = list
        .entries()
        .map_while(core::result::Result::ok)
        .map(|entry| {
            let mut map = Map::new();
            map.insert("space".into(), entry.space.index().into());
            document::put_bytes(&mut map, "name", entry.name);
            map.insert("value_hex".into(), document::hex(entry.value).into());
            Value::Object(map)
        })
        .collect();
    map.insert("attributes".into(), attributes.into());
    Ok(Value::Object(map))
}

/// The entries of a directory as they stand in it.
pub(crate) fn dentries(fs: &F2fs, dir: Ino) -> Result<Value> {
    let (inode, node) = fs.inode(dir)?;
    if inode.kind != FileKind::Dir {
        return Err(Error::Errno(Errno::NotDir));
    }
    let mut entries = Vec::new();
    fs.nodes().each_dentry(&inode, &node, &mut |index, dentry| {
        let mut map = Map::new();
        map.insert("block".into(), index.into());
        map.insert("slot".into(), dentry.slot.into());
        map.insert("hash".into(), format!("{:#010x}", dentry.hash).into());
        map.insert("inode".into(), dentry.ino.0.into());
        map.insert("file_type".into(), dentry.file_type.into());
        document::put_bytes(&mut map, "name", dentry.name);
        entries.push(Value::Object(map));
        ControlFlow::Continue(())
    })?;
    Ok(json!({ "inline": inode.has_inline_dentry(), "levels": inode.depth, "entries": entries }))
}
