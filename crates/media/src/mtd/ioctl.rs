//! The calls of Linux's MTD character devices, as `mtd/mtd-abi.h` declares them, behind safe functions.
#![expect(unsafe_code, reason = "the kernel is called with pointers; each call says why they hold")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

const MAGIC: u32 = b'M' as u32;

/// `mtd_info_user.type` of SLC NAND.
pub(super) const TYPE_NAND: u8 = 4;
/// `mtd_info_user.type` of MLC and TLC NAND.
pub(super) const TYPE_MLC_NAND: u8 = 8;
/// Spare bytes are those that the driver leaves free, without gaps.
const OPS_AUTO_OOB: u8 = 1;

/// `struct mtd_info_user`.
#[repr(C)]
#[derive(Default, Debug)]
pub(super) struct Info {
    pub(super) kind: u8,
    pub(super) flags: u32,
    /// Bytes of the device, cut to 32 bits.
    pub(super) size: u32,
    pub(super) erase_size: u32,
    pub(super) write_size: u32,
    pub(super) oob_size: u32,
    padding: u64,
}

/// `struct erase_info_user64`.
#[repr(C)]
struct EraseInfo {
    start: u64,
    length: u64,
}

/// `struct mtd_oob_buf64`.
#[repr(C)]
struct OobBuffer {
    start: u64,
    padding: u32,
    length: u32,
    pointer: u64,
}

/// `struct mtd_write_req`, and the start of `struct mtd_read_req`.
#[repr(C)]
#[derive(Default)]
struct Request {
    start: u64,
    length: u64,
    oob_length: u64,
    data: u64,
    oob: u64,
    mode: u8,
    padding: [u8; 7],
}

/// `struct mtd_read_req`.
#[repr(C)]
#[derive(Default)]
struct ReadRequest {
    request: Request,
    uncorrectable_errors: u32,
    corrected_bitflips: u32,
    max_bitflips: u32,
}

/// `struct mtd_ecc_stats`: counts since the driver was loaded.
#[repr(C)]
#[derive(Default, Clone, Copy)]
pub(super) struct EccCounts {
    pub(super) corrected: u32,
    pub(super) failed: u32,
    bad_blocks: u32,
    table_blocks: u32,
}

/// `struct nand_oobfree`.
#[repr(C)]
#[derive(Default, Clone, Copy)]
pub(super) struct OobFree {
    pub(super) offset: u32,
    pub(super) length: u32,
}

/// `struct nand_ecclayout_user`: cut to eight runs of free bytes.
#[repr(C)]
pub(super) struct EccLayout {
    ecc_bytes: u32,
    ecc_positions: [u32; 64],
    pub(super) available: u32,
    pub(super) free: [OobFree; 8],
}

const _: () = {
    assert!(size_of::<Info>() == 32);
    assert!(size_of::<EraseInfo>() == 16);
    assert!(size_of::<OobBuffer>() == 24);
    assert!(size_of::<Request>() == 48);
    // Only 32-bit x86 aligns u64 to four bytes, in C as here.
    assert!(size_of::<ReadRequest>() == if align_of::<u64>() == 8 { 64 } else { 60 });
    assert!(size_of::<EccCounts>() == 16);
    assert!(size_of::<EccLayout>() == 328);
};

const MEM_GET_INFO: libc::Ioctl = libc::_IOR::<Info>(MAGIC, 1);
const MEM_GET_BAD_BLOCK: libc::Ioctl = libc::_IOW::<i64>(MAGIC, 11);
const MEM_SET_BAD_BLOCK: libc::Ioctl = libc::_IOW::<i64>(MAGIC, 12);
const ECC_GET_LAYOUT: libc::Ioctl = libc::_IOR::<EccLayout>(MAGIC, 17);
const ECC_GET_STATS: libc::Ioctl = libc::_IOR::<EccCounts>(MAGIC, 18);
const MEM_ERASE_64: libc::Ioctl = libc::_IOW::<EraseInfo>(MAGIC, 20);
const MEM_READ_OOB_64: libc::Ioctl = libc::_IOWR::<OobBuffer>(MAGIC, 22);
const MEM_WRITE: libc::Ioctl = libc::_IOWR::<Request>(MAGIC, 24);
const MEM_READ: libc::Ioctl = libc::_IOWR::<ReadRequest>(MAGIC, 26);

/// Calls the driver; the answer is not negative.
///
/// # Safety
///
/// `number` must be a call that takes a pointer to a `T`. Every address inside `argument` must point to memory that
/// stays valid during the call, for as many bytes as the length beside it says. It must be writable if the call reads
/// from the device.
unsafe fn call<T>(file: &File, number: libc::Ioctl, argument: &mut T) -> io::Result<i32> {
    // SAFETY: the descriptor is open as long as `file` is borrowed; the rest is the caller's promise.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), number, ptr::from_mut(argument)) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

pub(super) fn info(file: &File) -> io::Result<Info> {
    let mut info = Info::default();
    // SAFETY: MEMGETINFO fills a mtd_info_user, which holds no addresses.
    unsafe { call(file, MEM_GET_INFO, &mut info) }.map(|_| info)
}

pub(super) fn ecc_counts(file: &File) -> io::Result<EccCounts> {
    let mut counts = EccCounts::default();
    // SAFETY: ECCGETSTATS fills a mtd_ecc_stats, which holds no addresses.
    unsafe { call(file, ECC_GET_STATS, &mut counts) }.map(|_| counts)
}

pub(super) fn ecc_layout(file: &File) -> io::Result<EccLayout> {
    let mut layout =
        EccLayout { ecc_bytes: 0, ecc_positions: [0; 64], available: 0, free: [OobFree::default(); 8] };
    // SAFETY: ECCGETLAYOUT fills a nand_ecclayout_user, which holds no addresses.
    unsafe { call(file, ECC_GET_LAYOUT, &mut layout) }.map(|_| layout)
}

pub(super) fn is_bad(file: &File, start: u64) -> io::Result<bool> {
    let mut offset = start.cast_signed();
    // SAFETY: MEMGETBADBLOCK reads a loff_t, which is 64 bits wide everywhere.
    unsafe { call(file, MEM_GET_BAD_BLOCK, &mut offset) }.map(|answer| answer > 0)
}

pub(super) fn mark_bad(file: &File, start: u64) -> io::Result<()> {
    let mut offset = start.cast_signed();
    // SAFETY: MEMSETBADBLOCK reads a loff_t, which is 64 bits wide everywhere.
    unsafe { call(file, MEM_SET_BAD_BLOCK, &mut offset) }.map(drop)
}

pub(super) fn erase(file: &File, start: u64, length: u64) -> io::Result<()> {
    let mut block = EraseInfo { start, length };
    // SAFETY: MEMERASE64 reads an erase_info_user64, which holds no addresses.
    unsafe { call(file, MEM_ERASE_64, &mut block) }.map(drop)
}

/// Programs a page with its free spare bytes.
pub(super) fn write(file: &File, start: u64, data: &[u8], spare: &[u8]) -> io::Result<()> {
    let mut request = Request {
        start,
        length: data.len() as u64,
        oob_length: spare.len() as u64,
        data: address(data),
        oob: address(spare),
        mode: OPS_AUTO_OOB,
        ..Request::default()
    };
    // SAFETY: MEMWRITE reads a mtd_write_req; `data` and `spare` are borrowed during the call, their own
    // lengths stand beside their addresses, and an empty buffer is passed as null with length 0.
    unsafe { call(file, MEM_WRITE, &mut request) }.map(drop)
}

/// The outcome of a read, beside the bytes.
#[derive(Default)]
pub(super) struct Found {
    /// Part of the data is beyond correction.
    pub(super) uncorrectable: bool,
    /// Wrong bits that were corrected: the worst codeword's, or all of the page's where the driver counts no
    /// better.
    pub(super) bits: u32,
}

/// Reads a page with its free spare bytes, or one of both where the other is empty. Kernels before 6.1 answer
/// `ENOTTY`.
pub(super) fn read(file: &File, start: u64, data: &mut [u8], spare: &mut [u8]) -> io::Result<Found> {
    let mut request = ReadRequest {
        request: Request {
            start,
            length: data.len() as u64,
            oob_length: spare.len() as u64,
            data: address_mut(data),
            oob: address_mut(spare),
            mode: OPS_AUTO_OOB,
            ..Request::default()
        },
        ..ReadRequest::default()
    };
    // SAFETY: MEMREAD reads and fills a mtd_read_req; `data` and `spare` are borrowed for writing during the
    // call, their own lengths stand beside their addresses, and an empty buffer is passed as null with length
    // 0.
    let answer = unsafe { call(file, MEM_READ, &mut request) };
    let lost = match answer.map_err(|error| (error.raw_os_error(), error)) {
        Ok(_) | Err((Some(libc::EUCLEAN), _)) => false,
        Err((Some(libc::EBADMSG), _)) => true,
        Err((_, error)) => return Err(error),
    };
    let bits = request.max_bitflips.max(u32::from(request.corrected_bitflips > 0));
    Ok(Found { uncorrectable: lost || request.uncorrectable_errors > 0, bits })
}

/// Reads the raw spare area of a page from its start, as old kernels can.
pub(super) fn read_raw_spare(file: &File, start: u64, spare: &mut [u8]) -> io::Result<()> {
    let length = u32::try_from(spare.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut buffer = OobBuffer { start, padding: 0, length, pointer: address_mut(spare) };
    // SAFETY: MEMREADOOB64 reads a mtd_oob_buf64; `spare` is borrowed for writing during the call and its own
    // length stands beside its address.
    unsafe { call(file, MEM_READ_OOB_64, &mut buffer) }.map(drop)
}

fn address(bytes: &[u8]) -> u64 {
    if bytes.is_empty() { 0 } else { bytes.as_ptr().expose_provenance() as u64 }
}

fn address_mut(bytes: &mut [u8]) -> u64 {
    if bytes.is_empty() { 0 } else { bytes.as_mut_ptr().expose_provenance() as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that a C compiler makes of mtd/mtd-abi.h on machines with the generic encoding.
    #[test]
    #[cfg(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "arm",
        target_arch = "riscv64"
    ))]
    fn the_calls_have_the_kernels_numbers() {
        let ours = [
            MEM_GET_INFO,
            MEM_GET_BAD_BLOCK,
            MEM_SET_BAD_BLOCK,
            ECC_GET_LAYOUT,
            ECC_GET_STATS,
            MEM_ERASE_64,
            MEM_READ_OOB_64,
            MEM_WRITE,
            MEM_READ,
        ];
        let kernels = [
            0x8020_4d01,
            0x4008_4d0b,
            0x4008_4d0c,
            0x8148_4d11,
            0x8010_4d12,
            0x4010_4d14,
            0xc018_4d16,
            0xc030_4d18,
            0xc040_4d1a,
        ];
        assert_eq!(ours, kernels);
    }
}
