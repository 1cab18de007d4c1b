//! Options that many verbs share.

use std::path::PathBuf;

use clap::Args;

use crate::size;

/// The options that every verb understands.
#[derive(Args, Debug)]
pub(crate) struct Common {
    /// Print the chip's counters on stderr: reads, programs, erases, device time
    #[arg(long, global = true, help_heading = "Common options")]
    pub(crate) stats: bool,
    /// Memory for cached and unwritten pages
    #[arg(
        long,
        global = true,
        help_heading = "Common options",
        value_name = "SIZE",
        default_value = "8MiB",
        value_parser = cache_size
    )]
    pub(crate) cache: u64,
    /// Master key of encrypted files (fscrypt), 16 to 64 bytes; may be repeated
    #[arg(long = "key-file", global = true, help_heading = "Common options", value_name = "FILE")]
    pub(crate) key_files: Vec<PathBuf>,
    /// Show a crashed F2FS at its last checkpoint, without recovery
    #[arg(long, global = true, help_heading = "Common options")]
    pub(crate) no_recovery: bool,
    /// Allowed in front of the verb as well as behind it; verbs that have it show it in their own help
    #[arg(long, global = true, hide = true)]
    pub(crate) json: bool,
}

/// The least a file system can work with.
const CACHE_MIN: u64 = 256 << 10;

/// A size for `--cache`.
pub(crate) fn cache_size(text: &str) -> Result<u64, String> {
    let bytes = size::parse(text)?;
    if bytes < CACHE_MIN {
        return Err(format!("a cache of {bytes} bytes is too small (want at least 256KiB)"));
    }
    Ok(bytes)
}

/// The one of these that has a name.
pub(crate) fn named<T: Copy>(option: &str, name: &str, all: &[(&str, T)]) -> Result<T, String> {
    let found = all.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let names = || all.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| format!("unknown {option} '{name}' (want one of {})", names()))
}

/// The options of verbs that read.
#[derive(Args, Debug)]
pub(crate) struct Reader {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Help of verbs whose `-h` is that of programs of the same name.
#[derive(Args, Debug)]
pub(crate) struct LongHelp {
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// The options of verbs that write.
#[derive(Args, Debug)]
pub(crate) struct Writer {
    /// Say what would be done; change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
