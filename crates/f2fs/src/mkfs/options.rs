//! The options of a new volume, and the super block that follows.

use core::ops::RangeInclusive;

use pumice_vfs::Timestamp;
use zerocopy::FromZeros;

use super::{
    FormatError,
    compression::Compression,
    extensions::Extensions,
    geometry::{Geometry, Shape},
};
use crate::{
    layout::{Features, RawSuperBlock, SuperBlock},
    verity::Seal,
};

/// The options of a new volume.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FormatOptions {
    /// The parameters of the geometry.
    pub shape: Shape,
    /// A name for it, of at most 511 units of UTF-16.
    pub label: String,
    /// Its identity.
    pub uuid: [u8; 16],
    /// Extensions of files that are written once, besides the usual ones.
    pub cold_extensions: Vec<String>,
    /// Extensions of files that are overwritten often, besides the usual ones.
    pub hot_extensions: Vec<String>,
    /// Names that are not UTF-8 are refused; needs `casefold`.
    pub strict_encoding: bool,
    /// All directories ignore case, the root among them; needs `casefold`.
    pub ignore_case: bool,
    /// The number of levels that the hash tables of directories begin below the smallest, 0 to 31.
    pub dir_level: u8,
    /// The time of birth and change of inodes.
    pub time: Timestamp,
    /// The seed of numbers that are random otherwise: the version of the first checkpoint, and generations of inodes.
    pub seed: u64,
    /// The choice of files to compress, and the method; needs `compression`.
    pub compression: Option<Compression>,
    /// The seal of the files that ask for one; needs `verity`.
    pub seal: Option<Seal>,
}

/// Features that stand on others, and these.
const NEEDS: [(Features, &str, Features, &str); 5] = [
    (Features::PROJECT_QUOTA, "project_quota", Features::EXTRA_ATTR, "extra_attr"),
    (Features::INODE_CHECKSUM, "inode_checksum", Features::EXTRA_ATTR, "extra_attr"),
    (Features::FLEXIBLE_INLINE_XATTR, "flexible_inline_xattr", Features::EXTRA_ATTR, "extra_attr"),
    (Features::INODE_CRTIME, "inode_crtime", Features::EXTRA_ATTR, "extra_attr"),
    (Features::COMPRESSION, "compression", Features::EXTRA_ATTR, "extra_attr"),
];

/// Bytes that a sector may have.
const SECTORS: RangeInclusive<u32> = 512..=4096;

/// Features of devices that are not here, or that only the kernel switches on.
const REFUSED: [(Features, &str); 3] = [
    (Features::BLKZONED, "blkzoned"),
    (Features::ATOMIC_WRITE, "atomic_write"),
    (Features::DEVICE_ALIAS, "device_alias"),
];

impl FormatOptions {
    /// Refuses impossible options.
    pub(super) fn check(&self) -> Result<(), FormatError> {
        let features = self.shape.features.check()?;
        if let Some((_, name)) = REFUSED.iter().find(|(feature, _)| features.has(*feature)) {
            return Err(FormatError::Feature(name));
        }
        let missing = |(feature, _, needs, _): &&(Features, &str, Features, &str)| {
            features.has(*feature) && !features.has(*needs)
        };
        if let Some((_, feature, _, needs)) = NEEDS.iter().find(missing) {
            return Err(FormatError::Needs { feature, needs });
        }
        let bytes = self.shape.sector_bytes;
        if !bytes.is_power_of_two() || !SECTORS.contains(&bytes) {
            return Err(FormatError::Sector { bytes });
        }
        if features.has(Features::RO.with(Features::QUOTA_INO)) {
            return Err(FormatError::ReadOnlyQuota);
        }
        if self.ignore_case && !features.has(Features::CASEFOLD) {
            return Err(FormatError::Needs { feature: "ignoring case", needs: "casefold" });
        }
        match &self.seal {
            Some(_) if !features.has(Features::VERITY) => {
                return Err(FormatError::Needs { feature: "sealing files", needs: "verity" });
            }
            // Linux has no larger ones than its own blocks, and no smaller ones.
            Some(seal) if !(1024..=self.shape.block.bytes()).contains(&seal.block_bytes()) => {
                return Err(FormatError::Seal { bytes: seal.block_bytes(), most: self.shape.block.bytes() });
            }
            _ => {}
        }
        match &self.compression {
            Some(_) if !features.has(Features::COMPRESSION) => {
                Err(FormatError::Needs { feature: "compressing files", needs: "compression" })
            }
            Some(compression) => compression.check(),
            None => Ok(()),
        }
    }

    /// The super block of a volume with this geometry and these quota files.
    pub(super) fn super_block(
        &self,
        geometry: &Geometry,
        extensions: &Extensions,
        quota: [u32; 3],
    ) -> Result<SuperBlock, FormatError> {
        let features = self.shape.features;
        let mut raw = RawSuperBlock::blank(self.shape.block, features);
        geometry.fill(&self.shape, &mut raw);
        extensions.fill(&mut raw);
        raw.uuid = self.uuid;
        if !raw.set_label(&self.label) {
            return Err(FormatError::Label { units: self.label.encode_utf16().count() });
        }
        let maker = concat!("pumice ", env!("CARGO_PKG_VERSION"));
        for version in [&mut raw.version, &mut raw.init_version] {
            version.zero();
            version.iter_mut().zip(maker.bytes()).for_each(|(to, from)| *to = from);
        }
        raw.qf_ino = quota.map(Into::into);
        if features.has(Features::CASEFOLD) {
            raw.set_encoding(self.strict_encoding);
        }
        raw.seal();
        Ok(SuperBlock::from_raw(raw)?)
    }
}
