//! The faults that the house still has to mend, with today's figures. A figure above its ceiling fails, and so does one
//! below: it is written down here at once. These lists only grow shorter.

/// Files, and rooms, that import each other, by crate.
pub(crate) const CIRCLES: &[(&str, &[&str])] = &[("cleaning", &["placement", "select", "victim"])];

/// Files of the largest circle of each crate. A call of a method counts as an import if its type has an `impl` in
/// several files.
pub(crate) const CALLING: &[(&str, usize)] = &[
    ("cffs", 2),
    ("cleaning", 3),
    ("f2fs", 3),
    ("flashlog", 4),
    ("ftl", 3),
    ("media", 3),
    ("nandfs", 3),
    ("rcffs", 3),
    ("scaleffs", 3),
];

/// Fields that a struct may have without standing in the list below.
pub(crate) const FIELDS: usize = 12;

/// Structs of more fields, by crate: how many of its files touch them.
pub(crate) const WIDE: &[(&str, &str, usize)] = &[
    ("cffs", "Volume", 5),
    ("cleaning", "Sim", 4),
    ("cli", "Args", 1),
    ("f2fs", "Facts", 8),
    ("f2fs", "Inode", 33),
    ("f2fs", "RawCheckpoint", 8),
    ("f2fs", "RawInode", 1),
    ("f2fs", "RawSuperBlock", 17),
    ("f2fs", "Writer", 6),
    ("flashlog", "Medium", 5),
    ("ftl", "Info", 1),
    ("ftl", "Table", 1),
    ("lab", "Parameters", 2),
    ("lab", "Record", 4),
    ("media", "Faults", 4),
    ("nandfs", "Check", 10),
    ("nandfs", "Checkpoint", 5),
    ("nandfs", "Info", 1),
    ("nandfs", "Inode", 21),
    ("nandfs", "Nodes", 11),
    ("vfs", "Attr", 14),
];

/// The goals of the first two figures below, in a thousand.
pub(crate) const HEADS: usize = 20;
pub(crate) const RELATIVES: usize = 40;

/// The words of comments, by crate. The first figure is the number, in a thousand doc comments, of those that begin
/// with a relative or a preposition. The second is the number, in a thousand of their clauses, of those with what, who
/// or whose. The third is the number of sentences of more than 35 words; its goal is none.
pub(crate) const WORDS: &[(&str, usize, usize, usize)] = &[
    ("cffs", 20, 40, 0),
    ("common", 20, 40, 0),
    ("cleaning", 20, 40, 0),
    ("cli", 20, 40, 0),
    ("ecc", 20, 40, 0),
    ("f2fs", 20, 40, 0),
    ("flashlog", 20, 40, 0),
    ("ftl", 20, 40, 0),
    ("fuse", 20, 40, 0),
    ("lab", 20, 40, 0),
    ("media", 20, 40, 0),
    ("nandfs", 20, 40, 0),
    ("rcffs", 20, 40, 0),
    ("scaleffs", 20, 40, 0),
    ("vfs", 20, 40, 0),
    ("xtask", 20, 40, 0),
];

/// Words of README and of all pages in `docs`, tables and code included.
pub(crate) const DOCUMENTS: usize = 45_000;

/// Sentences of more than 35 words in documents; the goal is none.
pub(crate) const LONG: &[(&str, usize)] = &[];
