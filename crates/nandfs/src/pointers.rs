//! Block pointers as nodes store them: whole blocks in as many bits as the largest needs, runs as runs (SPEC,
//! "Pointers"). The shorter a node, the more of them share a page, and the less a checkpoint costs.

use alloc::vec::Vec;

use crate::addr::Addr;
use crate::codec::{Put, Reader, len16};
use crate::params::Params;

/// The most chunks in a node that are not whole blocks; a writer pads further ones. Twice as many come about where the
/// pointers of an inode and of its last child meet in one node.
pub(crate) const MAX_ODD: usize = 32;

const FORM_SLOTS: u8 = 0;
const FORM_RUNS: u8 = 1;
const FORM_ADDRS: u8 = 2;
/// The most bits of page, offset and length of an address.
const ADDR_BITS: [u32; 3] = [32, 16, 16];
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

fn width_of(number: u32) -> u32 {
    u32::BITS - number.leading_zeros()
}

/// Appends numbers, each of so many bits, low bits first.
fn pack(numbers: impl IntoIterator<Item = (u32, u32)>, out: &mut Vec<u8>) {
    let (mut bits, mut held) = (0u64, 0);
    for (number, width) in numbers {
        bits |= u64::from(number) << held;
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

/// Reads numbers back.
struct Unpack<'a> {
    bytes: core::slice::Iter<'a, u8>,
    bits: u64,
    held: u32,
}

impl<'a> Unpack<'a> {
    /// The next bytes of a reader: so many numbers of `width` bits.
    fn of(reader: &mut Reader<'a>, count: usize, width: u32) -> Option<Unpack<'a>> {
        let bytes = reader.bytes(packed_bytes(count, width))?.iter();
        Some(Unpack { bytes, bits: 0, held: 0 })
    }

    fn next(&mut self, width: u32) -> Option<u32> {
        while self.held < width {
            self.bits |= u64::from(*self.bytes.next()?) << self.held;
            self.held += 8;
        }
        let number = self.bits & ((1u64 << width) - 1);
        self.bits >>= width;
        self.held -= width;
        u32::try_from(number).ok()
    }
}

/// Appends the number of bits of each number, 32 at the most.
fn put_width(width: u32, out: &mut Vec<u8>) {
    let [bits, ..] = width.to_le_bytes();
    debug_assert!(u32::from(bits) == width && width <= 32, "a number of {width} bits");
    out.put_u8(bits);
}

/// The three numbers of an address: pages count from `base`, and 0 is none.
fn numbers(addr: Addr, base: u32) -> [u32; 3] {
    let page = if addr.is_stored() { addr.page - base + 1 } else { 0 };
    [page, addr.offset.into(), addr.len.into()]
}

/// Appends addresses, with as many bits for each of their numbers as the largest has.
fn encode_addrs(pointers: &[Addr], out: &mut Vec<u8>) {
    let stored = pointers.iter().filter(|addr| addr.is_stored());
    let base = stored.map(|addr| addr.page).min().unwrap_or(0);
    let all = || pointers.iter().map(|addr| numbers(*addr, base));
    let mut widths = [0; 3];
    for addr in all() {
        for (width, number) in widths.iter_mut().zip(addr) {
            *width = width_of(number).max(*width);
        }
    }
    out.put_u32(base);
    for width in widths {
        put_width(width, out);
    }
    pack(all().flat_map(|addr| addr.into_iter().zip(widths)), out);
}

fn decode_addrs(reader: &mut Reader<'_>, count: usize, params: &Params) -> Option<Vec<Addr>> {
    let base = reader.u32()?;
    let mut widths = [0; 3];
    for (width, most) in widths.iter_mut().zip(ADDR_BITS) {
        *width = Some(u32::from(reader.u8()?)).filter(|width| *width <= most)?;
    }
    let mut numbers = Unpack::of(reader, count, widths.iter().sum())?;
    let mut addrs = Vec::with_capacity(count);
    for _ in 0..count {
        let [page, offset, len] = widths;
        let page = match numbers.next(page)? {
            0 => 0,
            number => base.checked_add(number - 1)?,
        };
        let offset = numbers.next(offset)?;
        let len = numbers.next(len).filter(|len| *len <= params.block)?;
        addrs.push(Addr { page, offset: u16::try_from(offset).ok()?, len: u16::try_from(len).ok()? });
    }
    Some(addrs)
}

/// The most bytes of so many pointers on a volume with compression, wherever they lead.
pub(crate) fn most_addr_bytes(count: usize) -> usize {
    ADDRS_FIXED + 8 * count
}

/// Bytes of a list of addresses besides them.
const ADDRS_FIXED: usize = 1 + 2 + 4 + 3;

/// Appends the pointers, without the holes at the end.
pub(crate) fn encode(pointers: &[Addr], params: &Params, out: &mut Vec<u8>) {
    let used = pointers.iter().rposition(|addr| *addr != Addr::NONE).map_or(0, |last| last + 1);
    let pointers = pointers.get(..used).unwrap_or_default();
    if params.packs {
        out.put_u8(FORM_ADDRS);
        out.put_u16(len16(used));
        return encode_addrs(pointers, out);
    }
    let slots: Vec<u32> = pointers.iter().map(|addr| to_slot(*addr, params).unwrap_or(SLOT_NONE)).collect();
    let runs = runs_of(&slots);
    let width = slots.iter().map(|slot| width_of(*slot)).max().unwrap_or(0);
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
        put_width(width, out);
        pack(slots.iter().map(|slot| (*slot, width)), out);
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
    if params.packs != (form == FORM_ADDRS) {
        return None;
    }
    let used = usize::from(reader.u16()?);
    if used > limit {
        return None;
    }
    let mut pointers = Vec::with_capacity(used);
    match form {
        FORM_SLOTS => {
            let width = Some(u32::from(reader.u8()?)).filter(|width| *width <= 32)?;
            let mut slots = Unpack::of(reader, used, width)?;
            for _ in 0..used {
                pointers.push(from_slot(slots.next(width)?, params));
            }
        }
        FORM_ADDRS => return decode_addrs(reader, used, params),
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
    fn addresses_come_back_wherever_they_lead() {
        let params = params().packing().unwrap();
        let round_trip = |pointers: &[Addr]| {
            let mut bytes = Vec::new();
            encode(pointers, &params, &mut bytes);
            let mut back = decode(&mut Reader(&bytes), &params, 1000).unwrap();
            back.resize(pointers.len(), Addr::NONE);
            assert_eq!(back, pointers);
            assert!(bytes.len() <= most_addr_bytes(pointers.len()));
            bytes.len()
        };
        let near: Vec<Addr> = (0..200).map(|n| Addr { page: 9000 + n, offset: 7, len: 1500 }).collect();
        // 8, 3 and 11 bits each.
        assert_eq!(round_trip(&near), ADDRS_FIXED + (200 * 22_usize).div_ceil(8));
        round_trip(&[
            Addr { page: u32::MAX, offset: 0xffff, len: 4096 },
            Addr { page: 1, offset: 0, len: 1 },
        ]);
        round_trip(&[Addr::RESERVED, Addr::NONE, Addr { page: 70, offset: 16383, len: 4096 }, Addr::NONE]);
        assert!(round_trip(&vec![Addr::RESERVED; 250]) < 50);
        round_trip(&vec![Addr::NONE; 50]);
        let mut bytes = Vec::new();
        encode(&near, &params, &mut bytes);
        for cut in 0..bytes.len() {
            assert_eq!(decode(&mut Reader(&bytes[..cut]), &params, 1000), None);
        }
        let mut long = Vec::new();
        encode(&[Addr { page: 70, offset: 0, len: 4097 }], &params, &mut long);
        assert_eq!(decode(&mut Reader(&long), &params, 10), None, "longer than a block");
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
