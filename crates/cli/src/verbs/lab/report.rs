//! `pumice lab report`: writes all results to one page.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pumice_lab::report::{Report, report};

use super::description::{Description, with};
use crate::{
    failure::{Failure, Outcome},
    output,
    staged::write,
};

/// Make one HTML file of all records in a directory, with pictures and tables; it opens without network
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Directory of records
    #[arg(value_name = "DIR", default_value = "lab")]
    dir: PathBuf,
    /// File to make [default: report.html in DIR]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Directory for each picture as an SVG file
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,
}

impl Args {
    pub(crate) fn run(&self) -> Outcome {
        let described = Description::beside(std::slice::from_ref(&self.dir), Path::new(""))?;
        let Report { page, pictures } = report(&with(&described), &self.dir)?;
        let path = self.out.clone().unwrap_or_else(|| self.dir.join("report.html"));
        write(&path, &page)?;
        let mut made = vec![path.display().to_string()];
        if let Some(dir) = &self.pictures {
            fs::create_dir_all(dir).map_err(|error| Failure::host(dir, &error))?;
            for picture in pictures {
                let path = dir.join(format!("{}.svg", picture.name));
                write(&path, &picture.svg)?;
                made.push(crate::text::path(path));
            }
        }
        output::lines(made)
    }
}
