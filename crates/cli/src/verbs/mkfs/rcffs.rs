//! The options of a new volume of RCFFS.

use pumice_rcffs::FormatOptions;

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "RCFFS")]
pub(super) struct Rcffs {
    /// Erase blocks of each segment that hold parity over the others, up to 8: so many of a segment may become unreadable
    /// [default: 1]
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u8).range(0..=8))]
    parity_blocks: Option<u8>,
}

impl Rcffs {
    /// These options, and the parity pages of each erase block; the rest as the paper measured.
    pub(super) fn options(&self, parity_pages: Option<u8>) -> FormatOptions {
        let paper = FormatOptions::default();
        FormatOptions {
            parity_pages: parity_pages.map_or(paper.parity_pages, u32::from),
            parity_blocks: self.parity_blocks.map_or(paper.parity_blocks, u32::from),
            ..paper
        }
    }

    /// The first of them that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        self.parity_blocks.map(|_| "--parity-blocks")
    }
}
