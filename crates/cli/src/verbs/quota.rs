//! `pumice quota`: shows and sets what users, groups and projects may have.

use std::path::Path;

use pumice_f2fs::{F2fs, Grace, Quota, QuotaKind, Share, WritableF2fs};
use pumice_vfs::Timestamp;
use serde_json::{Value, json};

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{about, only_f2fs, with_writable_f2fs},
    options::{Reader, Writer, named},
    output, size, text,
    verbs::F2fsImage,
};

/// Show or set the limits of users, groups and projects on F2FS
///
/// Without limits it shows the use and the limits of one owner, or of all. Limits hold on mounts with `-o usrquota`,
/// `grpquota` or `prjquota`: a hard one always, a soft one once it was exceeded for the time of grace.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: F2fsImage,
    #[command(flatten)]
    owner: Owner,
    /// Limits on bytes, soft and hard: `1G:1.5G`; 0 is none
    #[arg(long, value_name = "SOFT:HARD", value_parser = |text: &str| pair(text, size::parse), requires = "owner")]
    space: Option<(u64, u64)>,
    /// Limits on inodes, soft and hard; 0 is none
    #[arg(long, value_name = "SOFT:HARD", value_parser = |text: &str| pair(text, number), requires = "owner")]
    inodes: Option<(u64, u64)>,
    /// Times of grace of all owners of a kind, on bytes and on inodes: `7d:12h`; those that run stay
    #[arg(long, value_name = "SPACE:INODES", value_parser = |text: &str| pair(text, time), requires = "kind", conflicts_with = "owner")]
    grace: Option<(u32, u32)>,
    /// Users, groups or projects
    #[arg(long, value_name = "KIND", value_parser = |text: &str| named("kind", text, &KINDS), requires = "grace", conflicts_with = "owner")]
    kind: Option<QuotaKind>,
    #[command(flatten)]
    reader: Reader,
    #[command(flatten)]
    writer: Writer,
}

/// An owner, by number.
#[derive(clap::Args, Debug)]
#[group(id = "owner", multiple = false)]
struct Owner {
    /// A user
    #[arg(short = 'u', long, value_name = "ID")]
    user: Option<u32>,
    /// A group
    #[arg(short = 'g', long, value_name = "ID")]
    group: Option<u32>,
    /// A project
    #[arg(short = 'p', long, value_name = "ID")]
    project: Option<u32>,
}

/// The quotas of a kind, and its times of grace if all of it is shown.
type Quotas = (QuotaKind, Vec<Quota>, Option<Grace>);

const KINDS: [(&str, QuotaKind); 3] =
    [("user", QuotaKind::User), ("group", QuotaKind::Group), ("project", QuotaKind::Project)];
/// Seconds of the units of times.
const UNITS: [(char, u32); 4] = [('d', 24 * 3600), ('h', 3600), ('m', 60), ('s', 1)];

/// A soft and a hard limit.
fn pair<T>(text: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<(T, T), String> {
    let (first, second) = text
        .split_once(':')
        .ok_or_else(|| format!("invalid value `{text}` (want two, such as SOFT:HARD)"))?;
    Ok((parse(first)?, parse(second)?))
}

/// Seconds, or a number of longer units.
fn time(text: &str) -> Result<u32, String> {
    let unit = UNITS.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(*unit)?, *seconds)));
    let (number, seconds) = unit.unwrap_or((text, 1));
    let time = number.parse::<u32>().ok().and_then(|number| number.checked_mul(seconds));
    let time = time.filter(|time| *time > 0);
    time.ok_or_else(|| {
        format!("invalid time `{text}` (want seconds, or a number with d, h, m or s, more than 0)")
    })
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("invalid number `{text}`"))
}

impl Owner {
    fn one(&self) -> Option<(QuotaKind, u32)> {
        let ids = [self.user, self.group, self.project];
        QuotaKind::ALL.into_iter().zip(ids).find_map(|(kind, id)| Some((kind, id?)))
    }
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let image = &self.image.image;
        if let Some((kind, (bytes, inodes))) = self.kind.zip(self.grace) {
            let grace = Grace { inodes, bytes };
            // It says whether the kind is counted.
            let found = of_kind(&only_f2fs(image, context)?, image, kind)?;
            let mut shown = found.ok_or_else(|| uncounted(image, &format!("{kind}s")))?;
            if self.writer.dry_run {
                shown.2 = Some(grace);
                return self.show(&[shown]);
            }
            write(image, context, |fs| fs.set_grace(kind, grace))?;
            let found = of_kind(&only_f2fs(image, context)?, image, kind)?;
            return self.show(&found.into_iter().collect::<Vec<_>>());
        }
        let Some((kind, id)) = self.owner.one() else { return self.show(&all(image, context)?) };
        let mut quota = find(image, kind, id, context)?;
        if self.space.is_none() && self.inodes.is_none() {
            return self.show(&[(kind, vec![quota], None)]);
        }
        for (share, wanted) in [(&mut quota.bytes, self.space), (&mut quota.inodes, self.inodes)] {
            (share.soft, share.hard) = wanted.unwrap_or((share.soft, share.hard));
        }
        if self.writer.dry_run {
            return self.show(&[(kind, vec![quota], None)]);
        }
        write(image, context, |fs| fs.set_quota(kind, quota))?;
        self.show(&[(kind, vec![find(image, kind, id, context)?], None)])
    }

    fn show(&self, quotas: &[Quotas]) -> Outcome {
        let each =
            || quotas.iter().flat_map(|(kind, quotas, _)| quotas.iter().map(move |quota| (*kind, quota)));
        let graces = quotas.iter().filter_map(|(kind, _, grace)| Some((*kind, (*grace)?)));
        if self.reader.json {
            let list: Vec<Value> = each().map(|(kind, quota)| json_of(kind, quota)).collect();
            let of_kinds: Vec<Value> = graces
                .map(|(kind, Grace { inodes, bytes })| json!({ "kind": kind.to_string(), "bytes_s": bytes, "inodes_s": inodes }))
                .collect();
            return output::document("quota", json!({ "quotas": list, "grace": of_kinds }));
        }
        let graces: Vec<String> = graces.map(|(kind, grace)| grace_line(kind, grace)).collect();
        let head = format!(
            "{:<7} {:>10} {:>10} {:>10} {:>10} {:<16} {:>9} {:>9} {:>9} {}",
            "kind", "id", "space", "soft", "hard", "grace ends", "inodes", "soft", "hard", "grace ends"
        );
        output::lines([head].into_iter().chain(each().map(|(kind, quota)| line(kind, quota))).chain(graces))
    }
}

/// All quotas of a volume.
fn all(image: &Path, context: &Context) -> Outcome<Vec<Quotas>> {
    let (fs, mut found) = (only_f2fs(image, context)?, Vec::new());
    for kind in QuotaKind::ALL {
        found.extend(of_kind(&fs, image, kind)?);
    }
    if found.is_empty() {
        return Err(uncounted(image, "owners"));
    }
    Ok(found)
}

/// All quotas of a kind, if it is counted.
fn of_kind(fs: &F2fs, image: &Path, kind: QuotaKind) -> Outcome<Option<Quotas>> {
    let (quotas, grace) = fs
        .quotas(kind)
        .and_then(|quotas| Ok((quotas, fs.grace(kind)?)))
        .map_err(|error| about(image, &error))?;
    Ok(quotas.map(|quotas| (kind, quotas, grace)))
}

/// Opens a volume, changes something, and closes it.
fn write(
    image: &Path,
    context: &Context,
    change: impl FnOnce(&WritableF2fs) -> pumice_f2fs::Result<()>,
) -> Outcome {
    with_writable_f2fs(image, context, |fs| change(fs).map_err(|error| about(image, &error)))
}

/// The quota of an owner; of one who has nothing, that.
fn find(image: &Path, kind: QuotaKind, id: u32, context: &Context) -> Outcome<Quota> {
    let quotas = only_f2fs(image, context)?.quotas(kind).map_err(|error| about(image, &error))?;
    let quotas = quotas.ok_or_else(|| uncounted(image, &format!("{kind}s")))?;
    let found = quotas.into_iter().find(|quota| quota.id == id);
    Ok(found.unwrap_or(Quota { id, ..Quota::default() }))
}

fn uncounted(image: &Path, whom: &str) -> Failure {
    Failure::new(format!("{}: the use of {whom} is not counted", image.display()))
}

fn line(kind: QuotaKind, quota: &Quota) -> String {
    let size = |bytes: u64| if bytes == 0 { "-".into() } else { text::size(bytes) };
    let count = |limit: u64| if limit == 0 { "-".into() } else { limit.to_string() };
    let end = |share: &Share| moment(share).map_or_else(|| "-".into(), text::short_time);
    let (space, inodes) = (&quota.bytes, &quota.inodes);
    format!(
        "{:<7} {:>10} {:>10} {:>10} {:>10} {:<16} {:>9} {:>9} {:>9} {}",
        kind.to_string(),
        quota.id,
        text::size(space.used),
        size(space.soft),
        size(space.hard),
        end(space),
        inodes.used,
        count(inodes.soft),
        count(inodes.hard),
        end(inodes)
    )
}

fn grace_line(kind: QuotaKind, grace: Grace) -> String {
    let time = |seconds: u32| {
        let whole = UNITS.iter().find(|(_, unit)| seconds.is_multiple_of(*unit));
        whole.map_or_else(|| seconds.to_string(), |(name, unit)| format!("{}{name}", seconds / unit))
    };
    format!("grace of {kind}s: space {}, inodes {}", time(grace.bytes), time(grace.inodes))
}

/// The end of the time of grace, if it runs or ran out.
fn moment(share: &Share) -> Option<Timestamp> {
    let seconds = i64::try_from(share.until).ok().filter(|seconds| *seconds > 0)?;
    Some(Timestamp { seconds, nanos: 0 })
}

fn json_of(kind: QuotaKind, quota: &Quota) -> Value {
    let share = |share: &Share| {
        let end = moment(share).map(text::time);
        json!({ "used": share.used, "soft": share.soft, "hard": share.hard, "grace_ends_utc": end })
    };
    json!({
        "kind": kind.to_string(),
        "id": quota.id,
        "bytes": share(&quota.bytes),
        "inodes": share(&quota.inodes),
    })
}
