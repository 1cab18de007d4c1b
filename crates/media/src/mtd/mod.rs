//! Real chips: Linux's `/dev/mtdN`.
//!
//! The driver corrects errors and lays out the spare area. Pages are programmed with `MEMWRITE` (Linux 3.2)
//! and read with `MEMREAD` (Linux 6.1); older kernels read page and spare area in two calls, of which the
//! second has no ECC.

mod ioctl;

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;
use std::{format, str};

use crate::error::device_error;
use crate::lock::{Locked, open_locked};
use crate::{
    BlockId, Geometry, MediaError, Nand, NandError, NandStats, PageId, Pairing, ReadOutcome, Timing,
};
use ioctl::Found;

/// A NAND chip, or a partition of one, behind Linux's MTD driver.
///
/// Lengths and range of each call are checked; the order of programs is not, because a driver does not tell
/// which pages are programmed: there it is the caller's word. Times are unknown and 0.
#[derive(Debug)]
pub struct MtdChip {
    file: Locked,
    geometry: Geometry,
    pairing: Pairing,
    /// The places of the free spare bytes, for kernels without `MEMREAD`.
    free: Vec<(u32, u32)>,
    /// Wrong bits of a codeword from which on the driver asks for a refresh.
    refresh_bits: u32,
    /// Data bytes of a codeword; those of a page where the driver does not tell.
    step_bytes: usize,
    /// False from the first `MEMREAD` that the kernel does not know.
    has_read_call: bool,
    stats: NandStats,
}

impl MtdChip {
    /// Opens `/dev/mtdN`. A writer needs the device for itself, readers share it.
    pub fn open(path: impl AsRef<Path>, read_only: bool) -> Result<MtdChip, MediaError> {
        let path = path.as_ref();
        let file = open_locked(path, read_only)?;
        let unsuitable = |why: String| MediaError::Unsuitable { path: path.to_path_buf(), why };
        let info =
            ioctl::info(&file).map_err(|error| unsuitable(format!("it is no MTD device ({error})")))?;
        let attributes = Attributes::of(&file);
        if !read_only && let Some(user) = attributes.user() {
            return Err(unsuitable(format!("{user} uses it")));
        }
        let layout = ioctl::ecc_layout(&file).ok();
        let free = attributes.number("oobavail").or(layout.as_ref().map(|l| u64::from(l.available)));
        let free =
            free.ok_or_else(|| unsuitable("its driver does not tell the free spare bytes".to_string()))?;
        let size = attributes.number("size").unwrap_or(u64::from(info.size));
        let geometry = geometry(&info, size, free).map_err(unsuitable)?;
        let pairing = pairing(&info, geometry.pages_per_block);
        let refresh_bits = attributes
            .number("bitflip_threshold")
            .and_then(|bits| u32::try_from(bits).ok())
            .unwrap_or(1)
            .max(1);
        let step_bytes = attributes
            .number("ecc_step_size")
            .and_then(|bytes| usize::try_from(bytes).ok())
            .filter(|bytes| *bytes > 0)
            .unwrap_or(geometry.page_bytes as usize);
        let runs = layout.map_or(Vec::new(), |l| l.free.iter().map(|run| (run.offset, run.length)).collect());
        let stats = NandStats::default();
        Ok(MtdChip {
            file,
            geometry,
            pairing,
            free: runs,
            refresh_bits,
            step_bytes,
            has_read_call: true,
            stats,
        })
    }

    /// Reads with the calls that kernels before 6.1 have, whatever this one has: to try that way on any.
    pub fn read_as_before_linux_6_1(&mut self) {
        self.has_read_call = false;
    }

    /// Reads the whole spare area of a page, as the chip holds it: bad-block mark, codes and free bytes.
    pub fn read_raw_spare(&mut self, page: PageId, spare: &mut [u8]) -> Result<(), NandError> {
        let at = self.admit(page, None, self.geometry.free_spare_bytes as usize)?;
        if spare.len() != self.geometry.spare_bytes as usize {
            return self.violation("the buffer has not the length of the spare area", page);
        }
        self.stats.spare_reads += 1;
        ioctl::read_raw_spare(&self.file, at, spare).map_err(|error| device_error(&error))
    }

    fn violation<T>(&mut self, rule: &'static str, page: PageId) -> Result<T, NandError> {
        self.stats.violations += 1;
        Err(NandError::Violation(rule, page))
    }

    /// Checks a call on a page and finds its place on the device.
    fn admit(&mut self, page: PageId, data: Option<usize>, spare: usize) -> Result<u64, NandError> {
        let geometry = self.geometry;
        if data.is_some_and(|bytes| bytes != geometry.page_bytes as usize) {
            return self.violation("the data buffer has not the length of a page", page);
        }
        if spare != geometry.free_spare_bytes as usize {
            return self.violation("the spare buffer has not the length of the free spare bytes", page);
        }
        if geometry.block_of(page).0 >= geometry.blocks {
            return self.violation("the page is outside the chip", page);
        }
        Ok(u64::from(page.0) * u64::from(geometry.page_bytes))
    }

    fn admit_block(&mut self, block: BlockId) -> Result<u64, NandError> {
        if block.0 >= self.geometry.blocks {
            let page = PageId(block.0.saturating_mul(self.geometry.pages_per_block));
            return self.violation("the block is outside the chip", page);
        }
        Ok(u64::from(block.0) * self.geometry.block_bytes())
    }

    fn read_at(
        &mut self,
        page: PageId,
        at: u64,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<ReadOutcome, NandError> {
        let mut found = Err(io::Error::from_raw_os_error(libc::ENOTTY));
        if self.has_read_call {
            found = ioctl::read(&self.file, at, data, spare);
        }
        if found.as_ref().is_err_and(|e| matches!(e.raw_os_error(), Some(libc::ENOTTY | libc::EOPNOTSUPP))) {
            self.has_read_call = false;
            found = self.read_in_parts(at, data, spare);
        }
        match found.map_err(|error| device_error(&error))? {
            Found { uncorrectable: true, .. } => Err(NandError::Uncorrectable(page)),
            Found { bits: 0, .. } => Ok(ReadOutcome::Clean),
            Found { bits, .. } => Ok(ReadOutcome::Corrected { bits, refresh: bits >= self.refresh_bits }),
        }
    }

    /// Reads as old kernels can: ECC is judged by the driver's counters, which count the whole page.
    fn read_in_parts(&self, at: u64, data: &mut [u8], spare: &mut [u8]) -> io::Result<Found> {
        let before = ioctl::ecc_counts(&self.file)?;
        self.file.read_exact_at(data, at)?;
        let after = ioctl::ecc_counts(&self.file)?;
        if !spare.is_empty() {
            let mut raw = vec![0xFF; self.geometry.spare_bytes as usize];
            ioctl::read_raw_spare(&self.file, at, &mut raw)?;
            gather(&self.free, &raw, spare)?;
        }
        Ok(Found {
            uncorrectable: after.failed != before.failed,
            bits: after.corrected.wrapping_sub(before.corrected),
        })
    }
}

/// Collects the free bytes of a raw spare area.
fn gather(runs: &[(u32, u32)], raw: &[u8], free: &mut [u8]) -> io::Result<()> {
    let places = runs.iter().flat_map(|(offset, length)| *offset..offset.saturating_add(*length));
    let mut bytes = places.map_while(|place| raw.get(place as usize));
    for to in free {
        *to = *bytes.next().ok_or_else(|| io::Error::from_raw_os_error(libc::EOPNOTSUPP))?;
    }
    Ok(())
}

fn geometry(info: &ioctl::Info, size: u64, free: u64) -> Result<Geometry, String> {
    if ![ioctl::TYPE_NAND, ioctl::TYPE_MLC_NAND].contains(&info.kind) {
        return Err(format!("its MTD type is {}, want {} (NAND)", info.kind, ioctl::TYPE_NAND));
    }
    let odd = || format!("{size} bytes in blocks of {} and pages of {}", info.erase_size, info.write_size);
    let pages_per_block = info.erase_size.checked_div(info.write_size).filter(|n| *n > 0).ok_or_else(odd)?;
    let blocks = size.checked_div(u64::from(info.erase_size)).and_then(|n| u32::try_from(n).ok());
    let geometry = Geometry {
        page_bytes: info.write_size,
        spare_bytes: info.oob_size,
        free_spare_bytes: u32::try_from(free).unwrap_or(u32::MAX).min(info.oob_size),
        pages_per_block,
        blocks: blocks.filter(|n| *n > 0).ok_or_else(odd)?,
    };
    if geometry.pages() > u64::from(u32::MAX) {
        return Err(odd());
    }
    Ok(geometry)
}

/// The driver does not tell a program which pages are paired. Of MLC Linux itself knows one order.
fn pairing(info: &ioctl::Info, pages_per_block: u32) -> Pairing {
    if info.kind == ioctl::TYPE_MLC_NAND && Pairing::Dist3.fits(pages_per_block) {
        Pairing::Dist3
    } else {
        Pairing::Unpaired
    }
}

/// The files that sysfs keeps for a device.
struct Attributes(String);

impl Attributes {
    fn of(file: &File) -> Attributes {
        let device = file.metadata().map_or(0, |meta| meta.st_rdev());
        Attributes(format!("/sys/dev/char/{}:{}", libc::major(device), libc::minor(device)))
    }

    /// The part of the kernel that has the chip for itself: UBI, or a file system.
    fn user(&self) -> Option<String> {
        let device = fs::canonicalize(&self.0).ok()?;
        let name = device.file_name()?.to_str()?;
        let number = name.strip_prefix("mtd")?;
        let attached = fs::read_dir("/sys/class/ubi").into_iter().flatten().flatten().find(|entry| {
            fs::read_to_string(entry.path().join("mtd_num")).is_ok_and(|text| text.trim() == number)
        });
        if let Some(ubi) = attached {
            return Some(format!("{} of UBI", ubi.file_name().to_string_lossy()));
        }
        let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
        let names = [name.to_string(), format!("/dev/mtdblock{number}"), format!("/dev/{name}")];
        let mount = mounts.lines().map(|line| line.split(' ')).find_map(|mut words| {
            words.next().filter(|source| names.iter().any(|name| name == source))?;
            words.next()
        });
        mount.map(|place| format!("the mount at {place}"))
    }

    fn number(&self, name: &str) -> Option<u64> {
        let text = fs::read(format!("{}/{name}", self.0)).ok()?;
        str::from_utf8(&text).ok()?.trim().parse().ok()
    }
}

/// A failed program or erase is the chip's (`EIO`); any other error is the device's.
fn failure(error: &io::Error, chips: NandError) -> NandError {
    if error.raw_os_error() == Some(libc::EIO) { chips } else { device_error(error) }
}

impl Nand for MtdChip {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn timing(&self) -> Timing {
        Timing::default()
    }

    fn pairing(&self) -> Pairing {
        self.pairing
    }

    fn read(&mut self, page: PageId, data: &mut [u8], spare: &mut [u8]) -> Result<ReadOutcome, NandError> {
        let at = self.admit(page, Some(data.len()), spare.len())?;
        self.stats.page_reads += 1;
        self.read_at(page, at, data, spare)
    }

    /// A driver that reads whole pages only gives up on each codeword of a page with a lost one.
    fn read_by_codeword(
        &mut self,
        page: PageId,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<Vec<Range<usize>>, NandError> {
        let at = self.admit(page, Some(data.len()), spare.len())?;
        let end = data.len();
        let (mut lost, mut start) = (Vec::new(), 0);
        let mut note = |range, outcome: Result<ReadOutcome, NandError>| match outcome {
            Ok(_) => Ok(()),
            Err(NandError::Uncorrectable(_)) => {
                lost.push(range);
                Ok(())
            }
            Err(error) => Err(error),
        };
        for bytes in data.chunks_mut(self.step_bytes) {
            let behind = start + bytes.len();
            self.stats.page_reads += 1;
            note(start..behind, self.read_at(page, at + start as u64, bytes, &mut []))?;
            start = behind;
        }
        if !spare.is_empty() {
            self.stats.spare_reads += 1;
            note(end..end + spare.len(), self.read_at(page, at, &mut [], spare))?;
        }
        Ok(lost)
    }

    fn read_spare(&mut self, page: PageId, spare: &mut [u8]) -> Result<ReadOutcome, NandError> {
        let at = self.admit(page, None, spare.len())?;
        self.stats.spare_reads += 1;
        if spare.is_empty() {
            return Ok(ReadOutcome::Clean);
        }
        self.read_at(page, at, &mut [], spare)
    }

    fn program(&mut self, page: PageId, data: &[u8], spare: &[u8]) -> Result<(), NandError> {
        let at = self.admit(page, Some(data.len()), spare.len())?;
        self.stats.programs += 1;
        ioctl::write(&self.file, at, data, spare).map_err(|e| failure(&e, NandError::ProgramFailed(page)))
    }

    fn erase(&mut self, block: BlockId) -> Result<(), NandError> {
        let at = self.admit_block(block)?;
        self.stats.erases += 1;
        ioctl::erase(&self.file, at, self.geometry.block_bytes())
            .map_err(|e| failure(&e, NandError::EraseFailed(block)))
    }

    fn is_bad(&mut self, block: BlockId) -> Result<bool, NandError> {
        let at = self.admit_block(block)?;
        self.stats.spare_reads += 1;
        ioctl::is_bad(&self.file, at).map_err(|e| device_error(&e))
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), NandError> {
        let at = self.admit_block(block)?;
        ioctl::mark_bad(&self.file, at).map_err(|e| device_error(&e))
    }

    fn stats(&self) -> NandStats {
        self.stats
    }

    fn flush(&mut self) -> Result<(), NandError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::lock;

    #[test]
    fn what_is_no_nand_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = MtdChip::open(file.path(), true).unwrap_err().to_string();
        assert!(error.contains("cannot be used as a NAND chip: it is no MTD device"), "{error}");
    }

    fn info() -> ioctl::Info {
        let mut info = ioctl::Info::default();
        (info.kind, info.erase_size, info.write_size, info.oob_size) = (4, 131_072, 2048, 64);
        info
    }

    #[test]
    fn the_shape_is_the_drivers() {
        let shape = geometry(&info(), 1 << 33, 38).unwrap();
        assert_eq!((shape.pages_per_block, shape.blocks, shape.free_spare_bytes), (64, 65536, 38));
        assert_eq!(geometry(&info(), 1 << 33, 1000).unwrap().free_spare_bytes, 64);
    }

    /// Pages have numbers of 32 bits.
    #[test]
    fn as_many_pages_as_have_numbers_are_taken_and_no_more() {
        let shape = |pages_per_block: u32, blocks: u64| {
            let mut info = info();
            (info.write_size, info.erase_size) = (512, 512 * pages_per_block);
            geometry(&info, u64::from(info.erase_size) * blocks, 8).map(|shape| shape.pages())
        };
        assert_eq!(shape(65537, 65535), Ok(u64::from(u32::MAX)));
        assert!(shape(65536, 65536).is_err());
    }

    /// A chip on a file that is no device: for the checks and counters before the driver.
    fn on_no_device() -> MtdChip {
        let file = tempfile::NamedTempFile::new().unwrap();
        let locked = lock(file.reopen().unwrap(), file.path(), false).unwrap();
        let geometry = geometry(&info(), 4 << 17, 38).unwrap();
        MtdChip {
            file: locked,
            geometry,
            pairing: Pairing::Unpaired,
            free: Vec::new(),
            refresh_bits: 1,
            step_bytes: 256,
            has_read_call: true,
            stats: NandStats::default(),
        }
    }

    #[test]
    fn calls_are_checked_and_counted_before_the_driver_is_asked() {
        let mut chip = on_no_device();
        let is_violation =
            |result: Result<(), NandError>| assert!(matches!(result, Err(NandError::Violation(..))));
        let (data, spare) = ([0; 2048], [0; 38]);
        is_violation(chip.program(PageId(0), &data[1..], &spare));
        is_violation(chip.program(PageId(0), &data, &spare[1..]));
        is_violation(chip.program(PageId(4 * 64), &data, &spare));
        is_violation(chip.erase(BlockId(4)));
        is_violation(chip.read_raw_spare(PageId(0), &mut [0; 38]));
        assert_eq!(chip.stats(), NandStats { violations: 5, ..NandStats::default() });
        let fails = |result: Result<(), NandError>| assert!(matches!(result, Err(NandError::Device(_))));
        fails(chip.program(PageId(4 * 64 - 1), &data, &spare));
        fails(chip.erase(BlockId(3)));
        fails(chip.is_bad(BlockId(3)).map(drop));
        fails(chip.read_raw_spare(PageId(0), &mut [0; 64]));
        fails(chip.read_spare(PageId(0), &mut [0; 38]).map(drop));
        let wanted =
            NandStats { violations: 5, programs: 1, erases: 1, spare_reads: 3, ..NandStats::default() };
        assert_eq!(chip.stats(), wanted);
    }

    #[test]
    fn pages_of_mlc_are_paired() {
        let mut info = info();
        assert_eq!(pairing(&info, 64), Pairing::Unpaired);
        info.kind = ioctl::TYPE_MLC_NAND;
        assert_eq!(pairing(&info, 64), Pairing::Dist3);
    }

    #[test]
    fn shapes_that_cannot_be_are_refused() {
        let refused = |change: fn(&mut ioctl::Info), size| {
            let mut info = info();
            change(&mut info);
            geometry(&info, size, 38).unwrap_err()
        };
        assert!(refused(|i| i.kind = 3, 1 << 30).contains("MTD type is 3"));
        refused(|i| i.write_size = 0, 1 << 30);
        refused(|i| i.erase_size = 0, 1 << 30);
        refused(|i| i.write_size = 1 << 20, 1 << 30);
        refused(|_| (), 0);
        refused(|_| (), u64::MAX);
    }

    #[test]
    fn free_bytes_are_gathered_from_their_runs() {
        let raw: Vec<u8> = (0..16).collect();
        let mut free = [0; 5];
        gather(&[(2, 2), (8, 3), (0, 0)], &raw, &mut free).unwrap();
        assert_eq!(free, [2, 3, 8, 9, 10]);
        assert!(gather(&[(2, 2), (15, 9)], &raw, &mut [0; 4]).is_err());
    }
}
