//! Bytes into every parser of the raw-NAND file system.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pumice_nandfs::fuzzing::parsers(bytes));
