//! The known chips: the ones of the papers, and a typical part of each class that is sold.
//!
//! Times are typical figures. Where a data sheet gives array times only, the transfer over the bus is added;
//! the text at each chip says how.

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use crate::nand::{Geometry, Timing};
use crate::pairing::Pairing;
use crate::spec::{ChipSpec, Ecc, SpareRange, SpecError};

/// All known chips, those of the papers first.
pub fn chips() -> Vec<ChipSpec> {
    ROWS.iter().map(Row::spec).collect()
}

impl ChipSpec {
    /// The known chip called `name`; see [`chips`].
    pub fn named(name: &str) -> Result<ChipSpec, SpecError> {
        let row = ROWS.iter().find(|row| row.name == name);
        row.map(Row::spec).ok_or_else(|| SpecError::UnknownChip {
            name: name.to_string(),
            known: ROWS.iter().map(|row| row.name.to_string()).collect(),
        })
    }
}

/// A chip in one line each: a table for the eye.
struct Row {
    name: &'static str,
    /// Data and spare bytes of a page.
    page: (u32, u32),
    pages_per_block: u32,
    blocks: u32,
    /// Offset and bytes of the free run in the spare area.
    free: (u32, u32),
    bad_mark: u32,
    /// Codeword bytes, bits corrected in each, and whether free spare bytes are covered.
    ecc: (u32, u32, bool),
    /// Read page, read spare, program, erase, in nanoseconds.
    times: (u64, u64, u64, u64),
    endurance: u32,
    pairing: Pairing,
}

impl Row {
    fn spec(&self) -> ChipSpec {
        ChipSpec {
            name: self.name.to_string(),
            geometry: Geometry {
                page_bytes: self.page.0,
                spare_bytes: self.page.1,
                free_spare_bytes: self.free.1,
                pages_per_block: self.pages_per_block,
                blocks: self.blocks,
            },
            timing: Timing {
                read_page_ns: self.times.0,
                read_spare_ns: self.times.1,
                program_ns: self.times.2,
                erase_ns: self.times.3,
            },
            ecc: Ecc { step_bytes: self.ecc.0, bits: self.ecc.1, covers_spare: self.ecc.2 },
            free_ranges: vec![SpareRange { offset: self.free.0, bytes: self.free.1 }],
            bad_mark_offset: self.bad_mark,
            endurance_erases: self.endurance,
            pairing: self.pairing,
        }
    }
}

const ROWS: &[Row] = &[
    // ScaleFFS, Table IV: times as measured there; 256 MiB as in its section 5.1. Spare layout of the
    // 512-byte parts: six Hamming bytes at 0..4, 6 and 7, bad mark at 5, eight bytes free. As everywhere under Linux, a
    // Hamming code covers data alone.
    Row {
        name: "scaleffs-256m",
        page: (512, 16),
        pages_per_block: 32,
        blocks: 16384,
        free: (8, 8),
        bad_mark: 5,
        ecc: (256, 1, false),
        times: (55_700, 27_000, 237_700, 2_005_000),
        endurance: 100_000,
        pairing: Pairing::Unpaired,
    },
    // CFFS, Table 2: K9S1208V0M, 4096 blocks of 16 KiB. The table has no time for a spare area alone: it
    // waits for the same array access.
    Row {
        name: "k9s1208",
        page: (512, 16),
        pages_per_block: 32,
        blocks: 4096,
        free: (8, 8),
        bad_mark: 5,
        ecc: (256, 1, false),
        times: (12_000, 12_000, 200_000, 2_000_000),
        endurance: 100_000,
        pairing: Pairing::Unpaired,
    },
    // RCFFS's 128 MiB on Linux's nandsim with its default times. They are access 25 us, program 200 us, erase 2 ms, 40
    // ns for each byte out and 50 ns for each byte in, 2112 bytes a page.
    Row {
        name: "rcffs-128m",
        page: (2048, 64),
        pages_per_block: 64,
        blocks: 1024,
        free: (2, 38),
        bad_mark: 0,
        ecc: (256, 1, false),
        times: (109_480, 27_560, 305_600, 2_000_000),
        endurance: 100_000,
        pairing: Pairing::Unpaired,
    },
    // CAT, Tables 1 and 3: Intel Series 2+ card, 24 MB in 192 segments of 128 KiB. The card is NOR and has neither
    // pages nor spare areas; a page is the paper's 4 KiB block here. 64 bytes are added beside it for the block's
    // header, so that 32 blocks fill a segment as in the paper. The times are the middle of the ranges of Table 1: 200
    // ns a byte read, 7.5 us a byte written, 0.7 s an erase.
    Row {
        name: "intel-s2plus-24m",
        page: (4096, 64),
        pages_per_block: 32,
        blocks: 192,
        free: (2, 62),
        bad_mark: 0,
        ecc: (256, 1, true),
        times: (832_000, 12_800, 31_200_000, 700_000_000),
        endurance: 1_000_000,
        pairing: Pairing::Unpaired,
    },
    // SLC of 2 Gbit, 2 KiB pages, as all makers sold it in the 2000s: array times of the data sheets, one-bit
    // Hamming code with 3 bytes for each 256.
    Row {
        name: "slc-2k-2g",
        page: (2048, 64),
        pages_per_block: 64,
        blocks: 2048,
        free: (2, 38),
        bad_mark: 0,
        ecc: (256, 1, false),
        times: (25_000, 25_000, 200_000, 2_000_000),
        endurance: 100_000,
        pairing: Pairing::Unpaired,
    },
    // SLC of 8 Gbit with 4 KiB pages of the 34 nm class: 25 us, 220 us, 0.7 ms, and 25 ns a byte on the bus.
    // BCH of 8 bits takes 13 bytes for each 512.
    Row {
        name: "slc-4k-8g",
        page: (4096, 224),
        pages_per_block: 64,
        blocks: 4096,
        free: (2, 118),
        bad_mark: 0,
        ecc: (512, 8, true),
        times: (133_000, 30_600, 328_000, 700_000),
        endurance: 60_000,
        pairing: Pairing::Unpaired,
    },
    // SPI NAND of 1 Gbit with one-bit ECC on the die: 60 us with ECC, 250 us, 2 ms, and four wires at 104 MHz
    // (19 ns a byte). Only the four bytes of the first sector that its ECC covers are shown: the file
    // system's tag must live in the page.
    Row {
        name: "spinand-1g",
        page: (2048, 64),
        pages_per_block: 64,
        blocks: 1024,
        free: (4, 4),
        bad_mark: 0,
        ecc: (512, 1, true),
        times: (100_100, 61_200, 290_100, 2_000_000),
        endurance: 100_000,
        pairing: Pairing::Unpaired,
    },
    // MLC of 64 Gbit, 8 KiB pages, 20 nm class: 75 us, 1.3 ms, 3.8 ms, and 20 ns a byte. BCH of 24 bits takes
    // 42 bytes for each 1024. Pairs as Linux has them for such parts.
    Row {
        name: "mlc-8k-64g",
        page: (8192, 448),
        pages_per_block: 256,
        blocks: 4096,
        free: (2, 110),
        bad_mark: 0,
        ecc: (1024, 24, true),
        times: (247_800, 84_000, 1_472_800, 3_800_000),
        endurance: 3_000,
        pairing: Pairing::Dist3,
    },
    // TLC with 16 KiB pages: 90 us, 2 ms on average over lower, middle and upper page, 10 ms, and 2.5 ns a
    // byte (400 MT/s). BCH of 60 bits takes 105 bytes for each 1024. The three pages of a word line
    // are neighbours.
    Row {
        name: "tlc-16k-96g",
        page: (16384, 2208),
        pages_per_block: 384,
        blocks: 2048,
        free: (2, 526),
        bad_mark: 0,
        ecc: (1024, 60, true),
        times: (136_500, 95_500, 2_046_500, 10_000_000),
        endurance: 1_000,
        pairing: Pairing::WordLine { pages: 3 },
    },
];
