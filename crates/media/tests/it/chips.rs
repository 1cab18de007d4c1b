//! The known chips and the custom ones.

use pumice_media::{ChipSpec, Nand, PageId, Pairing, SimChip, SpecError, chips};

#[test]
fn every_known_chip_works_and_is_found_by_its_name() {
    for spec in chips() {
        assert_eq!(ChipSpec::named(spec.name()).unwrap(), spec);
        let g = spec.geometry();
        let mut chip = SimChip::new(&spec);
        let last = PageId(u32::try_from(g.pages() - 1).unwrap());
        let (data, spare) = (vec![1; g.page_bytes as usize], vec![2; g.free_spare_bytes as usize]);
        chip.program(last, &data, &spare).unwrap();
        assert!(spec.timing().erase_ns > 0 && spec.endurance_erases() >= 1000, "{}", spec.name());
        assert!(spec.timing().read_spare_ns <= spec.timing().read_page_ns);
        assert_eq!(g.free_spare_bytes, spec.free_ranges().iter().map(|r| r.bytes).sum::<u32>());
        let free = |at: u32| spec.free_ranges().iter().any(|r| (r.offset..r.offset + r.bytes).contains(&at));
        assert!(!free(spec.bad_mark_offset()), "{}: the mark is not free", spec.name());
    }
}

#[test]
fn the_papers_chips_have_the_papers_sizes() {
    let shape = |name| {
        let g = ChipSpec::named(name).unwrap().geometry();
        (g.capacity_bytes() >> 20, g.block_bytes() >> 10, g.page_bytes)
    };
    assert_eq!(shape("scaleffs-256m"), (256, 16, 512));
    assert_eq!(shape("k9s1208"), (64, 16, 512));
    assert_eq!(shape("rcffs-128m"), (128, 128, 2048));
    assert_eq!(shape("intel-s2plus-24m"), (24, 128, 4096));
}

#[test]
fn spare_areas_have_room_for_a_tag_except_on_spi_and_small_pages() {
    for spec in chips() {
        let g = spec.geometry();
        let want = match (spec.name(), g.page_bytes) {
            ("spinand-1g", _) => 4,
            (_, 512) => 8,
            (_, 8192..) => 64,
            _ => 32,
        };
        assert!(g.free_spare_bytes >= want, "{}", spec.name());
    }
}

#[test]
fn chips_with_several_bits_a_cell_pair_their_pages() {
    let spec = ChipSpec::parse_geometry("2048+64:64:8").unwrap();
    assert_eq!(spec.pairing(), Pairing::Unpaired);
    for pairing in [Pairing::Dist3, Pairing::WordLine { pages: 4 }] {
        let spec = spec.clone().with_pairing(pairing).unwrap();
        assert_eq!((spec.pairing(), SimChip::new(&spec).pairing()), (pairing, pairing));
    }
    assert!(spec.with_pairing(Pairing::WordLine { pages: 3 }).is_err());
}

#[test]
fn a_chip_can_have_any_size() {
    let spec = ChipSpec::named("slc-2k-2g").unwrap();
    let blocks = |bytes| spec.clone().with_size(bytes).map(|s| s.geometry().blocks);
    assert_eq!(blocks(0), Ok(1));
    assert_eq!(blocks(131_072), Ok(1));
    assert_eq!(blocks(131_073), Ok(2));
    assert_eq!(blocks(1 << 40), Ok(1 << 23));
    assert!(matches!(blocks(1 << 43), Err(SpecError::Figures(_))), "page numbers have 32 bits");
    assert!(matches!(blocks(u64::MAX), Err(SpecError::Figures(_))));
}

#[test]
fn geometries_are_parsed() {
    let spec = ChipSpec::parse_geometry("2048+64:64:1024").unwrap();
    let linux = ChipSpec::named("slc-2k-2g").unwrap();
    assert_eq!((spec.free_ranges(), spec.timing()), (linux.free_ranges(), linux.timing()));
    assert_eq!(spec.geometry().capacity_bytes(), 128 << 20);
    let small = ChipSpec::parse_geometry("512+16:32:64").unwrap();
    assert_eq!((small.geometry().free_spare_bytes, small.bad_mark_offset()), (8, 5));
    for text in ["", "2048", "2048:64:1", "2048+64:64", "2048+64:64:1:1", "a+b:c:d", "2048+64:-1:1", "+:: "] {
        let error = ChipSpec::parse_geometry(text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("bad geometry `{text}`")), "{error}");
    }
    for text in
        ["0+64:64:1", "2048+64:0:1", "2048+64:64:0", "2048+8:64:1", "8192+64:64:1", "2048+64:65536:65536"]
    {
        assert!(matches!(ChipSpec::parse_geometry(text), Err(SpecError::Figures(_))), "{text}");
    }
    for text in ["4294967295+4294967295:4294967295:4294967295", "512+16:4294967295:1", "4294967295+16:1:1"] {
        assert!(ChipSpec::parse_geometry(text).is_err(), "{text}");
    }
}

#[test]
fn an_unknown_name_is_told_the_known_ones() {
    let error = ChipSpec::named("x").unwrap_err().to_string();
    assert!(error.starts_with("unknown chip `x` (known: scaleffs-256m, k9s1208, "), "{error}");
}
