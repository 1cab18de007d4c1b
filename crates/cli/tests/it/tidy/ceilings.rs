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

/// How comments are written, by crate: in a thousand doc comments, those that begin with a relative or a preposition; in
/// a thousand of their clauses, those with what, who or whose; sentences of more than 35 words. In the end 20, 40 and 0.
pub(crate) const WORDS: &[(&str, usize, usize, usize)] = &[
    ("cffs", 82, 103, 1),
    ("cleaning", 160, 89, 25),
    ("cli", 163, 156, 8),
    ("ecc", 120, 66, 2),
    ("f2fs", 177, 135, 14),
    ("flashlog", 137, 109, 7),
    ("ftl", 176, 162, 11),
    ("fuse", 125, 57, 2),
    ("lab", 166, 125, 9),
    ("media", 145, 133, 15),
    ("nandfs", 144, 162, 24),
    ("rcffs", 121, 128, 3),
    ("scaleffs", 125, 117, 4),
    ("vfs", 148, 99, 5),
    ("xtask", 222, 217, 4),
];

/// Sentences of more than 35 words in documents. In the end none.
pub(crate) const LONG: &[(&str, usize)] = &[
    ("ARCHITECTURE.md", 3),
    ("CHANGELOG.md", 5),
    ("CONTRIBUTING.md", 3),
    ("README.md", 8),
    ("board.md", 2),
    ("card.md", 4),
    ("cffs.md", 5),
    ("chip-container.md", 4),
    ("cleaning.md", 33),
    ("f2fs-format.md", 41),
    ("figures.md", 3),
    ("flashlog-design.md", 25),
    ("flashlog-spec.md", 13),
    ("ftl-spec.md", 24),
    ("nandfs-design.md", 45),
    ("nandfs-spec.md", 27),
    ("papers.md", 5),
    ("rcffs.md", 5),
    ("scaleffs.md", 5),
];
