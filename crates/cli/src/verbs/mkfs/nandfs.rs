//! The options of a new volume of nandfs.

use pumice_cleaning::registry::{PlacementRule, VictimRule, WearRule};
use pumice_nandfs::{Compression, FormatOptions, FsyncProtection};

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "nandfs")]
pub(super) struct Nandfs {
    /// Policy that chooses the erase block to clean next; `pumice sim --help` lists them [default: root-age]
    #[arg(long, value_name = "NAME")]
    pub(super) victim: Option<VictimRule>,
    /// Policy that chooses the head for a block of a file [default: sepbit:3; sepbit:2 on a chip of fewer than 512
    /// erase blocks]
    #[arg(long, value_name = "NAME")]
    pub(super) placement: Option<PlacementRule>,
    /// Pages of each erase block that hold parity over the others, up to 8: so many of a block may become unreadable [default: 0, of RCFFS 1]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u8).range(0..=8))]
    pub(super) parity_pages: Option<u8>,
    /// Time from which parity brings back the promises of fsync if the power fails: once its erase block is full
    /// (at-close), or at once, for about one program more (now) [default: at-close]
    #[arg(long, value_name = "WHEN")]
    pub(super) fsync_protection: Option<FsyncProtection>,
    /// Blocks of files are compressed: none, lz4, zstd or zstd:1 to zstd:19. With none they are not, until a mount wants it;
    /// without this option they never are
    #[arg(long, value_name = "METHOD")]
    pub(super) compress: Option<Compression>,
    /// Policy that moves cold data into worn erase blocks: behind, end-of-life or none [default: behind:8]
    #[arg(long, value_name = "NAME")]
    pub(super) wear: Option<WearRule>,
}

impl Nandfs {
    /// The options given; the rest is nandfs's own choice, without parity.
    pub(super) fn options(&self) -> FormatOptions {
        FormatOptions::default().with(|it| {
            it.victim = self.victim;
            it.placement = self.placement;
            it.wear = self.wear;
            it.parity_pages = self.parity_pages.unwrap_or(0);
            it.fsync_protection = self.fsync_protection.unwrap_or_default();
            it.compression = self.compress;
        })
    }

    /// The first of them that was given and that this file system does not know; RCFFS has parity pages, too.
    pub(super) fn given(&self, is_rcffs: bool) -> Option<&'static str> {
        let options = [
            (self.victim.is_some(), "--victim"),
            (self.placement.is_some(), "--placement"),
            (self.parity_pages.is_some() && !is_rcffs, "--parity-pages"),
            (self.fsync_protection.is_some(), "--fsync-protection"),
            (self.compress.is_some(), "--compress"),
            (self.wear.is_some(), "--wear"),
        ];
        options.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
    }
}
