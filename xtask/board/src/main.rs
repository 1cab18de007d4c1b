//! A whole program with nandfs for a microcontroller, as small as it gets: `make core` prints its size and holds it to a
//! ceiling. It drives a chip behind a few registers; nobody runs it.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::boxed::Box;
use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;
use core::ptr::{read_volatile, write_volatile};
use core::sync::atomic::{AtomicUsize, Ordering};

use pumice_media::{BlockId, Geometry, Nand, NandError, NandStats, PageId, Pairing, ReadOutcome, Timing};
use pumice_nandfs::{FormatOptions, MountOptions, NandFs, cache_least, format};
#[cfg(feature = "all")]
use pumice_nandfs::{RepairOptions, check, repair};
use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, RenameMode, Result, SetAttr, Timestamp};

/// A heap that only grows.
struct Heap(AtomicUsize);

// SAFETY: every piece begins behind the one before, in memory that nothing else has.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let at = self.0.load(Ordering::Relaxed).next_multiple_of(layout.align());
        self.0.store(at + layout.size(), Ordering::Relaxed);
        at as *mut u8
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static HEAP: Heap = Heap(AtomicUsize::new(0x2000_0000));

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// Registers of the chip's controller.
#[derive(Clone, Copy)]
enum Register {
    Command,
    Address,
    Data,
    Status,
    /// Numbers that the compiler cannot foresee.
    Input,
}

fn get(register: Register) -> u32 {
    // SAFETY: a register of the board.
    unsafe { read_volatile((0x4000_0000 + register as usize * 4) as *const u32) }
}

fn put(register: Register, value: u32) {
    // SAFETY: a register of the board.
    unsafe { write_volatile((0x4000_0000 + register as usize * 4) as *mut u32, value) }
}

fn command(number: u32, address: u32) -> bool {
    put(Register::Address, address);
    put(Register::Command, number);
    get(Register::Status) == 0
}

fn take(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = get(Register::Data) as u8;
    }
}

/// A chip of 16 MiB.
struct Chip;

impl Nand for Chip {
    fn geometry(&self) -> Geometry {
        let (page_bytes, spare_bytes, free_spare_bytes) = (2048, 64, 38);
        Geometry { page_bytes, spare_bytes, free_spare_bytes, pages_per_block: 64, blocks: 128 }
    }

    fn timing(&self) -> Timing {
        let (read_page_ns, read_spare_ns) = (25_000, 25_000);
        Timing { read_page_ns, read_spare_ns, program_ns: 200_000, erase_ns: 2_000_000 }
    }

    fn pairing(&self) -> Pairing {
        Pairing::Unpaired
    }

    fn read(
        &mut self,
        page: PageId,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> core::result::Result<ReadOutcome, NandError> {
        let is_good = command(0, page.0);
        take(data);
        take(spare);
        if is_good { Ok(ReadOutcome::Clean) } else { Err(NandError::Uncorrectable(page)) }
    }

    fn read_spare(&mut self, page: PageId, spare: &mut [u8]) -> core::result::Result<ReadOutcome, NandError> {
        let is_good = command(1, page.0);
        take(spare);
        if is_good { Ok(ReadOutcome::Clean) } else { Err(NandError::Uncorrectable(page)) }
    }

    fn program(&mut self, page: PageId, data: &[u8], spare: &[u8]) -> core::result::Result<(), NandError> {
        for byte in data.iter().chain(spare) {
            put(Register::Data, (*byte).into());
        }
        if command(2, page.0) { Ok(()) } else { Err(NandError::ProgramFailed(page)) }
    }

    fn erase(&mut self, block: BlockId) -> core::result::Result<(), NandError> {
        if command(3, block.0) { Ok(()) } else { Err(NandError::EraseFailed(block)) }
    }

    fn is_bad(&mut self, block: BlockId) -> core::result::Result<bool, NandError> {
        Ok(!command(4, block.0))
    }

    fn mark_bad(&mut self, block: BlockId) -> core::result::Result<(), NandError> {
        command(5, block.0);
        Ok(())
    }

    fn stats(&self) -> NandStats {
        NandStats::default()
    }

    fn flush(&mut self) -> core::result::Result<(), NandError> {
        Ok(())
    }
}

/// What littlefs does, too.
fn use_files(fs: &NandFs<Chip>) -> Result<()> {
    let kind = if get(Register::Input) > 0 { FileKind::File } else { FileKind::Dir };
    let node = NewNode { kind, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
    let (name, mut bytes) = ([get(Register::Input) as u8; 8], [0; 512]);
    let ino = fs.create(Ino::ROOT, &name, &node)?.ino;
    fs.write(ino, get(Register::Input).into(), &bytes)?;
    fs.fsync(ino, false)?;
    fs.read(ino, 0, &mut bytes)?;
    put(Register::Data, fs.lookup(Ino::ROOT, &name)?.size as u32);
    fs.rename(Ino::ROOT, &name, Ino::ROOT, b"other", RenameMode::Replace)?;
    fs.set_attr(ino, &SetAttr { size: Some(get(Register::Input).into()), ..SetAttr::default() })?;
    fs.readdir(Ino::ROOT, 0, &mut |entry| {
        put(Register::Data, entry.name.len() as u32);
        true
    })?;
    fs.unlink(Ino::ROOT, b"other")?;
    fs.rmdir(Ino::ROOT, b"dir")?;
    fs.sync()?;
    put(Register::Data, fs.space()?.free_bytes as u32);
    fs.maintain().map(|_| ())
}

/// Any call: all of them stay in the program, behind a table that the compiler cannot see through.
#[cfg(feature = "all")]
fn use_all(fs: &NandFs<Chip>) -> Result<()> {
    let all: &dyn FileSystem = core::hint::black_box(fs);
    all.sync()
}

fn run() -> Result<()> {
    let mut chip = Chip;
    if get(Register::Input) == 1 {
        format(&mut chip, &FormatOptions::default(), &mut |_, _| {})?;
    }
    let options = MountOptions::new(cache_least(&chip)?, Box::new(Timestamp::default));
    let fs = NandFs::mount(chip, options)?;
    use_files(&fs)?;
    #[cfg(feature = "all")]
    use_all(&fs)?;
    let chip = fs.unmount()?;
    #[cfg(feature = "all")]
    {
        let (chip, found) = repair(chip, RepairOptions::default())?;
        put(Register::Data, found.len() as u32);
        put(Register::Data, check(chip, &mut |_, _| {})?.findings.len() as u32);
    }
    #[cfg(not(feature = "all"))]
    let Chip = chip;
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    loop {
        put(Register::Status, run().is_ok().into());
    }
}
