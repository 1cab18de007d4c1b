//! The verbs, one file each.

pub(crate) mod attr;
pub(crate) mod cat;
pub(crate) mod chips;
pub(crate) mod clean;
pub(crate) mod completions;
pub(crate) mod defrag;
pub(crate) mod df;
pub(crate) mod dump;
pub(crate) mod find;
pub(crate) mod fsck;
pub(crate) mod ftl;
pub(crate) mod get;
pub(crate) mod info;
pub(crate) mod lab;
pub(crate) mod ln;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod map;
pub(crate) mod mkdir;
pub(crate) mod mkfs;
pub(crate) mod mount;
pub(crate) mod mv;
pub(crate) mod nand;
pub(crate) mod put;
pub(crate) mod quota;
pub(crate) mod rescue;
pub(crate) mod resize;
pub(crate) mod rm;
pub(crate) mod scrub;
pub(crate) mod seal;
pub(crate) mod sim;
pub(crate) mod stat;
pub(crate) mod tar;
pub(crate) mod tree;
pub(crate) mod tune;
pub(crate) mod undelete;
pub(crate) mod whois;

use std::path::PathBuf;

/// The image of verbs that read any file system.
#[derive(clap::Args, Debug)]
pub(crate) struct Image {
    /// Chip container, /dev/mtdN, or F2FS image or disk
    #[arg(value_name = "IMAGE")]
    pub(crate) image: PathBuf,
}

/// The image of verbs that write a file system.
#[derive(clap::Args, Debug)]
pub(crate) struct Writable {
    /// Chip container, /dev/mtdN, or F2FS image or disk
    #[arg(value_name = "IMAGE")]
    pub(crate) image: PathBuf,
}

/// The image of verbs that look into F2FS.
#[derive(clap::Args, Debug)]
pub(crate) struct F2fsImage {
    /// F2FS image or disk
    #[arg(value_name = "IMAGE")]
    pub(crate) image: PathBuf,
}

/// A simulated chip itself.
#[derive(clap::Args, Debug)]
pub(crate) struct Container {
    /// Chip container
    #[arg(value_name = "IMAGE")]
    pub(crate) image: PathBuf,
}

/// A chip that other file systems use as a disk.
#[derive(clap::Args, Debug)]
pub(crate) struct LogicalDisk {
    /// Chip container or /dev/mtdN with a logical disk
    #[arg(value_name = "IMAGE")]
    pub(crate) image: PathBuf,
}

/// Warnings about losses of a copy.
fn warn_of(lost: &[String]) {
    for line in lost {
        crate::message::complain(line);
    }
}
