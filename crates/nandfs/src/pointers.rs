//! Block pointers as nodes store them: whole blocks in as many bits as the largest needs, runs as runs (SPEC,
//! "Pointers"). The shorter a node, the more of them share a page, and the less a checkpoint costs.

use alloc::vec::Vec;

use crate::addr::Addr;
use crate::codec::{Put, Reader, len16, trimmed};
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

/// Numbers whole blocks: log pages times blocks in a page.
struct Slots {
    each: u32,
    block: u32,
    /// 2^32 over the bytes of a block, rounded up: to multiply by it is a division of sixteen bits.
    inverse: u64,
}

impl Slots {
    fn of(params: &Params) -> Slots {
        debug_assert!((1..=1 << 16).contains(&params.block), "blocks of {} bytes", params.block);
        let inverse = (1 << 32) / u64::from(params.block.max(1)) + 1;
        Slots { each: params.slots, block: params.block, inverse }
    }

    /// The number of a pointer, `None` if it leads to no whole block.
    fn number(&self, addr: Addr) -> Option<u32> {
        if addr == Addr::NONE {
            return Some(SLOT_NONE);
        }
        if addr == Addr::RESERVED {
            return Some(SLOT_RESERVED);
        }
        let offset = u32::from(addr.offset);
        let at = u32::try_from((u64::from(offset) * self.inverse) >> 32).ok()?;
        let slot = addr.page.checked_mul(self.each)?.checked_add(at)?;
        (u32::from(addr.len) == self.block && at * self.block == offset && slot > SLOT_RESERVED)
            .then_some(slot)
    }
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

/// The number of pointers that take the long form.
pub(crate) fn odd(pointers: &[Addr], params: &Params) -> usize {
    let slots = Slots::of(params);
    pointers.iter().filter(|addr| slots.number(**addr).is_none()).count()
}

fn steps(slot: u32) -> u32 {
    u32::from(slot != SLOT_NONE && slot != SLOT_RESERVED)
}

/// The form in which pointers of whole blocks take the fewest bytes, and its measures.
struct Form {
    used: usize,
    width: u32,
    runs: usize,
    odd: usize,
}

impl Form {
    /// That of pointers without the holes at the end.
    fn of(pointers: &[Addr], slots: &Slots) -> Form {
        let mut form = Form { used: pointers.len(), width: 0, runs: 0, odd: 0 };
        let (mut next, mut all) = (None, 0);
        for addr in pointers {
            let slot = slots.number(*addr);
            form.odd += usize::from(slot.is_none());
            let slot = slot.unwrap_or(SLOT_NONE);
            form.runs += usize::from(next != Some(slot));
            next = Some(slot.wrapping_add(steps(slot)));
            all |= slot;
        }
        form.width = width_of(all);
        form
    }

    fn is_runs(&self) -> bool {
        self.runs * RUN + 2 < packed_bytes(self.used, self.width) + 1
    }

    fn bytes(&self) -> usize {
        let slots = match self.is_runs() {
            true => 2 + self.runs * RUN,
            false => 1 + packed_bytes(self.used, self.width),
        };
        3 + slots + 1 + self.odd * ODD
    }
}

/// Bytes of a run, and of a pointer in the long form.
const RUN: usize = 6;
const ODD: usize = 10;

/// The bytes of the pointers on a volume without compression.
pub(crate) fn bytes(pointers: &[Addr], params: &Params) -> usize {
    debug_assert!(!params.packs);
    Form::of(trimmed(pointers, &Addr::NONE), &Slots::of(params)).bytes()
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
    let pointers = trimmed(pointers, &Addr::NONE);
    let count = len16(pointers.len());
    if params.packs {
        out.put_u8(FORM_ADDRS);
        out.put_u16(count);
        return encode_addrs(pointers, out);
    }
    let numbers = Slots::of(params);
    let form = Form::of(pointers, &numbers);
    let mut slots = pointers.iter().map(|addr| numbers.number(*addr).unwrap_or(SLOT_NONE)).peekable();
    if form.is_runs() {
        out.put_u8(FORM_RUNS);
        out.put_u16(count);
        out.put_u16(len16(form.runs));
        while let Some(first) = slots.next() {
            let (mut last, mut length) = (first, 1);
            while let Some(slot) = slots.next_if_eq(&last.wrapping_add(steps(last))) {
                (last, length) = (slot, length + 1);
            }
            out.put_u32(first);
            out.put_u16(length);
        }
    } else {
        out.put_u8(FORM_SLOTS);
        out.put_u16(count);
        put_width(form.width, out);
        pack(slots.map(|slot| (slot, form.width)), out);
    }
    out.put_u8(u8::try_from(form.odd).unwrap_or(u8::MAX));
    if form.odd > 0 {
        for (place, addr) in pointers.iter().enumerate().filter(|(_, addr)| numbers.number(**addr).is_none())
        {
            out.put_u16(len16(place));
            out.put_u64(addr.to_u64());
        }
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
        assert_eq!(super::bytes(pointers, &params()), bytes.len());
        let mut back = decode(&mut Reader(&bytes), &params(), 1000).unwrap();
        back.resize(pointers.len(), Addr::NONE);
        assert_eq!(back, pointers);
        bytes.len()
    }

    #[test]
    fn whole_blocks_have_numbers_at_any_offset() {
        for block in [512, 1965, 4096, 16383, u16::MAX] {
            let params = Params { block: block.into(), slots: u32::from(u16::MAX / block), ..params() };
            for offset in 0..=u16::MAX {
                let addr = Addr { page: 7, offset, len: block };
                let whole =
                    offset.is_multiple_of(block).then(|| 7 * params.slots + u32::from(offset / block));
                assert_eq!(Slots::of(&params).number(addr), whole, "{block} at {offset}");
            }
            assert_eq!(odd(&[Addr { page: 7, offset: 0, len: block - 1 }], &params), 1);
        }
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
