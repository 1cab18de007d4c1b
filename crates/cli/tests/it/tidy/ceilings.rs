//! What the house still has to put right, with today's figures. A figure above its ceiling fails, and so does one below: it
//! is written down here at once. These lists only grow shorter.

/// Files, and rooms, that import each other, by crate.
pub(crate) const CIRCLES: &[(&str, &[&str])] = &[
    ("cleaning", &["placement", "select", "victim"]),
    ("nandfs", &["check.rs", "check/nodes.rs", "check/paths.rs"]),
];

/// Files of the largest circle of each crate, where a call of a method of one type whose `impl` stands in several files
/// counts as an import.
pub(crate) const CALLING: &[(&str, usize)] = &[
    ("cffs", 2),
    ("cleaning", 3),
    ("f2fs", 3),
    ("flashlog", 4),
    ("ftl", 14),
    ("media", 3),
    ("nandfs", 9),
    ("rcffs", 3),
    ("scaleffs", 3),
];

/// Fields that a struct may have without standing in the list below.
pub(crate) const FIELDS: usize = 12;

/// Structs of more fields, by crate: how many of its files touch them.
pub(crate) const WIDE: &[(&str, &str, usize)] = &[
    ("cffs", "Inode", 7),
    ("cffs", "Volume", 5),
    ("cleaning", "Sim", 4),
    ("cli", "Args", 1),
    ("f2fs", "Facts", 8),
    ("f2fs", "Inode", 34),
    ("f2fs", "RawCheckpoint", 8),
    ("f2fs", "RawInode", 1),
    ("f2fs", "RawSuperBlock", 20),
    ("f2fs", "Writer", 6),
    ("flashlog", "Medium", 5),
    ("ftl", "Info", 1),
    ("ftl", "Server", 19),
    ("ftl", "Table", 1),
    ("lab", "Parameters", 2),
    ("lab", "Record", 4),
    ("media", "Faults", 4),
    ("nandfs", "Check", 10),
    ("nandfs", "Checkpoint", 5),
    ("nandfs", "Info", 1),
    ("nandfs", "Inode", 21),
    ("nandfs", "Nodes", 11),
    ("nandfs", "Volume", 32),
    ("vfs", "Attr", 13),
];
