//! Case folding of names in case-insensitive directories.
