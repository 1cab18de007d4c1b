//! `pumice tune`: changes what a super block of F2FS says.

use pumice_f2fs::{
    layout::Features,
    repair::{Tuning, tune},
};

use crate::{
    context::now,
    f2fs::args,
    failure::{Failure, Outcome},
    image::{f2fs_block_bytes, f2fs_disk},
    options::Writer,
    output::Output,
    progress::Progress,
    recognise::admit,
    verbs::F2fsImage,
};

/// Change label, UUID, lists of extensions and features of F2FS
///
/// Features that can be switched on: encrypt, verity, casefold, compression (of volumes with extra_attr), sb_checksum; none can be
/// switched off. The UUID stays where keys of encrypted files derive from it.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: F2fsImage,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    writer: Writer,
}

/// The changes, one at least.
#[derive(clap::Args, Debug)]
#[group(required = true, multiple = true)]
struct Changes {
    /// Label
    #[arg(short, long)]
    label: Option<String>,
    /// UUID, or `random`
    #[arg(short = 'U', long, value_parser = uuid)]
    uuid: Option<uuid::Uuid>,
    /// Extensions of files that are written once, to be listed; `!EXT` is listed no more
    #[arg(short = 'e', long, value_name = "LIST", value_delimiter = ',')]
    cold_extensions: Vec<String>,
    /// Extensions of files that are overwritten often
    #[arg(short = 'E', long, value_name = "LIST", value_delimiter = ',')]
    hot_extensions: Vec<String>,
    /// Features to switch on
    #[arg(short = 'O', long, value_name = "LIST", value_delimiter = ',', value_parser = args::feature)]
    features: Vec<Features>,
}

fn uuid(text: &str) -> Result<uuid::Uuid, String> {
    if text == "random" {
        return Ok(uuid::Uuid::new_v4());
    }
    text.parse().map_err(|error| format!("{error} (want a UUID, or `random`)"))
}

impl Changes {
    fn tuning(&self) -> Tuning {
        Tuning {
            label: self.label.clone(),
            uuid: self.uuid.map(uuid::Uuid::into_bytes),
            cold: self.cold_extensions.clone(),
            hot: self.hot_extensions.clone(),
            features: self.features.iter().copied().fold(Features::default(), Features::with),
        }
    }

    /// A line for each.
    fn lines(&self) -> Vec<String> {
        let features: Vec<String> = self.features.iter().map(ToString::to_string).collect();
        let list = |name: &str, items: &[String]| {
            (!items.is_empty()).then(|| format!("{name}: {}", items.join(",")))
        };
        let told = [
            self.label.as_ref().map(|label| format!("label: {label}")),
            self.uuid.map(|uuid| format!("uuid: {uuid}")),
            list("cold_extensions", &self.cold_extensions),
            list("hot_extensions", &self.hot_extensions),
            list("features", &features),
        ];
        told.into_iter().flatten().collect()
    }
}

impl Args {
    pub(crate) fn run(&self) -> Outcome {
        let path = &self.image.image;
        admit(path)?;
        let disk = f2fs_disk(path, f2fs_block_bytes(path)?, self.writer.dry_run)?;
        let failed = |error| Failure::new(format!("{}: {error}", path.display()));
        let progress = Progress::counted("check");
        let shown = &mut |done, total| progress.set(done, total);
        let tuned =
            tune(Box::new(disk), &self.changes.tuning(), now(), args::threads(), shown).map_err(failed)?;
        drop(progress);
        if !self.writer.dry_run {
            tuned.commit().map_err(failed)?;
        }
        let done = if self.writer.dry_run { "would set " } else { "" };
        let mut output = Output::new();
        for line in self.changes.lines() {
            output.line(format!("{done}{line}"))?;
        }
        output.finish()
    }
}
