//! `pumice df`: shows used and free space.

use serde_json::json;

use crate::{
    context::Context,
    failure::Outcome,
    image::{Access, with_volume},
    options::{LongHelp, Reader},
    output, text,
    verbs::Image,
};

/// Show how full an image is
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Image,
    /// Sizes with units, as without it: df(1) knows the option
    #[arg(short = 'h', long = "human-readable")]
    _human_readable: bool,
    #[command(flatten)]
    reader: Reader,
    #[command(flatten)]
    help: LongHelp,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let space = with_volume(&self.image.image, Access::Read, context, |fs| Ok(fs.space()?))?;
        let used = space.total_bytes.saturating_sub(space.free_bytes);
        let used_inodes = space.inodes.saturating_sub(space.free_inodes);
        if self.reader.json {
            return output::document(
                "df",
                json!({
                    "block_bytes": space.block_bytes,
                    "total_bytes": space.total_bytes,
                    "used_bytes": used,
                    "free_bytes": space.free_bytes,
                    "inodes": space.inodes,
                    "used_inodes": used_inodes,
                    "free_inodes": space.free_inodes,
                    "name_max_bytes": space.name_max,
                }),
            );
        }
        // Rounded up, so that a volume with anything on it never shows as empty.
        let percent = (u128::from(used) * 100).div_ceil(u128::from(space.total_bytes.max(1)));
        output::lines([
            "      size       used       free  use%     inodes".to_owned(),
            format!(
                "{:>10} {:>10} {:>10} {percent:>4}% {used_inodes:>10}",
                text::size(space.total_bytes),
                text::size(used),
                text::size(space.free_bytes)
            ),
        ])
    }
}
