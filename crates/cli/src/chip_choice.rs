//! The chip to simulate, for commands that make one.

use std::{fs, path::Path};

use pumice_media::ChipSpec;

use crate::{
    failure::{Failure, Outcome},
    software_ecc, text,
};

/// The chip that is proposed where none is named.
const USUAL_CHIP: &str = "slc-2k-2g";

/// The chip to simulate.
#[derive(clap::Args, Debug)]
pub(crate) struct Spec {
    /// Simulate a known chip (see `pumice chips`), or the one that a file describes
    #[arg(long, value_name = "NAME|FILE.json", conflicts_with = "geometry")]
    chip: Option<String>,
    /// Simulate a chip of this shape: data and spare bytes of a page, pages of a block, blocks
    #[arg(long, value_name = "PAGE+OOB:PAGES:BLOCKS")]
    geometry: Option<String>,
    /// Size of the chip, in place of its own
    #[arg(long, value_name = "SIZE", value_parser = Size::parse)]
    pub(crate) size: Option<Size>,
    /// The chip has no ECC of its own: software keeps codes in the spare area as Linux and U-Boot do
    #[arg(long, value_name = "CODE")]
    ecc: Option<software_ecc::Code>,
}

/// The size of something new.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Size {
    /// As small as it can be.
    Auto,
    /// So many bytes.
    Bytes(u64),
}

impl Size {
    fn parse(text: &str) -> Result<Size, String> {
        if text == "auto" { Ok(Size::Auto) } else { crate::size::parse_some(text).map(Size::Bytes) }
    }
}

impl Spec {
    /// The option that says which chip, if one is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            ("--chip", self.chip.is_some()),
            ("--geometry", self.geometry.is_some()),
            ("--ecc", self.ecc.is_some()),
        ];
        given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
    }

    /// The code that was asked for, of the chip or of a dump.
    pub(crate) fn ecc(&self) -> Option<software_ecc::Code> {
        self.ecc
    }

    /// The chip that was asked for, if any was.
    pub(crate) fn wanted(&self) -> Outcome<Option<ChipSpec>> {
        let spec = self.named()?;
        if spec.is_none() && self.ecc.is_some() {
            return Err(Failure::usage(
                "--ecc replaces the ECC of --chip NAME or --geometry, and needs one of them",
            ));
        }
        Ok(spec)
    }

    /// The same, where the code may be that of a chip that is there.
    pub(crate) fn named(&self) -> Outcome<Option<ChipSpec>> {
        let wrong = |error: pumice_media::SpecError| Failure::new(error.to_string());
        let spec = match (&self.chip, &self.geometry) {
            (Some(file), _) if Path::new(file).extension().is_some_and(|ending| ending == "json") => {
                described(Path::new(file))?
            }
            (Some(name), _) => ChipSpec::named(name).map_err(wrong)?,
            (_, Some(geometry)) => ChipSpec::parse_geometry(geometry).map_err(wrong)?,
            _ if self.size.is_some() => {
                return Err(Failure::usage(
                    "--size counts blocks of --chip NAME or --geometry, and needs one of them",
                ));
            }
            _ => return Ok(None),
        };
        let spec = match self.ecc {
            Some(code) => code.on(spec)?,
            None => spec,
        };
        match self.size {
            Some(Size::Bytes(bytes)) => spec.with_size(bytes).map(Some).map_err(wrong),
            Some(Size::Auto) => Err(Failure::usage("--size auto is for F2FS; a chip has a size of its own")),
            None => Ok(Some(spec)),
        }
    }

    /// The chip that was asked for; an error if none was, since `path` has to be made.
    pub(crate) fn needed(&self, path: &Path) -> Outcome<ChipSpec> {
        self.wanted()?.ok_or_else(|| {
            Failure::usage(format!(
                "{}: no such file; to make one say which chip to simulate, such as --chip {USUAL_CHIP} (see `pumice chips`)",
                path.display()
            ))
        })
    }
}

/// The chip that a file describes.
fn described(path: &Path) -> Outcome<ChipSpec> {
    let text = fs::read_to_string(path).map_err(|error| Failure::host(path, &error))?;
    ChipSpec::from_json(&text).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

/// The effect of making a container, in words.
pub(crate) fn would_create(path: &Path, spec: &ChipSpec) -> String {
    let geometry = spec.geometry();
    let (shape, capacity) = (text::shape(&geometry), text::size(geometry.capacity_bytes()));
    format!("would make the chip container {}: {}, {shape}, {capacity}", path.display(), spec.name())
}
