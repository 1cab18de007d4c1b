//! `pumice quota`: shows and sets what users, groups and projects may have.

use std::path::Path;

use pumice_f2fs::{Quota, QuotaKind, Share};
use pumice_vfs::Timestamp;
use serde_json::{Value, json};

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{Access, Volume, about, only_f2fs},
    options::{Reader, Writer},
    output, size, text,
    verbs::F2fsImage,
};

/// Show or set the limits of users, groups and projects on F2FS
///
/// Without limits it shows the use and the limits of one owner, or of all. Limits hold on mounts with `-o usrquota`,
/// `grpquota` or `prjquota`: a hard one always, a soft one once it was exceeded for the time of grace, a week.
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

/// The quotas of a kind.
type Quotas = (QuotaKind, Vec<Quota>);

/// A soft and a hard limit.
fn pair(text: &str, parse: impl Fn(&str) -> Result<u64, String>) -> Result<(u64, u64), String> {
    let (soft, hard) =
        text.split_once(':').ok_or_else(|| format!("invalid limits `{text}` (want SOFT:HARD)"))?;
    Ok((parse(soft)?, parse(hard)?))
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
        let Some((kind, id)) = self.owner.one() else { return self.show(&all(image, context)?) };
        let mut quota = find(image, kind, id, context)?;
        if self.space.is_none() && self.inodes.is_none() {
            return self.show(&[(kind, vec![quota])]);
        }
        for (share, wanted) in [(&mut quota.bytes, self.space), (&mut quota.inodes, self.inodes)] {
            (share.soft, share.hard) = wanted.unwrap_or((share.soft, share.hard));
        }
        if self.writer.dry_run {
            return self.show(&[(kind, vec![quota])]);
        }
        let volume = Volume::open(image, Access::Write, context)?;
        let set = volume.f2fs().map_or(Ok(()), |fs| fs.set_quota(kind, quota));
        let closed = volume.close();
        set.map_err(|error| about(image, &error)).and(closed)?;
        self.show(&[(kind, vec![find(image, kind, id, context)?])])
    }

    fn show(&self, quotas: &[Quotas]) -> Outcome {
        let each = || quotas.iter().flat_map(|(kind, quotas)| quotas.iter().map(move |quota| (*kind, quota)));
        if self.reader.json {
            let list: Vec<Value> = each().map(|(kind, quota)| json_of(kind, quota)).collect();
            return output::document("quota", json!({ "quotas": list }));
        }
        let head = format!(
            "{:<7} {:>10} {:>10} {:>10} {:>10} {:<16} {:>9} {:>9} {:>9} {}",
            "kind", "id", "space", "soft", "hard", "grace ends", "inodes", "soft", "hard", "grace ends"
        );
        output::lines([head].into_iter().chain(each().map(|(kind, quota)| line(kind, quota))))
    }
}

/// All quotas of a volume.
fn all(image: &Path, context: &Context) -> Outcome<Vec<Quotas>> {
    let fs = only_f2fs(image, context)?;
    let mut found = Vec::new();
    for kind in QuotaKind::ALL {
        let quotas = fs.quotas(kind).map_err(|error| about(image, &error))?;
        found.extend(quotas.map(|quotas| (kind, quotas)));
    }
    if found.is_empty() {
        return Err(uncounted(image, "owners"));
    }
    Ok(found)
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
