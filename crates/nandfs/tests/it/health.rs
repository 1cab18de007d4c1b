//! A volume over the years: bits that decay on the shelf, blocks that are read too often, blocks that wear out, and what
//! idle time is used for. `PUMICE_YEARS=10` runs the whole campaigns, on whole chips.

mod bench;
mod decay;
mod idle;
mod reads;
mod scrub;
mod wear;
