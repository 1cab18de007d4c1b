//! Software ECC: its names on the command line, chips that have it, and dumps with its codes.

use std::io::{self, Read, Seek, SeekFrom, Write};

use pumice_ecc::{CodeError, Strength};
use pumice_flashlog::{PageCode, SoftwareCode};
use pumice_media::{ChipSpec, Ecc, PageId, SpareRange};

use crate::failure::{Failure, Outcome};

/// A code that Linux and U-Boot keep in the spare area, by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Code {
    Hamming,
    Bch4,
    Bch8,
}

impl Code {
    fn software(self) -> SoftwareCode {
        match self {
            Code::Hamming => SoftwareCode::Hamming,
            Code::Bch4 => SoftwareCode::Bch(Strength::Four),
            Code::Bch8 => SoftwareCode::Bch(Strength::Eight),
        }
    }

    /// The same chip with this code, which leaves fewer bytes of the spare area free.
    pub(crate) fn on(self, spec: ChipSpec) -> Outcome<ChipSpec> {
        let code = self.pages(&spec)?;
        let (ecc, free) = described(&code)?;
        spec.with_ecc(ecc, &[free]).map_err(|error| Failure::new(error.to_string()))
    }

    /// The codes of a chip's pages.
    fn pages(self, spec: &ChipSpec) -> Outcome<PageCode> {
        PageCode::new(self.software(), &spec.geometry()).map_err(|error| Failure::new(error.to_string()))
    }

    /// The codes of the pages of a chip that was made with this code; an error on any other.
    pub(crate) fn of(self, spec: &ChipSpec) -> Outcome<PageCode> {
        let code = self.pages(spec)?;
        let (ecc, free) = described(&code)?;
        if (spec.ecc(), spec.free_ranges()) == (ecc, &[free]) {
            return Ok(code);
        }
        let shown = |range: &SpareRange| format!("{} to {}", range.offset, range.offset + range.bytes - 1);
        let found: Vec<String> = spec.free_ranges().iter().map(shown).collect();
        Err(Failure::new(format!(
            "the chip has another ECC: bytes {} of its spare area are free, with this one {}; see `pumice nand create --ecc`",
            found.join(", "),
            shown(&free)
        )))
    }
}

/// A chip's description of a code. Linux's do not cover the free bytes.
fn described(code: &PageCode) -> Outcome<(Ecc, SpareRange)> {
    let number = |bytes: usize| u32::try_from(bytes).map_err(|error| Failure::new(error.to_string()));
    let (software, free) = (code.code(), code.free());
    let ecc = Ecc { step_bytes: number(software.step_bytes())?, bits: software.bits(), covers_spare: false };
    Ok((ecc, SpareRange { offset: number(free.start)?, bytes: number(free.len())? }))
}

/// A page of a dump and its spare area, one at a time.
struct RawPage {
    code: PageCode,
    page_bytes: usize,
    bytes: Vec<u8>,
    /// Bytes that were taken from it, or put into it.
    used: usize,
}

impl RawPage {
    fn new(code: PageCode, spec: &ChipSpec) -> RawPage {
        let geometry = spec.geometry();
        let page_bytes = geometry.page_bytes as usize;
        RawPage { code, page_bytes, bytes: vec![0xff; page_bytes + geometry.spare_bytes as usize], used: 0 }
    }
}

/// Adds codes to a dump that is being written.
pub(crate) struct Sealing<W> {
    out: W,
    raw: RawPage,
}

impl<W: Write> Sealing<W> {
    pub(crate) fn new(out: W, code: PageCode, spec: &ChipSpec) -> Sealing<W> {
        Sealing { out, raw: RawPage::new(code, spec) }
    }
}

impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let RawPage { code, page_bytes, bytes: page, used } = &mut self.raw;
        let room = page.iter_mut().skip(*used);
        let taken = room.zip(bytes).map(|(to, from)| *to = *from).count();
        *used += taken;
        if *used == page.len() {
            let (data, spare) = page.split_at_mut(*page_bytes);
            code.seal(data, spare).map_err(io::Error::other)?;
            self.out.write_all(page)?;
            *used = 0;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        debug_assert_eq!(self.raw.used, 0, "a dump ends within a page");
        self.out.flush()
    }
}

/// The results of the codes on a dump.
#[derive(Default, Debug)]
pub(crate) struct Found {
    /// Pages that are not erased.
    pub(crate) pages: u64,
    /// Pages in which wrong bits were corrected.
    pub(crate) corrected: u64,
    /// Pages with more wrong bits than that.
    pub(crate) lost: Vec<PageId>,
}

/// Corrects a dump while it is read.
pub(crate) struct Correcting<'a, R> {
    input: &'a mut R,
    raw: RawPage,
    next: u32,
    found: Found,
}

impl<'a, R: Read + Seek> Correcting<'a, R> {
    pub(crate) fn new(input: &'a mut R, code: PageCode, spec: &ChipSpec) -> Correcting<'a, R> {
        let mut raw = RawPage::new(code, spec);
        raw.used = raw.bytes.len();
        Correcting { input, raw, next: 0, found: Found::default() }
    }

    pub(crate) fn found(self) -> Found {
        self.found
    }

    fn read_page(&mut self) -> io::Result<()> {
        let RawPage { code, page_bytes, bytes, used } = &mut self.raw;
        self.input.read_exact(bytes)?;
        *used = 0;
        let page = PageId(self.next);
        self.next += 1;
        if bytes.iter().all(|byte| *byte == 0xff) {
            return Ok(());
        }
        self.found.pages += 1;
        let (data, spare) = bytes.split_at_mut(*page_bytes);
        match code.correct(data, spare) {
            Ok(bits) => self.found.corrected += u64::from(bits > 0),
            Err(CodeError::Uncorrectable) => self.found.lost.push(page),
            Err(error) => return Err(io::Error::other(error)),
        }
        Ok(())
    }
}

impl<R: Read + Seek> Read for Correcting<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.raw.used == self.raw.bytes.len() && !bytes.is_empty() {
            self.read_page()?;
        }
        let left = self.raw.bytes.iter().skip(self.raw.used);
        let taken = bytes.iter_mut().zip(left).map(|(to, from)| *to = *from).count();
        self.raw.used += taken;
        Ok(taken)
    }
}

/// Serves to measure a dump before anything is read.
impl<R: Read + Seek> Seek for Correcting<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        debug_assert_eq!(self.next, 0, "measured after pages were read");
        self.input.seek(to)
    }
}
