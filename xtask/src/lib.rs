//! A real Linux kernel to test against: Debian's, booted in QEMU without KVM and without root.
//!
//! `scripts/setup.sh test` brings in what a [`Machine`] is made of. A [`Guest`] is one run of it: files and
//! programs are put in, a shell script runs as root in the guest, and what it wrote comes back.

pub mod f2fs;
pub mod f2fs_tools;
mod guest;
mod initramfs;
mod machine;
mod program;

pub use guest::{Guest, Report};
pub use machine::Machine;
pub use program::{built, installed};

/// What goes wrong here is told to a person who runs tests, in words.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Says what failed in front of why.
fn about(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Failure {
    move |error| format!("{what}: {error}").into()
}

/// Runs a program that must end well; what it wrote to stdout.
fn output(command: &mut std::process::Command) -> Result<Vec<u8>, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(about(&name))?;
    if !done.status.success() {
        return Err(format!("{name}: {}: {}", done.status, String::from_utf8_lossy(&done.stderr)).into());
    }
    Ok(done.stdout)
}
