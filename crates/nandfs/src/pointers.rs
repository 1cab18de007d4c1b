//! Block pointers as nodes store them: whole blocks in as many bits as the largest needs, runs as runs (SPEC,
//! "Pointers"). The shorter a node, the more of them share a page, and the less a checkpoint costs.

use alloc::vec::Vec;

use crate::addr::Addr;
use crate::codec::{Put, Reader, len16};
use crate::params::Params;

/// Chunks that are not whole blocks, at most this many in a node; a writer pads further ones. Twice as many come
/// about where the pointers of an inode and of its last child meet in one node.
pub(crate) const MAX_ODD: usize = 32;

const FORM_SLOTS: u8 = 0;
const FORM_RUNS: u8 = 1;
const SLOT_NONE: u32 = 0;
/// Log page 0 holds no chunk, so no block has slot 1 either.
const SLOT_RESERVED: u32 = 1;

/// A whole block as one number: log pages times blocks in a page.
fn to_slot(addr: Addr, params: &Params) -> Option<u32> {
    if addr == Addr::NONE {
        return Some(SLOT_NONE);
    }
    if addr == Addr::RESERVED {
        return Some(SLOT_RESERVED);
    }
    let (offset, block) = (u32::from(addr.offset), params.block);
    let whole = u32::from(addr.len) == block && offset.is_multiple_of(block);
    let slot = addr.page.checked_mul(params.slots)?.checked_add(offset / block)?;
    (whole && slot > SLOT_RESERVED).then_some(slot)
}

fn from_slot(slot: u32, params: &Params) -> Addr {
    match slot {
        SLOT_NONE => Addr::NONE,
        SLOT_RESERVED => Addr::RESERVED,
        _ => Addr {
            page: slot / params.slots,
            offset: len16((slot % params.slots * params.block) as usize),
            len: len16(params.block as usize),
        },
    }
}

/// True if a pointer takes the long form.
pub(crate) fn is_odd(addr: Addr, params: &Params) -> bool {
    to_slot(addr, params).is_none()
}

fn steps(slot: u32) -> u32 {
    u32::from(slot != SLOT_NONE && slot != SLOT_RESERVED)
}

fn runs_of(slots: &[u32]) -> Vec<(u32, u16)> {
    let mut runs: Vec<(u32, u16)> = Vec::new();
    for slot in slots {
        match runs.last_mut() {
            Some((start, count)) if start.wrapping_add(steps(*start) * u32::from(*count)) == *slot => {
                *count += 1;
            }
            _ => runs.push((*slot, 1)),
        }
    }
    runs
}

fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends numbers of `width` bits each, low bits first, with their width before them.
fn pack(slots: &[u32], width: u32, out: &mut Vec<u8>) {
    out.put_u8(u8::try_from(width).unwrap_or(32));
    let (mut bits, mut held) = (0u64, 0);
    for slot in slots {
        bits |= u64::from(*slot) << held;
        held += width;
        while held >= 8 {
            out.put_u8(bits.to_le_bytes()[0]);
            bits >>= 8;
            held -= 8;
        }
    }
    if held > 0 {
        out.put_u8(bits.to_le_bytes()[0]);
    }
}

fn unpack(reader: &mut Reader<'_>, count: usize) -> Option<Vec<u32>> {
    let width = u32::from(reader.u8()?);
    if width > 32 {
        return None;
    }
    let mut bytes = reader.bytes(packed_bytes(count, width))?.iter();
    let mask = (1u64 << width) - 1;
    let (mut bits, mut held) = (0u64, 0);
    let mut slots = Vec::with_capacity(count);
    for _ in 0..count {
        while held < width {
            bits |= u64::from(*bytes.next()?) << held;
            held += 8;
        }
        slots.push(u32::try_from(bits & mask).ok()?);
        bits >>= width;
        held -= width;
    }
    Some(slots)
}

/// Appends the pointers, without the holes at the end.
pub(crate) fn encode(pointers: &[Addr], params: &Params, out: &mut Vec<u8>) {
    let used = pointers.iter().rposition(|addr| *addr != Addr::NONE).map_or(0, |last| last + 1);
    let pointers = pointers.get(..used).unwrap_or_default();
    let slots: Vec<u32> = pointers.iter().map(|addr| to_slot(*addr, params).unwrap_or(SLOT_NONE)).collect();
    let runs = runs_of(&slots);
    let width = slots.iter().map(|slot| u32::BITS - slot.leading_zeros()).max().unwrap_or(0);
    if runs.len() * 6 + 2 < packed_bytes(slots.len(), width) + 1 {
        out.put_u8(FORM_RUNS);
        out.put_u16(len16(used));
        out.put_u16(len16(runs.len()));
        for (slot, count) in runs {
            out.put_u32(slot);
            out.put_u16(count);
        }
    } else {
        out.put_u8(FORM_SLOTS);
        out.put_u16(len16(used));
        pack(&slots, width, out);
    }
    let odd: Vec<(usize, &Addr)> =
        pointers.iter().enumerate().filter(|(_, addr)| is_odd(**addr, params)).collect();
    out.put_u8(u8::try_from(odd.len()).unwrap_or(u8::MAX));
    for (place, addr) in odd {
        out.put_u16(len16(place));
        out.put_u64(addr.to_u64());
    }
}

/// Reads pointers back; `None` if they make no sense or exceed `limit`.
pub(crate) fn decode(reader: &mut Reader<'_>, params: &Params, limit: usize) -> Option<Vec<Addr>> {
    let form = reader.u8()?;
    let used = usize::from(reader.u16()?);
    if used > limit {
        return None;
    }
    let mut pointers = Vec::with_capacity(used);
    match form {
        FORM_SLOTS => {
            let slots = unpack(reader, used)?;
            pointers.extend(slots.into_iter().map(|slot| from_slot(slot, params)));
        }
        FORM_RUNS => {
            for _ in 0..reader.u16()? {
                let (slot, count) = (reader.u32()?, reader.u16()?);
                if pointers.len() + usize::from(count) > used {
                    return None;
                }
                let run = (0..u32::from(count)).map(|n| slot.wrapping_add(n * steps(slot)));
                pointers.extend(run.map(|slot| from_slot(slot, params)));
            }
        }
        _ => return None,
    }
    let odd = reader.u8()?;
    if usize::from(odd) > 2 * MAX_ODD {
        return None;
    }
    for _ in 0..odd {
        let (place, raw) = (reader.u16()?, reader.u64()?);
        *pointers.get_mut(usize::from(place))? = Addr::from_u64(raw);
    }
    (pointers.len() == used).then_some(pointers)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn params() -> Params {
        Params::of(&pumice_media::Geometry {
            page_bytes: 16384,
            spare_bytes: 512,
            free_spare_bytes: 128,
            pages_per_block: 64,
            blocks: 1000,
        })
        .unwrap()
    }

    fn round_trip(pointers: &[Addr]) -> usize {
        let mut bytes = Vec::new();
        encode(pointers, &params(), &mut bytes);
        let mut back = decode(&mut Reader(&bytes), &params(), 1000).unwrap();
        back.resize(pointers.len(), Addr::NONE);
        assert_eq!(back, pointers);
        bytes.len()
    }

    #[test]
    fn pointers_come_back_and_runs_are_short() {
        let whole = |slot| from_slot(slot, &params());
        let run: Vec<Addr> = (100..400).map(whole).collect();
        assert!(round_trip(&run) < 20);
        let scattered: Vec<Addr> = (1..250).map(|n| whole(n * 77)).collect();
        // 15 bits each.
        assert_eq!(round_trip(&scattered), (249 * 15_usize).div_ceil(8) + 5);
        let odd = Addr { page: 9, offset: 13, len: 300 };
        round_trip(&[Addr::RESERVED, Addr::NONE, whole(5), Addr::RESERVED, Addr::RESERVED, odd, Addr::NONE]);
        round_trip(&vec![Addr::NONE; 50]);
    }

    #[test]
    fn damaged_pointers_are_refused() {
        let mut bytes = Vec::new();
        encode(&[from_slot(7, &params())], &params(), &mut bytes);
        for cut in 0..bytes.len() {
            assert_eq!(decode(&mut Reader(&bytes[..cut]), &params(), 10), None);
        }
        bytes[0] = 9;
        assert_eq!(decode(&mut Reader(&bytes), &params(), 10), None);
    }
}
