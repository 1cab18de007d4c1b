//! Signatures and parity together: any lost pages come back, and linear codes stay linear.

use fastrand::Rng;
use pumice_ecc::{CodeError, MOST_PARITY, Parity, Repair, Signature, Width};

const WIDTHS: [Width; 3] = [Width::Bits32, Width::Bits48, Width::Bits64];

fn block(rng: &mut Rng, pages: usize, bytes: usize) -> Vec<Vec<u8>> {
    (0..pages).map(|_| (0..bytes).map(|_| rng.u8(..)).collect()).collect()
}

/// The pages of a block with its parity pages behind them.
fn protected(mut pages: Vec<Vec<u8>>, k: usize) -> Vec<Vec<u8>> {
    let mut parity = Parity::new(k, pages[0].len()).unwrap();
    for page in &pages {
        parity.push(page).unwrap();
    }
    pages.extend(parity.pages().map(<[u8]>::to_vec));
    pages
}

fn repaired(
    word: &[Vec<u8>],
    lost: &[usize],
    mut repair: Repair,
) -> Result<Vec<(usize, Vec<u8>)>, CodeError> {
    for (index, page) in word.iter().enumerate() {
        match lost.contains(&index) {
            true => repair.push_lost(),
            false => repair.push(page).unwrap(),
        }
    }
    repair.finish()
}

/// Every pair, and every triple, of pages of a small block; all numbers of parity pages on larger ones by lot.
#[test]
fn any_lost_pages_come_back() {
    let mut rng = Rng::with_seed(1);
    for k in 1..=MOST_PARITY {
        for pages in [1, 2, 9, 62] {
            let bytes = 2 * rng.usize(1..80);
            let word = protected(block(&mut rng, pages, bytes), k);
            for round in 0..60 {
                let mut places: Vec<usize> = (0..word.len()).collect();
                rng.shuffle(&mut places);
                let mut lost = places[..(round % (k + 1)).min(word.len())].to_vec();
                lost.sort_unstable();
                let found = repaired(&word, &lost, Repair::of_few(k, lost.len(), bytes).unwrap()).unwrap();
                let expected: Vec<_> = lost.iter().map(|index| (*index, word[*index].clone())).collect();
                assert_eq!(found, expected, "k = {k}, {pages} pages, lost {lost:?}");
            }
        }
    }
    let word = protected(block(&mut rng, 9, 34), 3);
    for (a, b, c) in (0..12).flat_map(|a| (0..a).flat_map(move |b| (0..b).map(move |c| (c, b, a)))) {
        let found = repaired(&word, &[a, b, c], Repair::new(3, 34).unwrap()).unwrap();
        assert!(found.iter().all(|(index, page)| *page == word[*index]), "{a}, {b}, {c}");
        assert_eq!(
            repaired(&word, &[a, b, c], Repair::of_few(3, 2, 34).unwrap()),
            Err(CodeError::Uncorrectable)
        );
    }
}

/// A block may end after any page: there is parity of the pages so far, and the code is ready for the next block.
#[test]
fn parity_goes_on_from_page_to_page() {
    let mut rng = Rng::with_seed(2);
    for k in [1, 2, 3, 5] {
        let pages = block(&mut rng, 20, 96);
        let mut parity = Parity::new(k, 96).unwrap();
        for count in 1..=pages.len() {
            parity.push(&pages[count - 1]).unwrap();
            let whole = protected(pages[..count].to_vec(), k);
            assert!(parity.pages().eq(whole[count..].iter().map(Vec::as_slice)));
        }
        parity.clear();
        parity.push(&pages[3]).unwrap();
        assert!(parity.pages().eq(protected(vec![pages[3].clone()], k)[1..].iter().map(Vec::as_slice)));
    }
}

#[test]
fn signatures_of_parity_are_parities_of_signatures() {
    let mut rng = Rng::with_seed(3);
    for (width, k) in WIDTHS.into_iter().flat_map(|width| (1..=MOST_PARITY).map(move |k| (width, k))) {
        let bytes = [512, 2048, 2112, 4096][k % 4];
        let pages = block(&mut rng, 30, bytes);
        let mut signatures = Parity::new(k, width.bytes()).unwrap();
        for page in &pages {
            signatures.push(Signature::of(page, width).unwrap().bytes()).unwrap();
        }
        let word = protected(pages, k);
        let of_parity: Vec<_> = word[30..].iter().map(|page| Signature::of(page, width).unwrap()).collect();
        assert!(of_parity.iter().map(Signature::bytes).eq(signatures.pages()), "{width:?}, k = {k}");
    }
}

/// As many changed symbols as a signature has components are told for certain; here in places that are near, far, and
/// in one column.
#[test]
fn few_changed_symbols_are_told() {
    let mut rng = Rng::with_seed(4);
    for (width, components) in WIDTHS.into_iter().zip(2..) {
        for bytes in [64, 2048, 16384] {
            let page = block(&mut rng, 1, bytes).remove(0);
            let sound = Signature::of(&page, width).unwrap();
            for round in 0..300 {
                let mut changed = page.clone();
                let first = rng.usize(0..bytes / 2);
                for n in 0..components {
                    let place = [rng.usize(0..bytes / 2), first + n, first + 64 * n][round % 3] % (bytes / 2);
                    changed[2 * place] ^= rng.u8(1..);
                    changed[2 * place + 1] ^= rng.u8(..);
                }
                assert_eq!(Signature::of(&changed, width).unwrap() == sound, changed == page);
            }
        }
    }
}

#[test]
fn what_codes_do_not_take_is_refused() {
    assert_eq!(Parity::new(0, 512).err(), Some(CodeError::ParityPages(0)));
    assert_eq!(Parity::new(9, 512).err(), Some(CodeError::ParityPages(9)));
    assert_eq!(Repair::new(1, 511).err(), Some(CodeError::PageSize(511)));
    assert_eq!(Signature::of(&[], Width::Bits32).err(), Some(CodeError::PageSize(0)));
    assert_eq!(Signature::of(&vec![0; 65538], Width::Bits32).err(), Some(CodeError::PageSize(65538)));
    let wrong_length = Some(CodeError::Length { found: 510, expected: 512 });
    assert_eq!(Parity::new(2, 512).unwrap().push(&[0; 510]).err(), wrong_length);
    assert_eq!(Repair::new(2, 512).unwrap().push(&[0; 510]).err(), wrong_length);
    assert_eq!(repaired(&[], &[], Repair::new(2, 512).unwrap()), Ok(vec![]));
}
