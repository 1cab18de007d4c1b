//! The colour and the mark of each curve, the same in all pictures.

use plotters::style::RGBColor;

/// Colours that the colour-blind can tell apart (Okabe and Ito 2008), then darker ones.
const COLOURS: [RGBColor; 12] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
    RGBColor(130, 130, 130),
    RGBColor(120, 60, 0),
    RGBColor(110, 0, 110),
    RGBColor(0, 90, 0),
    RGBColor(170, 170, 0),
];

/// Marks that are told apart: of points, and of bars.
pub(super) const MARKS: usize = 4;

/// The curves of the laboratory's experiments: name, number of the colour, number of the mark.
const KNOWN: &[(&str, usize, usize)] = &[
    ("greedy", 0, 0),
    ("cost-benefit", 1, 0),
    ("CAT", 2, 0),
    ("default", 3, 0),
    ("oracle", 4, 0),
    ("best of ten", 5, 0),
    ("greedy M1", 0, 0),
    ("greedy M4", 0, 1),
    ("greedy M6", 0, 2),
    ("cost-benefit M1", 1, 0),
    ("cost-benefit M4", 1, 1),
    ("cost-benefit M6", 1, 2),
    ("CAT M1", 2, 0),
    ("CAT M4", 2, 1),
    ("CAT M6", 2, 2),
    ("by invalidation M1", 8, 0),
    ("by invalidation M4", 8, 1),
    ("by invalidation M6", 8, 2),
    ("greedy, actual", 0, 0),
    ("greedy, simulated", 0, 1),
    ("cost-benefit, actual", 1, 0),
    ("cost-benefit, simulated", 1, 1),
    ("CAT, actual", 2, 0),
    ("CAT, simulated", 2, 1),
    ("default, actual", 3, 0),
    ("default, simulated", 3, 1),
    ("scaleffs", 0, 0),
    ("cffs", 0, 0),
    ("cffs, 64 MB", 10, 0),
    ("cffs, 22 MB", 10, 1),
    ("rcffs", 0, 0),
    ("rcffs, plain", 0, 1),
    ("cffs, no weight", 7, 0),
    ("K pages, M blocks dead", 0, 2),
    ("a block more", 2, 0),
    ("nandfs", 5, 0),
    ("nandfs, 64 MB", 5, 0),
    ("nandfs, 22 MB", 5, 1),
    ("nandfs, parity", 5, 1),
    ("nandfs, LZ4", 5, 2),
    ("nandfs, parity and LZ4", 5, 3),
    ("JFFS2", 3, 0),
    ("YAFFS", 2, 0),
    ("FTL", 4, 0),
    ("NFTL", 1, 0),
    ("equation (1), YAFFS", 2, 0),
    ("equation (2), CFFS", 7, 0),
    ("ext2 over FTL", 4, 0),
    ("ext2 over NFTL", 1, 0),
    ("ext2 over ftl of 64 MB", 4, 1),
    ("ext2 over ftl of 22 MB", 4, 2),
    ("ext2 over nftl of 64 MB", 1, 1),
    ("ext2 over nftl of 22 MB", 1, 2),
    ("vfat over ftl of 64 MB", 9, 1),
    ("vfat over ftl of 22 MB", 9, 2),
    ("vfat over nftl of 64 MB", 8, 1),
    ("vfat over nftl of 22 MB", 8, 2),
    ("F2FS, Pumice", 0, 0),
    ("F2FS, Pumice, in place", 0, 1),
    ("ext4", 1, 0),
    ("btrfs", 3, 0),
    ("nilfs2", 4, 0),
    ("f2fs", 5, 0),
    ("f2fs, aged", 5, 1),
    ("download", 0, 0),
    ("play", 1, 0),
    ("search", 2, 0),
];

/// The colour of a curve, and the number of its mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) colour: RGBColor,
    pub(super) mark: usize,
}

/// The styles of all curves of an experiment.
#[derive(Clone, Debug, Default)]
pub(super) struct Styles(Vec<(String, (usize, usize))>);

impl Styles {
    /// Styles for curves in their order. One that the laboratory does not know has the first that no other of them has.
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Styles {
        let known = |base: &str| {
            KNOWN.iter().find(|(name, ..)| *name == base).map(|(_, colour, mark)| (*colour, *mark))
        };
        let mut styles: Vec<(String, (usize, usize))> = Vec::new();
        let mut others = Vec::new();
        for base in names.map(base) {
            match known(base) {
                Some(style) => styles.push((base.to_owned(), style)),
                None if !others.contains(&base) => others.push(base),
                None => {}
            }
        }
        for base in others {
            let all = (0..MARKS).flat_map(|mark| (0..COLOURS.len()).map(move |colour| (colour, mark)));
            let free = |style: &(usize, usize)| styles.iter().all(|(_, taken)| taken != style);
            // More curves than styles: the last one again.
            let style = all.clone().find(free).or(all.last()).unwrap_or_default();
            styles.push((base.to_owned(), style));
        }
        Styles(styles)
    }

    /// The style of a curve; a published or kept one has that of the measured one with which it is compared.
    pub(super) fn of(&self, name: &str) -> Style {
        let base = base(name);
        let style = self.0.iter().find(|(known, _)| known == base).map(|(_, style)| *style);
        debug_assert!(style.is_some(), "{name}: a curve of another picture");
        let (colour, mark) = style.unwrap_or_default();
        Style { colour: COLOURS.get(colour).copied().unwrap_or(RGBColor(0, 0, 0)), mark }
    }
}

/// The name of what is compared: `greedy` of `paper: greedy`, `ext4` of `ext4 (Linux 6.1), kept 2026-11-23`.
fn base(name: &str) -> &str {
    let name = name.split_once(": ").map_or(name, |(_, measured)| measured);
    let name = name.split_once(", kept ").map_or(name, |(name, _)| name);
    name.split_once(" (Linux").map_or(name, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Experiment, Look, Options, Point, Points};

    #[test]
    fn a_curve_has_one_style() {
        let one =
            Styles::new(["greedy", "mine", "paper: greedy", "ext4 (Linux 6.1), kept 2026-11-23"].into_iter());
        let other = Styles::new(["ext4", "CAT", "greedy"].into_iter());
        assert_eq!(one.of("greedy"), other.of("greedy"));
        assert_eq!(one.of("paper: greedy"), one.of("greedy"));
        assert_eq!(one.of("ext4 (Linux 6.1), kept 2026-11-23"), other.of("ext4"));
        assert_eq!(one.of("mine"), one.of("paper: mine"));
    }

    #[test]
    fn curves_of_a_picture_differ() {
        let names: Vec<String> = (0..48).map(|at| format!("curve {at}")).collect();
        let all = Styles::new(names.iter().map(String::as_str));
        let mut seen: Vec<Style> = names.iter().map(|name| all.of(name)).collect();
        seen.dedup();
        seen.sort_by_key(|style| (style.mark, (style.colour.0, style.colour.1, style.colour.2)));
        seen.dedup();
        assert_eq!(seen.len(), names.len());
        let mixed = Styles::new(["mine", "greedy"].into_iter());
        assert_ne!(mixed.of("mine"), mixed.of("greedy"));
    }

    /// No two curves of one of the laboratory's pictures look alike.
    #[test]
    fn curves_of_the_papers_pictures_differ() {
        fn names<T>(points: Vec<Point<T>>) -> Vec<String> {
            points.into_iter().map(|point| point.series).collect()
        }
        let options = Options::default();
        for experiment in Experiment::ALL.iter().filter(|experiment| experiment.look != Look::Table) {
            let mut all = match experiment.points {
                Points::Simulated(points) => names(points(&options).unwrap()),
                Points::Described(points) => names(points.to_vec()),
                Points::OnChip(points) => names(points()),
                Points::OnDisk(points) => names(points()),
                Points::OnServer(points) => names(points()),
                Points::OnStack(points) => names(points(&options).unwrap()),
            };
            all.extend((experiment.known)().iter().map(|known| known.series.to_owned()));
            let styles = Styles::new(all.iter().map(String::as_str));
            for (at, one) in all.iter().enumerate() {
                for other in all.iter().skip(at).filter(|other| base(other) != base(one)) {
                    assert_ne!(styles.of(one), styles.of(other), "{}: {one}, {other}", experiment.name);
                }
            }
        }
    }
}
