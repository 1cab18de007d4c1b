//! A chip to run experiments on, in place of their own.

use core::fmt;

use pumice_media::ChipSpec;
use serde::{Deserialize, Serialize};

use crate::LabError;

/// The chip and the size that were asked for; what is not named is the experiment's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Medium {
    /// A chip's name, or a shape as `ChipSpec::parse_geometry` takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chip: Option<String>,
    /// Bytes of the chip, or of the simulator's store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
}

impl Medium {
    /// True if the experiment's own is meant.
    pub fn is_own(&self) -> bool {
        *self == Medium::default()
    }

    /// The chip, where an experiment has this one, and so many bytes of it.
    pub(crate) fn spec(&self, own: &str, bytes: Option<u64>) -> Result<ChipSpec, LabError> {
        let name = self.chip.as_deref().unwrap_or(own);
        let spec = match name.contains(':') {
            true => ChipSpec::parse_geometry(name),
            false => ChipSpec::named(name),
        };
        let spec = match self.size_bytes.or(bytes) {
            Some(bytes) => spec.and_then(|spec| spec.with_size(bytes)),
            None => spec,
        };
        spec.map_err(|error| LabError::Setup(error.to_string()))
    }

    /// Its name in a record, where an experiment has this one.
    pub(crate) fn name(&self, own: &str, bytes: Option<u64>) -> String {
        let name = self.chip.as_deref().unwrap_or(own);
        match self.size_bytes.or(bytes) {
            Some(bytes) if bytes.is_multiple_of(1 << 20) => format!("{name} of {} MiB", bytes >> 20),
            Some(bytes) => format!("{name} of {bytes} bytes"),
            None => name.to_owned(),
        }
    }

    /// The name of a curve on it.
    pub(crate) fn series(&self, series: String) -> String {
        if self.is_own() { series } else { format!("{series}{self}") }
    }

    /// The name that a curve has on the experiment's own.
    pub(crate) fn own_series<'a>(&self, series: &'a str) -> &'a str {
        series.strip_suffix(&self.to_string()).unwrap_or(series)
    }
}

/// The end of a curve's name.
impl fmt::Display for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.chip, self.size_bytes) {
            (None, None) => Ok(()),
            (Some(chip), None) => write!(f, ", on {chip}"),
            (None, Some(bytes)) => write!(f, ", on {bytes} bytes"),
            (Some(chip), Some(bytes)) => write!(f, ", on {chip} of {bytes} bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_is_the_experiments_own() {
        let own = Medium::default();
        assert_eq!(own.series("nandfs".to_owned()), "nandfs");
        assert_eq!(
            (own.name("k9s1208", None), own.name("k9s1208", Some(64 << 20))),
            ("k9s1208".into(), "k9s1208 of 64 MiB".into())
        );
        let other = Medium { chip: Some("slc-2k-2g".to_owned()), size_bytes: Some(64 << 20) };
        let series = other.series("nandfs".to_owned());
        assert_eq!(series, "nandfs, on slc-2k-2g of 67108864 bytes");
        assert_eq!(other.own_series(&series), "nandfs");
        assert_eq!(other.spec("k9s1208", None).unwrap().geometry().blocks, 512);
        let wrong = Medium { chip: Some("slc-9k".to_owned()), size_bytes: None };
        assert!(wrong.spec("k9s1208", None).unwrap_err().to_string().contains("slc-9k"));
    }
}
