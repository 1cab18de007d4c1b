//! The speed of the codes, beside a copy of the same bytes.
//!
//! `cargo bench -p pumice-ecc --bench speed` prints bytes of pages a second and the share of memcpy's speed, for one
//! core and data that fits into its second-level cache. The figure is the best of many turns, which take all codes one
//! after the other.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "figures are what it is for"
)]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use pumice_ecc::{Bch, Hamming, Order, Parity, Repair, Signature, Step, Strength, Width, crc32c};

/// Bytes of pages that are worked on; with a copy they fit into a cache of a mebibyte.
const BLOCK: usize = 256 * 1024;
const TURNS: usize = 300;

type Kernel<'a> = (&'static str, Box<dyn FnMut() + 'a>);

fn encode<'a>(data: &'a [u8], page: usize, k: usize) -> Box<dyn FnMut() + 'a> {
    let mut parity = Parity::new(k, page).unwrap();
    Box::new(move || data.chunks_exact(page).for_each(|page| black_box(&mut parity).push(page).unwrap()))
}

fn decode<'a>(data: &'a [u8], page: usize, k: usize, lost: usize) -> Box<dyn FnMut() + 'a> {
    Box::new(move || {
        let mut repair = Repair::of_few(k, lost, page).unwrap();
        for (index, page) in data.chunks_exact(page).enumerate() {
            if index < lost { repair.push_lost() } else { repair.push(page).unwrap() }
        }
        black_box(repair.finish().unwrap());
    })
}

fn sign<'a>(data: &'a [u8], page: usize, width: Width) -> Box<dyn FnMut() + 'a> {
    Box::new(move || {
        data.chunks_exact(page).for_each(|page| {
            black_box(Signature::of(page, width).unwrap());
        });
    })
}

fn kernels<'a>(data: &'a [u8], copy: &'a mut [u8], page: usize) -> Vec<Kernel<'a>> {
    let hamming = Hamming { step: Step::Bytes512, order: Order::Linux };
    let bch = Bch::new(Strength::Eight);
    vec![
        ("memcpy", Box::new(|| black_box(&mut *copy).copy_from_slice(data))),
        ("signature, 32 bits", sign(data, page, Width::Bits32)),
        ("signature, 48 bits", sign(data, page, Width::Bits48)),
        ("signature, 64 bits", sign(data, page, Width::Bits64)),
        ("encode, k = 1", encode(data, page, 1)),
        ("encode, k = 2", encode(data, page, 2)),
        ("encode, k = 4", encode(data, page, 4)),
        ("decode, one page, k = 1", decode(data, page, 1, 1)),
        ("decode, two pages, k = 2", decode(data, page, 2, 2)),
        (
            "CRC-32C",
            Box::new(move || {
                black_box(crc32c(0, data));
            }),
        ),
        (
            "Hamming, 512",
            Box::new(move || {
                data.chunks_exact(512).for_each(|step| {
                    black_box(hamming.code(step).unwrap());
                });
            }),
        ),
        (
            "BCH, t = 8, encode",
            Box::new(move || {
                let mut code = [0; 13];
                data.chunks_exact(512).for_each(|step| bch.encode(step, black_box(&mut code)).unwrap());
            }),
        ),
    ]
}

fn main() {
    let mut rng = fastrand::Rng::with_seed(1);
    let data: Vec<u8> = (0..BLOCK).map(|_| rng.u8(..)).collect();
    for page in [2048, 4096, 16384] {
        let mut copy = vec![0; BLOCK];
        let mut kernels = kernels(&data, &mut copy, page);
        let mut best = vec![Duration::MAX; kernels.len()];
        for _ in 0..TURNS {
            for ((_, run), best) in kernels.iter_mut().zip(&mut best) {
                let start = Instant::now();
                run();
                *best = start.elapsed().min(*best);
            }
        }
        println!("| pages of {page} bytes | GB/s | of memcpy |\n|---|---|---|");
        for ((name, _), time) in kernels.iter().zip(&best) {
            let share = best[0].as_secs_f64() / time.as_secs_f64();
            println!("| {name} | {:.2} | {share:.2} |", BLOCK as f64 / time.as_secs_f64() / 1e9);
        }
    }
}
