//! Which block is cleaned next, and where data goes: pure decisions, no I/O.
#![cfg_attr(not(feature = "std"), no_std)]
