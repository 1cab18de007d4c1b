//! `pumice lab report`: what came out, as one page.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pumice_lab::report::report;

use crate::{
    failure::{Failure, Outcome},
    output,
};

/// Make one HTML file of all records of a directory, with pictures and tables; it opens without network
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The directory with records
    #[arg(value_name = "DIR", default_value = "lab")]
    dir: PathBuf,
    /// The file to make [default: report.html in the directory]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Args {
    pub(crate) fn run(&self) -> Outcome {
        let page = report(&self.dir)?;
        let path = self.out.clone().unwrap_or_else(|| self.dir.join("report.html"));
        write(&path, &page)?;
        output::lines([path.display().to_string()])
    }
}

fn write(path: &Path, page: &str) -> Outcome {
    fs::write(path, page).map_err(|error| Failure::host(path, &error))
}
