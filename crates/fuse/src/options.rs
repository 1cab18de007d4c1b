//! Mount options, as `-o` spells them.

use std::fmt;

use fuser::MountOption;

/// How to mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountOptions {
    /// The kernel refuses all changes; the file system should be read-only too.
    pub read_only: bool,
    /// Other users than the one who mounts may use the mount.
    pub allow_other: bool,
    /// What `/proc/mounts` shows as the source.
    pub source: String,
    /// Options of the kernel's own that are handed on: `suid`, `dev`, `noexec`, `noatime` and so on.
    flags: Vec<MountOption>,
}

impl Default for MountOptions {
    fn default() -> MountOptions {
        MountOptions { read_only: false, allow_other: false, source: "pumice".into(), flags: Vec::new() }
    }
}

/// An option that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionError(pub String);

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown mount option {:?}; known are ro, rw, allow_other, fsname=NAME, suid, nosuid, dev, nodev, exec, \
             noexec, atime, noatime, sync, async, dirsync",
            self.0
        )
    }
}

impl std::error::Error for OptionError {}

impl MountOptions {
    /// Takes in one option of a `-o` list. Words that `/etc/fstab` carries for others (`defaults`, `noauto`,
    /// `nofail`, `x-...`) are passed over.
    pub fn apply(&mut self, option: &str) -> Result<(), OptionError> {
        match option {
            "ro" => self.read_only = true,
            "rw" => self.read_only = false,
            "allow_other" => self.allow_other = true,
            _ if option.starts_with("fsname=") => self.source = option["fsname=".len()..].into(),
            _ if is_for_others(option) => {}
            _ => {
                let flag = kernel_flag(option).ok_or_else(|| OptionError(option.into()))?;
                let opposite = opposite(&flag);
                self.flags.retain(|known| *known != flag && Some(known) != opposite.as_ref());
                self.flags.push(flag);
            }
        }
        Ok(())
    }

    /// The same for fuser.
    pub(crate) fn to_fuser(&self) -> Vec<MountOption> {
        // fuser keeps `Subtype` to itself when it calls mount(2); as a custom option the kernel sees it.
        let mut options = vec![
            MountOption::DefaultPermissions,
            MountOption::FSName(listed_source(&self.source)),
            MountOption::CUSTOM("subtype=pumice".into()),
        ];
        options.push(if self.read_only { MountOption::RO } else { MountOption::RW });
        options.extend(self.flags.iter().cloned());
        options
    }
}

/// `fusermount3` splits its options at commas, so a source with one cannot be handed over.
fn listed_source(source: &str) -> String {
    source.replace(',', "_")
}

fn is_for_others(option: &str) -> bool {
    let words =
        ["", "defaults", "auto", "noauto", "user", "nouser", "users", "owner", "group", "nofail", "_netdev"];
    words.contains(&option)
        || option.starts_with("x-")
        || option.starts_with("comment=")
        || option == "default_permissions"
        || option.starts_with("subtype=")
}

fn kernel_flag(option: &str) -> Option<MountOption> {
    Some(match option {
        "suid" => MountOption::Suid,
        "nosuid" => MountOption::NoSuid,
        "dev" => MountOption::Dev,
        "nodev" => MountOption::NoDev,
        "exec" => MountOption::Exec,
        "noexec" => MountOption::NoExec,
        "atime" => MountOption::Atime,
        "noatime" => MountOption::NoAtime,
        "sync" => MountOption::Sync,
        "async" => MountOption::Async,
        "dirsync" => MountOption::DirSync,
        _ => return None,
    })
}

fn opposite(flag: &MountOption) -> Option<MountOption> {
    Some(match flag {
        MountOption::Suid => MountOption::NoSuid,
        MountOption::NoSuid => MountOption::Suid,
        MountOption::Dev => MountOption::NoDev,
        MountOption::NoDev => MountOption::Dev,
        MountOption::Exec => MountOption::NoExec,
        MountOption::NoExec => MountOption::Exec,
        MountOption::Atime => MountOption::NoAtime,
        MountOption::NoAtime => MountOption::Atime,
        MountOption::Sync => MountOption::Async,
        MountOption::Async => MountOption::Sync,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_wins() {
        let mut options = MountOptions::default();
        for word in ["ro", "rw", "suid", "nosuid", "allow_other", "nofail"] {
            assert_eq!(options.apply(word), Ok(()));
        }
        assert!(!options.read_only);
        assert!(options.allow_other);
        assert_eq!(options.flags, [MountOption::NoSuid]);
    }

    #[test]
    fn an_unknown_word_is_named() {
        let error = MountOptions::default().apply("fast");
        assert_eq!(error, Err(OptionError("fast".into())));
    }
}
