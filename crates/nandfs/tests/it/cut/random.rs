//! Random steps from a seed, on a few paths, so that they meet.

use pumice_media::CutMode;
use pumice_vfs::{FileKind, RenameMode, SpaceMode};

use super::step::{Step, WRITE_MAX};

/// A generator of numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn small(&mut self, end: u32) -> u32 {
        u32::try_from(self.below(end.into())).unwrap_or(0)
    }

    fn path(&mut self) -> String {
        let dir = ["", "", "/d0", "/d1", "/d0/sub"][self.below(5) as usize];
        format!("{dir}/f{}", self.below(6))
    }

    fn dir(&mut self) -> String {
        ["/d0", "/d1", "/d0/sub", "/d1/sub"][self.below(4) as usize].to_string()
    }

    fn any(&mut self) -> String {
        if self.below(5) == 0 { self.dir() } else { self.path() }
    }

    /// The state in which a power cut leaves the page being programmed: torn most often.
    pub fn cut_mode(&mut self) -> CutMode {
        let seed = self.next();
        match self.below(6) {
            0 => CutMode::Nothing,
            1 => CutMode::Complete,
            2 => CutMode::Garbage { seed },
            3 => CutMode::Half { seed },
            _ => CutMode::Torn { seed },
        }
    }

    /// Files to `size` bytes.
    pub fn step(&mut self, size: u64) -> Step {
        let keep_size = self.below(2) == 0;
        match self.below(100) {
            0..12 => Step::Create(self.path()),
            12..16 => Step::Make(self.dir(), FileKind::Dir),
            16..18 => Step::Make(self.path(), FileKind::Symlink),
            18..48 => Step::Write(self.path(), self.below(size), 1 + self.small(WRITE_MAX / 4)),
            48..52 => Step::Write(self.path(), self.below(size), 1 + self.small(WRITE_MAX)),
            52..56 => Step::Truncate(self.path(), self.below(size)),
            56..60 => {
                let mode =
                    [SpaceMode::Reserve { keep_size }, SpaceMode::PunchHole, SpaceMode::Zero { keep_size }]
                        [self.below(3) as usize];
                Step::Allocate(self.path(), mode, self.below(size), 1 + self.below(size / 4))
            }
            60..62 => Step::Chmod(self.any(), 0o600 + self.small(0o100)),
            62..64 => Step::SetXattr(self.any(), 1, 1 + self.small(4000)),
            64..65 => Step::RemoveXattr(self.any(), 1),
            65..67 => Step::Link(self.path(), self.path()),
            67..71 => Step::Rename(self.any(), self.any(), RenameMode::Replace),
            71..73 => Step::Rename(self.any(), self.any(), RenameMode::Exchange),
            73..78 => Step::Unlink(self.path()),
            78..79 => Step::Rmdir(self.dir()),
            79..80 => Step::Hold(self.path(), 1),
            80..81 => Step::Release(1),
            81..91 => Step::Fsync(self.path()),
            91..94 => Step::Fsync(["/", "/d0", "/d1"][self.below(3) as usize].to_string()),
            94..95 => Step::Fsync(self.any()),
            95..97 => Step::Maintain,
            97..98 => Step::Remount,
            _ => Step::Sync,
        }
    }
}
