//! A volume over the years: bits that decay on the shelf, blocks that are read too often, blocks that wear out, and the
//! use of idle time. `PUMICE_YEARS=10` runs the whole campaigns, on larger chips.

mod bench;
mod decay;
mod idle;
mod reads;
mod scrub;
mod wear;
