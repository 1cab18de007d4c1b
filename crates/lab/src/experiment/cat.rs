//! The CAT paper's experiments (Chiang and Chang, J. Systems and Software 48, 1999).
//!
//! The HP traces of its figures 14 to 17 are not public; a generated workload stands in for them, as `workload/workstation.rs` says.

use super::{
    Experiment, Known, Look, Metric, Options, Point, Points,
    scheme::{BUILT, COMPARED, DEFAULT, Scheme, cross, named},
};
use crate::{
    LabError, Medium,
    measured::Figure,
    on_server::{self, Cleaner, Order},
    run::{Access, Amount, Room, Setup},
    workload::Pattern,
};

/// Table 4.
pub(super) const TABLE4: Experiment<'static> = Experiment {
    name: "cat-table4",
    about: "CAT paper, table 4: three cleaning policies and three access patterns",
    x: "access",
    look: Look::Bars,
    metrics: &[
        Metric::Erasures,
        Metric::Copied,
        Metric::WearDeviation,
        Metric::Throughput,
        Metric::ThroughputImplied,
    ],
    points: Points::Simulated(table4),
    known: table4_known,
};

/// Table 6.
pub(super) const TABLE6: Experiment<'static> = Experiment {
    name: "cat-table6",
    about: "CAT paper, table 6: the simulator beside the server on a chip, three cleaning policies and three access patterns",
    x: "access",
    look: Look::Bars,
    metrics: &[Metric::Measured(Figure::Cleaned), Metric::Measured(Figure::Copied)],
    points: Points::OnServer(|| {
        let orders = [
            ("sequential", Order::Sequential),
            ("random", Order::Random),
            ("locality:90/10", Order::Locality),
        ];
        let mut points = Vec::new();
        for (name, victim) in SELECTORS.into_iter().chain([("default", DEFAULT.victim)]) {
            let placement = match name {
                "greedy" => "m1",
                "default" => DEFAULT.placement,
                _ => "m6",
            };
            for (who, cleaner) in [("actual", Cleaner::Server), ("simulated", Cleaner::Simulator)] {
                points.extend(orders.map(|(x, order)| {
                    let setup =
                        on_server::Task { cleaner, victim, placement, order, medium: Medium::default() };
                    Point { series: format!("{name}, {who}"), x: x.to_owned(), setup }
                }));
            }
        }
        points
    }),
    known: table6_known,
};

/// Figure 11.
pub(super) const FIG11: Experiment<'static> = Experiment {
    name: "cat-fig11",
    about: "CAT paper, figure 11: where the chip's time goes; on the paper's Pentium cleaning took 72 % of it, writing sequentially",
    x: "access",
    look: Look::Bars,
    metrics: &[Metric::TimeErasing, Metric::TimeErasingImplied, Metric::TimeCopying],
    points: Points::Simulated(table4),
    known: Vec::new,
};

/// The rule of table 7 that is not in the server.
pub(super) const TABLE7: Experiment<'static> = Experiment {
    name: "cat-table7",
    about: "CAT paper, table 7: the PCMCIA driver's rule beside those of its server",
    x: "access",
    look: Look::Bars,
    metrics: &[Metric::Erasures, Metric::Copied, Metric::WearDeviation],
    points: Points::Simulated(|options| {
        let schemes = [
            BUILT[0],
            Scheme::new("PCMCIA", "pcmcia:20", "m1"),
            Scheme::new("PCMCIA, each fifth", "pcmcia:5", "m1"),
            BUILT[2],
            DEFAULT,
        ];
        cross(options, &schemes, &named(&PATTERNS), |scheme, name| {
            scheme.setup(Access::Pattern(name.parse()?))
        })
    }),
    known: Vec::new,
};

/// Several victims at a time (section 2.1): sorting survivors pays only then.
pub(super) const TOGETHER: Experiment<'static> = Experiment {
    name: "cat-together",
    about: "CAT paper, sections 2.1 and 7: segments cleaned at once, their survivors sorted together, at 90/10",
    x: "segments at once",
    look: Look::Lines,
    metrics: &[Metric::Erasures, Metric::Copied],
    points: Points::Simulated(|options| {
        let schemes = [
            Scheme::new("CAT M1", "cat", "m1"),
            Scheme::new("CAT M2", "cat", "m2"),
            Scheme::new("CAT M3", "cat", "m3"),
            Scheme::new("CAT M6", "cat", "m6"),
        ];
        cross(options, &schemes, &named(&[1_u32, 2, 4, 8]), |scheme, together| {
            let mut setup = scheme.setup(Access::Pattern("locality:90/10".parse()?))?;
            setup.store.together = together;
            Ok(setup)
        })
    }),
    known: Vec::new,
};

/// The marks of table 7: cleaning that goes on until more segments are free.
pub(super) const MARKS: Experiment<'static> = Experiment {
    name: "cat-marks",
    about: "CAT paper, table 7: high-water marks above a low one of one segment, at 90/10",
    x: "high-water mark (segments)",
    look: Look::Lines,
    metrics: &[Metric::Erasures, Metric::Copied],
    points: Points::Simulated(|options| {
        cross(options, &BUILT[..4], &named(&[1_u32, 2, 4, 8]), |scheme, mark| {
            let mut setup = scheme.setup(Access::Pattern("locality:90/10".parse()?))?;
            (setup.store.reserve, setup.store.high_water) = (1, mark);
            Ok(setup)
        })
    }),
    known: Vec::new,
};

/// Figure 12.
pub(super) const FIG12: Experiment<'static> = Experiment {
    name: "cat-fig12",
    about: "CAT paper, figure 12: varying localities of reference",
    x: "locality",
    look: Look::Lines,
    metrics: &[Metric::Erasures, Metric::Copied, Metric::Throughput, Metric::WearDeviation],
    points: Points::Simulated(|options| cross(options, &BUILT, &localities(), locality)),
    known: Vec::new,
};

/// Figure 13.
pub(super) const FIG13: Experiment<'static> = Experiment {
    name: "cat-fig13",
    about: "CAT paper, figure 13: varying utilization, at 90/10",
    x: "utilization (%)",
    look: Look::Lines,
    metrics: &[Metric::Erasures, Metric::Copied],
    points: Points::Simulated(|options| filled(options, "locality:90/10".parse()?)),
    known: Vec::new,
};

/// Figure 13, sequential.
pub(super) const FIG13_SEQUENTIAL: Experiment<'static> = Experiment {
    name: "cat-fig13-sequential",
    about: "CAT paper, figure 13: varying utilization, writing sequentially",
    points: Points::Simulated(|options| filled(options, Pattern::Sequential)),
    ..FIG13
};

/// Figure 13, random.
pub(super) const FIG13_RANDOM: Experiment<'static> = Experiment {
    name: "cat-fig13-random",
    about: "CAT paper, figure 13: varying utilization, writing at random",
    points: Points::Simulated(|options| filled(options, Pattern::Random)),
    ..FIG13
};

/// Figure 14.
pub(super) const FIG14: Experiment<'static> = Experiment {
    name: "cat-fig14",
    about: "CAT paper, figure 14: three selectors by six ways to redistribute, 85 % full; a generated workload in place of the HP traces",
    x: "redistribution",
    look: Look::Bars,
    metrics: &[Metric::Erasures, Metric::Copied, Metric::WearDeviation],
    points: Points::Simulated(|options| {
        let mut points = Vec::new();
        for (series, victim) in SELECTORS {
            for placement in ["m1", "m2", "m3", "m4", "m5", "m6"] {
                let setup = workstation(&Scheme::new(series, victim, placement), 85)?;
                let point = Point { series: series.to_owned(), x: placement.to_owned(), setup };
                points.extend(point.seeded(options.seeds));
            }
        }
        let setup = workstation(&DEFAULT, 85)?;
        let default = Point { series: DEFAULT.name.to_owned(), x: DEFAULT.placement.to_owned(), setup };
        points.extend(default.seeded(options.seeds));
        Ok(points)
    }),
    known: Vec::new,
};

/// Figure 15.
pub(super) const FIG15: Experiment<'static> = Experiment {
    name: "cat-fig15",
    about: "CAT paper, figure 15: varying utilization; a generated workload in place of the HP traces",
    x: "utilization (%)",
    look: Look::Lines,
    metrics: &[Metric::Erasures, Metric::Copied],
    points: Points::Simulated(|options| cross(options, &COMPARED, &named(&UTILIZATIONS), workstation)),
    known: Vec::new,
};

/// Figure 16.
pub(super) const FIG16: Experiment<'static> = Experiment {
    name: "cat-fig16",
    about: "CAT paper, figure 16: varying flash size, 85 % full; a generated workload in place of the HP traces",
    x: "flash (MiB)",
    look: Look::Lines,
    metrics: &[Metric::Erasures, Metric::Copied],
    points: Points::Simulated(|options| {
        cross(options, &COMPARED, &named(&[16_u64, 24, 32, 40, 48, 64]), flash)
    }),
    known: Vec::new,
};

/// Figure 17.
pub(super) const FIG17: Experiment<'static> = Experiment {
    name: "cat-fig17",
    about: "CAT paper, figure 17: varying segment size, 40 MiB, 85 % full; a generated workload likewise",
    x: "segment (KiB)",
    look: Look::Lines,
    metrics: &[Metric::Erasures, Metric::Copied],
    points: Points::Simulated(|options| cross(options, &COMPARED, &named(&[32_u64, 64, 128, 256]), segment)),
    known: Vec::new,
};

/// Figure 18.
pub(super) const FIG18: Experiment<'static> = Experiment {
    name: "cat-fig18",
    about: "CAT paper, figure 18: varying localities, three selectors by three ways to redistribute",
    x: "locality",
    look: Look::Lines,
    metrics: &[Metric::Erasures, Metric::Copied],
    points: Points::Simulated(|options| cross(options, &COMPARED, &localities(), locality)),
    known: Vec::new,
};

/// Read-only data apart (section 3.2), of which the simulator is told, as the paper's server is.
pub(super) const READ_ONLY: Experiment<'static> = Experiment {
    name: "cat-read-only",
    about: "CAT paper, section 3.2: read-only data apart, at 90/10 of the other data",
    x: "read-only (%)",
    look: Look::Lines,
    metrics: &[Metric::ReadOnlyCopies, Metric::Erasures, Metric::Copied],
    points: Points::Simulated(|options| {
        let schemes = [
            Scheme::new("greedy", "greedy", "m1"),
            Scheme::new("greedy, apart", "greedy", "read-only:m1"),
            Scheme::new("CAT", "cat", "m6"),
            Scheme::new("CAT, apart", "cat", "read-only:m6"),
            DEFAULT,
        ];
        cross(options, &schemes, &named(&[10, 30, 50]), |scheme, percent| {
            scheme.setup(Access::Pattern(format!("locality:90/10+read-only:{percent}%").parse()?))
        })
    }),
    known: Vec::new,
};

/// The same on the server of blocks, which is told nothing.
pub(super) const READ_ONLY_LEARNT: Experiment<'static> = Experiment {
    name: "cat-read-only-learnt",
    about: "CAT paper, section 3.2: read-only data apart on a chip, on a server that has to learn it",
    x: "read-only (%)",
    look: Look::Bars,
    metrics: &[Metric::Measured(Figure::Cleaned), Metric::Measured(Figure::Copied)],
    points: Points::OnServer(|| {
        let mut points = Vec::new();
        for (series, placement) in [("CAT", "m6"), ("CAT, apart", "read-only:m6")] {
            points.extend([3, 5].map(|tenths| {
                let (cleaner, order) = (Cleaner::Server, Order::ReadOnly(tenths));
                let setup =
                    on_server::Task { cleaner, victim: "cat", placement, order, medium: Medium::default() };
                Point { series: series.to_owned(), x: (tenths * 10).to_string(), setup }
            }));
        }
        points
    }),
    known: Vec::new,
};

/// The access patterns of table 4.
const PATTERNS: [&str; 3] = ["sequential", "random", "locality:90/10"];

/// Percent full.
const UTILIZATIONS: [u32; 7] = [60, 65, 70, 75, 80, 85, 90];

/// The paper's three selectors. Its cost-benefit is the one under which its table 4 comes out.
const SELECTORS: [(&str, &str); 3] =
    [("greedy", "greedy"), ("cost-benefit", "cost-benefit-written"), ("CAT", "cat")];

/// x of x/y, in percent.
const LOCALITIES: [u32; 6] = [50, 60, 70, 80, 90, 95];

fn table4(options: &Options) -> Result<Vec<Point>, LabError> {
    cross(options, &BUILT, &named(&PATTERNS), |scheme, name| scheme.setup(Access::Pattern(name.parse()?)))
}

/// The paper's measurements, on a Pentium.
/// Chip and amounts were others: what counts is that actual and simulated figures are alike.
fn table6_known() -> Vec<Known> {
    let rows = [
        ("paper: greedy, actual", [(1567.0, 0.0), (7103.0, 171_624.0), (8827.0, 225_068.0)]),
        ("paper: greedy, simulated", [(1567.0, 0.0), (7075.0, 170_735.0), (8834.0, 225_283.0)]),
        ("paper: cost-benefit, actual", [(1568.0, 0.0), (7265.0, 176_634.0), (5733.0, 129_142.0)]),
        ("paper: cost-benefit, simulated", [(1568.0, 0.0), (7237.0, 175_769.0), (5666.0, 127_049.0)]),
        ("paper: CAT, actual", [(1568.0, 0.0), (7241.0, 175_891.0), (4138.0, 79_705.0)]),
        ("paper: CAT, simulated", [(1568.0, 0.0), (7295.0, 177_562.0), (3987.0, 75_005.0)]),
    ];
    let known =
        |series, x, metric, value| Known { series, x, metric: Metric::Measured(metric), value, kept: None };
    let row = |(series, cells): (&'static str, [(f64, f64); 3])| {
        let places = ["sequential", "random", "locality:90/10"].into_iter().zip(cells);
        places.flat_map(move |(x, (cleaned, copied))| {
            [known(series, x, Figure::Cleaned, cleaned), known(series, x, Figure::Copied, copied)]
        })
    };
    rows.into_iter().flat_map(row).collect()
}

fn table4_known() -> Vec<Known> {
    let rows = [
        (
            "paper: greedy",
            [
                (1567.0, 0.0, 2.63, 134_441.0),
                (7103.0, 171_624.0, 4.03, 27_989.0),
                (8827.0, 225_068.0, 11.85, 22_680.0),
            ],
        ),
        (
            "paper: cost-benefit",
            [
                (1568.0, 0.0, 2.64, 134_334.0),
                (7265.0, 176_634.0, 3.51, 27_118.0),
                (5733.0, 129_142.0, 9.2, 34_980.0),
            ],
        ),
        (
            "paper: CAT",
            [
                (1568.0, 0.0, 2.64, 133_950.0),
                (7241.0, 175_891.0, 2.96, 25_055.0),
                (4138.0, 79_705.0, 5.97, 44_263.0),
            ],
        ),
    ];
    let mut known = Vec::new();
    for (series, cells) in rows {
        for (x, (erasures, copied, deviation, throughput)) in
            ["sequential", "random", "locality:90/10"].into_iter().zip(cells)
        {
            let figure = |metric, value| Known { series, x, metric, value, kept: None };
            known.push(figure(Metric::Erasures, erasures));
            known.push(figure(Metric::Copied, copied));
            known.push(figure(Metric::WearDeviation, deviation));
            known.push(figure(Metric::ThroughputImplied, throughput / 1024.0));
        }
    }
    known
}

fn localities() -> Vec<(String, u32)> {
    LOCALITIES.map(|x| (format!("{x}/{}", 100 - x), x)).to_vec()
}

fn locality(scheme: &Scheme, percent: u32) -> Result<Setup, LabError> {
    scheme.setup(Access::Pattern(format!("locality:{percent}/{}", 100 - percent).parse()?))
}

/// A pattern on stores of all utilizations.
fn filled(options: &Options, pattern: Pattern) -> Result<Vec<Point>, LabError> {
    cross(options, &BUILT, &named(&UTILIZATIONS), |scheme, percent| {
        let mut setup = scheme.setup(Access::Pattern(pattern.into()))?;
        setup.store.room = Room::Fill(f64::from(percent) / 100.0);
        Ok(setup)
    })
}

/// The stand-in for the HP traces, in blocks of 1 KiB, as much as these wrote, on a store that is `percent` full.
fn workstation(scheme: &Scheme, percent: u32) -> Result<Setup, LabError> {
    let mut setup = scheme.setup(Access::Pattern(Pattern::Workstation.into()))?;
    setup.store.room = Room::Fill(f64::from(percent) / 100.0);
    setup.store.block = 1024;
    setup.write = Some(Amount::Bytes(1331 << 20));
    Ok(setup)
}

fn flash(scheme: &Scheme, mib: u64) -> Result<Setup, LabError> {
    let mut setup = workstation(scheme, 85)?;
    setup.store.flash = Some(mib << 20);
    Ok(setup)
}

fn segment(scheme: &Scheme, kib: u64) -> Result<Setup, LabError> {
    let mut setup = flash(scheme, 40)?;
    setup.store.segment = kib << 10;
    Ok(setup)
}
