//! Bytes into every parser of the format.

use pumice_flashlog::proves;
use pumice_media::Geometry;

use crate::blocks::Usage;
use crate::bucket;
use crate::checkpoint_record::Checkpoint;
use crate::codec::Reader;
use crate::error::Damage;
use crate::names::NameRecord;
use crate::node::Node;
use crate::pack::{self, Compression};
use crate::params::Params;
use crate::pointers;
use crate::tag::Tag;
use crate::xattr_list;

/// Page and free spare bytes of chips with different layouts.
const SHAPES: [(u32, u32); 4] = [(512, 8), (2048, 38), (2048, 4), (16384, 128)];

/// Hands the bytes to every parser; accepted things must come back when they are written and read again.
pub fn parsers(bytes: &[u8]) {
    let Some((shape, bytes)) = bytes.split_first() else { return };
    let (page_bytes, free_spare_bytes) = SHAPES.get(usize::from(*shape % 4)).copied().unwrap_or_default();
    let geometry =
        Geometry { page_bytes, spare_bytes: 4096, free_spare_bytes, pages_per_block: 64, blocks: 100 };
    let Some(params) = Params::of(&geometry) else { return };
    let params = if shape & 4 == 0 { Ok(params) } else { params.packing() };
    let Ok(params) = params else { return };
    if let Ok(block) = pack::unpack(bytes, params.block as usize, Damage::Node(0)) {
        assert!(block.len() <= params.block as usize);
    }
    nodes(bytes, &params);
    records(bytes, &params);
    tags(bytes, &params);
    let _ = pointers::decode(&mut Reader(bytes), &params, params.fanout() as usize);
    let _ = bucket::used(bytes);
    let _ = bucket::find(bytes, b"name");
    let _ = xattr_list::decode(bytes);
    if let Some(record) = NameRecord::decode(bytes) {
        assert_eq!(NameRecord::decode(&record.encode()), Some(record));
    }
    if let Some(raw) = bytes.first_chunk() {
        let usage = Usage::decode(*raw);
        assert_eq!(Usage::decode(usage.encode()), usage);
    }
}

/// A whole page with its tag, and a tag alone.
fn tags(bytes: &[u8], params: &Params) {
    let (head, payload) = bytes.split_at(bytes.len().min(params.shape.head_bytes()));
    let _ = proves(&params.shape, 1, payload, head);
    let Some((seq, body)) = bytes.split_first_chunk() else { return };
    let raw = pumice_flashlog::Tag {
        kind: seq[0] & 15,
        flags: seq[0] >> 4,
        seq: u64::from_le_bytes(*seq),
        body: body.iter().copied().take((params.shape.head_bytes()).saturating_sub(12)).collect(),
    };
    if let Some(tag) = Tag::decode(&raw, Some(payload), &params.tags) {
        let (raw, overflow) = tag.encode(&params.tags);
        assert_eq!(Tag::decode(&raw, Some(&overflow), &params.tags), Some(tag));
    }
}

fn nodes(bytes: &[u8], params: &Params) {
    let Some(node) = Node::decode(bytes, params) else { return };
    let again = node.encode(params, Compression::None);
    assert!(again.len() <= params.node as usize, "a node of {} bytes", again.len());
    if let Some(back) = Node::decode(&again, params) {
        assert_eq!(back.encode(params, Compression::None), again);
    } else {
        assert_eq!(Some(node), None, "a node does not come back");
    }
}

fn records(bytes: &[u8], params: &Params) {
    if let Some(checkpoint) = Checkpoint::decode(bytes, params) {
        assert_eq!(Checkpoint::decode(&checkpoint.encode(params), params), Some(checkpoint));
    }
}
