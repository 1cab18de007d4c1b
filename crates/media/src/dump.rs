//! Raw dumps as `nanddump --oob` writes them: each page's data followed by its whole spare area, page after
//! page, the whole chip.

use std::io::{Read, Seek, SeekFrom, Write};
use std::vec;

use crate::store::{Hold, PageState, Store, Wear};
use crate::{BlockId, ChipSpec, MediaError, SimChip};

/// The mark byte of a bad block in a dump.
const BAD_MARK: u8 = 0;

impl<S: Store> SimChip<S> {
    /// Writes the chip as a raw dump and returns its bytes. Erased pages are all ones, and so are the bytes of the
    /// spare area that belong to ECC. Faults do not show: the dump holds the stored bytes.
    pub fn export_dump(&mut self, out: &mut impl Write) -> Result<u64, MediaError> {
        let shape = Shape::of(self.spec());
        let mut data = vec![0; shape.page_bytes];
        let mut spare = vec![0; shape.free_bytes];
        let mut raw = vec![0; shape.raw_bytes];
        let pages = self.spec().geometry().pages_per_block;
        for block in (0..self.spec().geometry().blocks).map(BlockId) {
            let bad = self.store_mut().wear(block)?.bad || self.faults().is_factory_bad(block);
            for index in 0..pages {
                self.store_mut().read(block, index, &mut data, &mut spare)?;
                shape.join(self.spec(), &data, &spare, &mut raw);
                if let Some(mark) = raw.get_mut(shape.mark_at).filter(|_| bad && index == 0) {
                    *mark = BAD_MARK;
                }
                out.write_all(&raw).map_err(|source| MediaError::Dump { what: "write", source })?;
            }
        }
        out.flush().map_err(|source| MediaError::Dump { what: "write", source })?;
        Ok(shape.dump_bytes(self.spec()))
    }

    /// Replaces everything on the chip by a raw dump, from where `input` stands to its end. Erase counts
    /// stay.
    ///
    /// A page that is all ones counts as erased. The bytes of the spare area that belong to ECC are not
    /// looked at: the data is taken as it stands in the dump. A dump of another length is refused before
    /// anything changes.
    pub fn import_dump(&mut self, input: &mut (impl Read + Seek)) -> Result<(), MediaError> {
        let shape = Shape::of(self.spec());
        shape.check_length(self.spec(), input)?;
        let mut spare = vec![0; shape.free_bytes];
        let mut raw = vec![0; shape.raw_bytes];
        let clock_s = self.clock_s();
        let pages = self.spec().geometry().pages_per_block;
        for block in (0..self.spec().geometry().blocks).map(BlockId) {
            let wear = self.store_mut().wear(block)?;
            self.store_mut().erase(block, Wear { bad: false, hold: Hold::Sound, ..wear })?;
            for index in 0..pages {
                input.read_exact(&mut raw).map_err(|source| MediaError::Dump { what: "read", source })?;
                if index == 0 {
                    let mark = raw.get_mut(shape.mark_at);
                    let bad = mark.is_some_and(|mark| core::mem::replace(mark, 0xFF) != 0xFF);
                    self.store_mut().set_wear(block, Wear { bad, hold: Hold::Sound, ..wear })?;
                }
                if raw.iter().any(|byte| *byte != 0xFF) {
                    let data = shape.split(self.spec(), &raw, &mut spare);
                    self.store_mut().write((block, index), PageState::Programmed, clock_s, data, &spare)?;
                }
            }
        }
        Ok(())
    }
}

/// Lengths of a dump's page, as indices.
struct Shape {
    page_bytes: usize,
    free_bytes: usize,
    raw_bytes: usize,
    mark_at: usize,
}

impl Shape {
    fn of(spec: &ChipSpec) -> Shape {
        let geometry = spec.geometry();
        let page_bytes = geometry.page_bytes as usize;
        Shape {
            page_bytes,
            free_bytes: geometry.free_spare_bytes as usize,
            raw_bytes: page_bytes + geometry.spare_bytes as usize,
            mark_at: page_bytes + spec.bad_mark_offset() as usize,
        }
    }

    fn dump_bytes(&self, spec: &ChipSpec) -> u64 {
        spec.geometry().pages() * self.raw_bytes as u64
    }

    fn check_length(&self, spec: &ChipSpec, input: &mut impl Seek) -> Result<(), MediaError> {
        let seek = |source| MediaError::Dump { what: "measure", source };
        let start = input.stream_position().map_err(seek)?;
        let bytes = input.seek(SeekFrom::End(0)).map_err(seek)? - start;
        input.seek(SeekFrom::Start(start)).map_err(seek)?;
        let want = self.dump_bytes(spec);
        if bytes == want {
            return Ok(());
        }
        let geometry = spec.geometry();
        Err(MediaError::DumpLength {
            bytes,
            want,
            pages: geometry.pages(),
            page_bytes: geometry.page_bytes,
            spare_bytes: geometry.spare_bytes,
        })
    }

    /// Lays data and free spare bytes out as the chip has them.
    fn join(&self, spec: &ChipSpec, data: &[u8], free: &[u8], raw: &mut [u8]) {
        raw.fill(0xFF);
        let (raw_data, raw_spare) = raw.split_at_mut(self.page_bytes);
        raw_data.copy_from_slice(data);
        let places = spec.free_ranges().iter().flat_map(|r| r.offset..r.offset + r.bytes);
        for (place, byte) in places.zip(free) {
            if let Some(to) = raw_spare.get_mut(place as usize) {
                *to = *byte;
            }
        }
    }

    /// Gathers the free spare bytes of a raw page and returns its data.
    fn split<'a>(&self, spec: &ChipSpec, raw: &'a [u8], free: &mut [u8]) -> &'a [u8] {
        let (data, raw_spare) = raw.split_at(self.page_bytes);
        let places = spec.free_ranges().iter().flat_map(|r| r.offset..r.offset + r.bytes);
        for (byte, place) in free.iter_mut().zip(places) {
            *byte = raw_spare.get(place as usize).copied().unwrap_or(0xFF);
        }
        data
    }
}
