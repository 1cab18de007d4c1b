//! Every trace format, on samples written for the purpose.

use std::{
    collections::HashSet,
    fs,
    io::{Cursor, Write},
    path::Path,
};

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use pumice_lab::trace::{Access, Format, Op, Pattern, Reading, TraceError, TraceReader, open};

/// A file of each format, and its accesses: time in ns, op, volume, offset, bytes.
type Sample = (&'static str, &'static str, &'static [(u64, Op, u64, u64, u64)]);

use Op::{Read, Trim, Write as Put};

const SAMPLES: [Sample; 12] = [
    (
        "msr",
        "128166372003061629,hm,1,Read,383496192,32768,113736\n128166372016382155,hm,1,Write,2822144,4096,8\n",
        &[
            (1_172_163_600_306_162_900, Read, 1, 383_496_192, 32768),
            (1_172_163_601_638_215_500, Put, 1, 2_822_144, 4096),
        ],
    ),
    (
        "alibaba",
        "device_id,opcode,offset,length,timestamp\n3,W,126703644672,4096,1577808000000626\n3,R,512,512,1577808000000626\n",
        &[
            (1_577_808_000_000_626_000, Put, 3, 126_703_644_672, 4096),
            (1_577_808_000_000_626_000, Read, 3, 512, 512),
        ],
    ),
    (
        "tencent",
        "1538323199,24,8,1,1063\n1538323200,8,16,0,1064\n",
        &[
            (1_538_323_199_000_000_000, Put, 1063, 12288, 4096),
            (1_538_323_200_000_000_000, Read, 1064, 4096, 8192),
        ],
    ),
    (
        "fiu",
        "329131208190249 4892 syslogd 904265560 8 W 6 0 2d5c1e1d6a\n329131208190300 4893 cron 16 8 R 6 1 2d5c\n",
        &[
            (329_131_208_190_249, Put, 6 << 20, 462_983_966_720, 4096),
            (329_131_208_190_300, Read, (6 << 20) | 1, 8192, 4096),
        ],
    ),
    (
        "spc",
        "0,303567,3584,w,0.000000\n1,55590,3072,R,0.026214,more\n",
        &[(0, Put, 0, 155_426_304, 3584), (26_214_000, Read, 1, 28_462_080, 3072)],
    ),
    (
        "disksim",
        "26214000 1 240840 6 0\n78643005 0 55596 8 1\n",
        &[(26_214_000, Put, 1, 123_310_080, 3072), (78_643_005, Read, 0, 28_465_152, 4096)],
    ),
    (
        "disksim",
        "13.191135 30 0 5 1\n17.829285 20 576560 6 0\n",
        &[(13_191_135, Read, 30, 0, 2560), (17_829_285, Put, 20, 295_198_720, 3072)],
    ),
    (
        "midas",
        "0.146559796 1 7 4096 \n0.146609386 3 1 8192 \n0.2 2 0 0\n0.3 0 2 8182 5\n",
        &[
            (146_559_796, Put, 0, 28672, 4096),
            (146_609_386, Trim, 0, 4096, 8192),
            (300_000_000, Read, 0, 8192, 8182),
        ],
    ),
    (
        "cloudphysics",
        "version,time,op,size,lbn\n1,5633898611441,2a,512,42932745\n1,5633898611442,0x28,4096,8\n\
         1,5633898611443,1a,77,0\n1,5633898611444,42,4096,16\n",
        &[
            (5_633_898_611_441_000, Put, 0, 21_981_565_440, 512),
            (5_633_898_611_442_000, Read, 0, 4096, 4096),
            (5_633_898_611_444_000, Trim, 0, 8192, 4096),
        ],
    ),
    (
        "fio",
        "fio version 2 iolog\n/dev/a add\n/dev/a open\n/dev/b write 4096 8192\n/dev/a wait 250 0\n/dev/a trim 0 512\n\
         /dev/a sync 0 0\n/dev/a close\n",
        &[(0, Put, 0, 4096, 8192), (250_000, Trim, 1, 0, 512)],
    ),
    (
        "blkparse",
        "  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]\n\
         \x20 8,0    3        2     0.000001829   697  G   W 223490 + 8 [kjournald]\n\
         \x20 8,0    3        3     0.000002197   697  P   N [kjournald]\n\
         \x20 8,0    3        4     0.000005197   697  D   W 223490 + 8 [kjournald]\n\
         \x20 8,0    1        5     0.000105197   698  Q  DS 8 + 16 [fstrim]\n\
         \x20 8,0    1        6     0.000205197   698  Q FWS [kworker]\n\
         \x20 8,0    1        7     0.000305197   698  Q  RA 16 + 8 [cat]\n\
         CPU0 (8,0):\n Reads Queued:           1,        4KiB\n",
        &[
            (0, Put, 8 << 20, 114_426_880, 4096),
            (105_197, Trim, 8 << 20, 4096, 8192),
            (305_197, Read, 8 << 20, 8192, 4096),
        ],
    ),
    (
        "wiscsee",
        "399 D read 299008 4096 0.000000000 0 False\n0 C read 299008 4096 0.000122793 4.4e-05 False\n\
         18 D write 4096 8192 0.5 0.1 True\n18 D discard 0 4096 0.6 0.1 True\n",
        &[(0, Read, 0, 299_008, 4096), (500_000_000, Put, 0, 4096, 8192), (600_000_000, Trim, 0, 0, 4096)],
    ),
];

fn reader(text: &str, format: &str) -> TraceReader {
    TraceReader::new(Box::new(Cursor::new(text.to_owned())), Format::named(format).unwrap())
}

fn detect(text: &str) -> Result<TraceReader, TraceError> {
    TraceReader::detect(Box::new(Cursor::new(text.to_owned())))
}

fn all(reader: TraceReader) -> Vec<Access> {
    reader.map(Result::unwrap).collect()
}

fn wanted(sample: &Sample) -> Vec<Access> {
    let access = |&(time_ns, op, volume, offset, bytes)| Access { time_ns, op, volume, offset, bytes };
    sample.2.iter().map(access).collect()
}

#[test]
fn every_format_is_read() {
    for sample in &SAMPLES {
        assert_eq!(all(reader(sample.1, sample.0)), wanted(sample), "{}", sample.0);
    }
    for format in Format::TABLE {
        assert!(SAMPLES.iter().any(|sample| sample.0 == format.name), "no sample of {}", format.name);
    }
}

#[test]
fn every_format_is_recognised() {
    for sample in &SAMPLES {
        let reader = detect(sample.1).unwrap();
        assert_eq!(reader.format(), sample.0);
        assert_eq!(all(reader), wanted(sample), "{}", sample.0);
    }
}

#[test]
fn comments_and_empty_lines_are_passed_over() {
    let reader = detect("# of a disk\n\n0,8,512,w,1.0\r\n\n").unwrap();
    assert_eq!((reader.format(), all(reader).len()), ("spc", 1));
}

#[test]
fn a_file_longer_than_the_look_is_read_whole() {
    let lines: Vec<_> = (0..10_000).map(|at| format!("{at} 0 {} 8 0", at * 8)).collect();
    let text = lines.join("\n");
    let accesses = all(detect(&text).unwrap());
    assert!(accesses.iter().zip(0..).all(|(access, at)| access.offset == at * 4096));
    assert_eq!(accesses.len(), 10_000);
}

#[test]
fn packed_files_are_unpacked() {
    let dir = tempfile::tempdir().unwrap();
    let (_, text, _) = SAMPLES[5];
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    let zst = compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
    // Three bytes that are nobody's, which a packer may put between frames.
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    // Two members, one after another, are one text; so are two frames.
    for (name, bytes, times) in [
        ("plain", text.as_bytes().to_vec(), 1),
        ("gz", [gz.clone(), gz.clone()].concat(), 2),
        ("zst", [zst.as_slice(), &skipped, &zst].concat(), 2),
    ] {
        let path = dir.path().join(name);
        fs::write(&path, &bytes).unwrap();
        let got = all(open(&path, &Reading::Detect).unwrap());
        assert_eq!(got, wanted(&SAMPLES[5]).repeat(times), "{name}");
        fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
        let cut = open(&path, &Reading::Detect).map(|reader| reader.filter(Result::is_err).count());
        assert!(name == "plain" || cut.map_or(true, |errors| errors == 1), "{name}");
    }
}

#[track_caller]
fn refused(format: &str, text: &str, message: &str) {
    let error = reader(text, format).find_map(Result::err).unwrap();
    assert_eq!(error.to_string(), message);
}

#[test]
fn wrong_lines_are_named() {
    refused(
        "alibaba",
        "1,R,0,4096,7\n\n1,X,0,4096,7\n",
        "line 3, read as alibaba: opcode is `X`, want a read or a write",
    );
    refused("spc", "0,1,512,w\n", "line 1, read as spc: no timestamp");
    refused("disksim", "0 0 0 8 0 0\n", "line 1, read as disksim: want fewer fields");
    refused(
        "disksim",
        "0 0 99999999999999999 8 0\n",
        "line 1, read as disksim: sector is `99999999999999999`, want fewer sectors",
    );
    refused(
        "fio",
        "0 /dev/a add\n",
        "line 1, read as fio: want `fio version 2 iolog` or `fio version 3 iolog` first",
    );
}

#[test]
fn the_third_version_of_an_iolog_has_times() {
    let text = "fio version 3 iolog\n2 a add\n872 a open\n878 a write 0 16384\n10001677 a close\n";
    let want = Access { time_ns: 878_000, op: Put, volume: 0, offset: 0, bytes: 16384 };
    assert_eq!(all(detect(text).unwrap()), [want]);
}

#[test]
fn nothing_follows_an_error() {
    let results: Vec<_> = reader("0,1,512,w,0\nrubbish\n0,1,512,w,0\n", "spc").collect();
    assert_eq!(results.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn what_is_no_trace_is_refused() {
    for text in ["", "hello\n", "1,2\n", "\u{0}\u{1}\u{2}"] {
        assert!(matches!(detect(text), Err(TraceError::Unknown { .. })), "{text:?}");
    }
    let endless = "0,1,512,w,0,".to_owned() + &"x".repeat(1 << 17);
    let error = reader(&endless, "spc").find_map(Result::err).unwrap();
    assert!(matches!(error, TraceError::Long { line: 1, .. }), "{error}");
    assert!(matches!(Format::named("ntfs"), Err(TraceError::UnknownName { .. })));
}

#[test]
fn a_user_says_where_the_fields_are() {
    let by = |pattern: &str, text: &str| -> Result<Vec<Access>, TraceError> {
        TraceReader::by_pattern(Box::new(Cursor::new(text.to_owned())), &Pattern::new(pattern)?).collect()
    };
    let pattern = r"^(?<time>\S+) (?<op>\w+) disk(?<volume>\d+) (?<sector>\d+)\+(?<sectors>\d+)";
    let text = "some head\n1.5 Write disk3 8+16\n2.5 unmap disk3 0+8\n";
    let want = [(1_500_000_000, Put, 4096, 8192), (2_500_000_000, Trim, 0, 4096)];
    let want = want.map(|(time_ns, op, offset, bytes)| Access { time_ns, op, volume: 3, offset, bytes });
    assert_eq!(by(pattern, text).unwrap(), want);
    assert_eq!(by(r"(?<op>.) (?<offset>\d+) (?<bytes>\d+)", "r 1 2\n").unwrap()[0].offset, 1);
    for (pattern, word) in [
        ("(", "group"),
        (r"(?<op>.) (?<offset>\d+)", "`bytes` and `sectors`"),
        (r"(?<op>.) (?<offset>.) (?<sector>.) (?<bytes>.)", "`offset` and `sector`"),
        (r"(?<offset>.) (?<bytes>.)", "`op`"),
    ] {
        let error = Pattern::new(pattern).unwrap_err().to_string();
        assert!(error.contains(word) && error.lines().count() == 1, "{error}");
    }
    let error = by(r"(?<op>.) (?<offset>.) (?<bytes>.)", "w 1 2\nz 1 2\n").unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("`z`"), "{error}");
}

/// Pages written and distinct pages among them, in pages of 4096 bytes; volumes apart or as one.
fn written(path: &Path, apart: bool) -> (usize, usize) {
    let writes = open(path, &Reading::Detect).unwrap().map(Result::unwrap).filter(|access| access.op == Put);
    let pages: Vec<_> = writes
        .flat_map(|access| access.pages(4096).map(move |page| (if apart { access.volume } else { 0 }, page)))
        .collect();
    (pages.len(), pages.iter().collect::<HashSet<_>>().len())
}

/// 10,000 accesses of the shape of real traces, half of them to a few hot pages: time in us, volume, page, pages, a write.
fn made_up() -> Vec<(u64, u64, u64, u64, bool)> {
    let mut state = 1_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let page = |hot: u64, page: u64| if hot == 0 { page % 300 } else { page };
    (0..10_000).map(|at| (at * 100, draw(2), page(draw(2), draw(40_000)), 1 + draw(3), draw(4) > 0)).collect()
}

/// Tests without files from elsewhere: whole traces, packed, and their writes.
#[test]
fn whole_traces_are_what_they_were_made_of() {
    let accesses = made_up();
    let writes = || accesses.iter().filter(|(.., is_write)| *is_write);
    let pages = |apart: bool| {
        writes().flat_map(move |(_, volume, page, count, _)| {
            (*page..page + count).map(move |page| (if apart { *volume } else { 0 }, page))
        })
    };
    let want = |apart: bool| (pages(apart).count(), pages(apart).collect::<HashSet<_>>().len());
    let disksim = accesses.iter().map(|(time, volume, page, count, is_write)| {
        format!("{} {volume} {} {} {}\n", time * 1000, page * 8, count * 8, u8::from(!is_write))
    });
    let events = accesses.iter().map(|(time, _, page, count, is_write)| {
        let (op, offset, bytes) = (if *is_write { "write" } else { "read" }, page * 4096, count * 4096);
        let (whole, part) = (time / 1_000_000, time % 1_000_000);
        format!("7 D {op} {offset} {bytes} {whole}.{part:06}000 0 False\n0 C {op} {offset} {bytes} {whole}.{part:06}000 0.1 False\n")
    });
    let dir = tempfile::tempdir().unwrap();
    let packed = |name: &str, text: String| {
        let path = dir.path().join(name);
        fs::write(&path, compress_to_vec(text.as_bytes(), CompressionLevel::Fastest)).unwrap();
        path
    };
    let (disksim, events) =
        (packed("disk.ascii.zst", disksim.collect()), packed("events.zst", events.collect()));
    assert_eq!(written(&disksim, false), want(false));
    assert_eq!(written(&disksim, true), want(true));
    assert_eq!(written(&events, true), want(false));
    assert!(want(true) > (10_000, 5000) && want(true).1 > want(false).1);
}

/// Traces of their shape are made above; these are two of the real ones.
#[test]
#[ignore = "needs the real traces, in ../shared/traces beside the checkout"]
fn real_traces_are_what_they_are_said_to_be() {
    for (name, apart, want) in [
        ("ssdsim-example.ascii.zst", false, (12_406, 3621)),
        ("ssdsim-example.ascii.zst", true, (12_406, 3734)),
        ("sqlite-wal-events.txt.zst", true, (16_874, 2170)),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces").join(name);
        assert_eq!(written(&path, apart), want, "{name}");
    }
}
