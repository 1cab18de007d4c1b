//! Random steps from a seed.
