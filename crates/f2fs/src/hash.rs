//! The hash of a name in a directory.
