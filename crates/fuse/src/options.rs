//! Mount options, as `-o` spells them.

use std::fmt;

use fuser::{MountOption, SessionACL};

use crate::attr::Shown;

/// Options of a mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountOptions {
    /// The kernel refuses all changes. Open the file system read-only too.
    pub read_only: bool,
    /// The users of the mount.
    pub users: Users,
    /// `fusermount3` unmounts when this process ends, even if it is killed.
    pub auto_unmount: bool,
    /// The source that `/proc/mounts` shows.
    pub source: String,
    /// Options for the kernel: `suid`, `dev`, `noexec`, `noatime` and so on.
    flags: Vec<MountOption>,
    shown: Shown,
}

/// The users of a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Users {
    /// The user that mounts.
    #[default]
    Owner,
    /// That user, and root.
    Root,
    /// All users, as permissions allow.
    All,
}

impl Default for MountOptions {
    fn default() -> MountOptions {
        MountOptions {
            read_only: false,
            users: Users::Owner,
            auto_unmount: false,
            source: "pumice".into(),
            flags: Vec::new(),
            shown: Shown::default(),
        }
    }
}

/// The reason why an option is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// The option is unknown.
    Unknown(String),
    /// Its value is invalid.
    Value(String),
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionError::Unknown(word) => write!(
                f,
                "unknown mount option {word:?} (known: ro, rw, allow_other, allow_root, auto_unmount, fsname=NAME, uid=N, \
                 gid=N, umask=MODE, suid, nosuid, dev, nodev, exec, noexec, atime, noatime, sync, async, dirsync, and \
                 words of fstab such as relatime and nofail)"
            ),
            OptionError::Value(word) => {
                write!(
                    f,
                    "invalid mount option {word:?} (want uid=N and gid=N in decimal, umask=MODE in octal)"
                )
            }
        }
    }
}

impl std::error::Error for OptionError {}

impl MountOptions {
    /// Applies one option of a `-o` list. Options that other programs read from `/etc/fstab` (`defaults`, `noauto`,
    /// `nofail`, `x-...`), and options without effect on a FUSE mount (`relatime`, `discard`), are ignored.
    pub fn apply(&mut self, option: &str) -> Result<(), OptionError> {
        match option {
            "ro" => self.read_only = true,
            "rw" => self.read_only = false,
            "allow_other" => self.users = Users::All,
            "allow_root" => self.users = Users::Root,
            "auto_unmount" => self.auto_unmount = true,
            _ if option.starts_with("fsname=") => self.source = option["fsname=".len()..].into(),
            _ if is_for_others(option) => {}
            _ => match option.split_once('=') {
                Some(("uid", number)) => self.shown.uid = Some(number_of(option, number, 10)?),
                Some(("gid", number)) => self.shown.gid = Some(number_of(option, number, 10)?),
                Some(("umask", mode)) => {
                    let mode = Some(number_of(option, mode, 8)?);
                    self.shown.umask = mode.filter(|mode| *mode <= 0o777);
                    self.shown.umask.ok_or_else(|| OptionError::Value(option.into()))?;
                }
                _ => {
                    let flag = kernel_flag(option).ok_or_else(|| OptionError::Unknown(option.into()))?;
                    let opposite = opposite(&flag);
                    self.flags.retain(|known| *known != flag && Some(known) != opposite.as_ref());
                    self.flags.push(flag);
                }
            },
        }
        Ok(())
    }

    /// Owner and permissions that all files show in place of their own.
    pub(crate) fn shown(&self) -> Shown {
        self.shown
    }

    /// Users whom fuser serves. `fusermount3` unmounts by itself only where others than the owner have access.
    pub(crate) fn acl(&self) -> SessionACL {
        match self.users {
            Users::All => SessionACL::All,
            Users::Root => SessionACL::RootAndOwner,
            Users::Owner if self.auto_unmount => SessionACL::RootAndOwner,
            Users::Owner => SessionACL::Owner,
        }
    }

    /// The options, as fuser takes them.
    pub(crate) fn to_fuser(&self) -> Vec<MountOption> {
        // Root calls mount(2) itself, unless somebody is to watch.
        let is_listed = self.auto_unmount || !rustix::process::geteuid().is_root();
        // fuser keeps `Subtype` to itself when it calls mount(2); as a custom option the kernel sees it.
        let mut options = vec![
            MountOption::DefaultPermissions,
            MountOption::FSName(if is_listed { listed(&self.source) } else { self.source.clone() }),
            MountOption::CUSTOM("subtype=pumice".into()),
        ];
        options.push(if self.read_only { MountOption::RO } else { MountOption::RW });
        if self.auto_unmount {
            options.push(MountOption::AutoUnmount);
        }
        options.extend(self.flags.iter().cloned());
        options
    }
}

fn number_of(option: &str, text: &str, radix: u32) -> Result<u32, OptionError> {
    u32::from_str_radix(text, radix).map_err(|_| OptionError::Value(option.into()))
}

/// Escapes a source for `fusermount3`, which splits its options at commas.
fn listed(source: &str) -> String {
    source.replace('\\', r"\\").replace(',', r"\,")
}

/// Options that are ignored: mount(8) and others read them, or file systems in the kernel, or the kernel shows them of a
/// mount and mount(8) passes them back at a remount. The kernel does not change
/// access times on FUSE, and punched holes are freed at once.
const OTHERS: [&str; 30] = [
    "",
    "defaults",
    "auto",
    "noauto",
    "user",
    "nouser",
    "users",
    "nousers",
    "owner",
    "noowner",
    "group",
    "nogroup",
    "nofail",
    "_netdev",
    "relatime",
    "norelatime",
    "strictatime",
    "nostrictatime",
    "diratime",
    "nodiratime",
    "lazytime",
    "nolazytime",
    "discard",
    "nodiscard",
    "silent",
    "loud",
    "mand",
    "nomand",
    "default_permissions",
    "acl",
];

fn is_for_others(option: &str) -> bool {
    let begins = [
        "x-",
        "X-",
        "comment=",
        "subtype=",
        "user_id=",
        "group_id=",
        "rootmode=",
        "max_read=",
        "blksize=",
        "fd=",
    ];
    OTHERS.contains(&option) || begins.iter().any(|start| option.starts_with(start))
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
        assert_eq!(options.users, Users::All);
        assert_eq!(options.flags, [MountOption::NoSuid]);
    }

    #[test]
    fn an_unknown_word_is_named() {
        let error = MountOptions::default().apply("fast");
        assert_eq!(error, Err(OptionError::Unknown("fast".into())));
    }

    #[test]
    fn words_of_fstab_are_understood() {
        let words = "relatime,strictatime,nodiratime,lazytime,uid=1000,gid=100,umask=027,allow_root,auto_unmount,discard,user_id=0,group_id=0,max_read=131072,blksize=4096";
        let mut options = MountOptions::default();
        for word in words.split(',') {
            assert_eq!(options.apply(word), Ok(()), "{word}");
        }
        assert_eq!(options.shown(), Shown { uid: Some(1000), gid: Some(100), umask: Some(0o27) });
        assert!(options.auto_unmount && options.users == Users::Root && options.flags.is_empty());
        for word in ["uid=", "uid=x", "gid=-1", "uid=4294967296", "umask=888", "umask=1000"] {
            assert_eq!(options.apply(word), Err(OptionError::Value(word.into())));
        }
    }

    #[test]
    fn a_comma_in_the_source_is_kept() {
        assert_eq!(listed(r"a,b\c"), r"a\,b\\c");
    }
}
