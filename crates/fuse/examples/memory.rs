//! Mounts the reference model on a directory until it is unmounted: `memory DIR [OPTION]...`

use std::{error::Error, path::Path, sync::Arc, time::SystemTime};

use pumice_fuse::{MountOptions, mount};
use pumice_vfs::{Timestamp, model::MemFs};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let dir = args.next().ok_or("usage: memory DIR [OPTION]...")?;
    let mut options = MountOptions::default();
    for option in args {
        options.apply(&option)?;
    }
    let session = mount(Arc::new(MemFs::new(Box::new(now))), Path::new(&dir), &options)?;
    Ok(session.wait()?)
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp { seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), nanos: since.subsec_nanos() }
}
