//! A real Linux kernel to test against: Debian's, booted in QEMU without KVM and without root.
//!
//! `scripts/setup.sh test` brings in the parts of a [`Machine`]. A [`Guest`] is one run of it: files and programs are
//! put in, a shell script runs as root in the guest, and its output comes back.

pub mod f2fs;
pub mod f2fs_tools;
mod guest;
mod initramfs;
mod machine;
mod program;

pub use guest::{Guest, Report};
pub use machine::Machine;
pub use program::{built, installed};

/// A failure, told in words to the person that runs the tests.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Puts the action that failed in front of the cause.
fn about(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Failure {
    move |error| format!("{what}: {error}").into()
}

/// Runs a program that must end well; its stdout.
fn output(command: &mut std::process::Command) -> Result<Vec<u8>, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(about(&name))?;
    if !done.status.success() {
        return Err(format!("{name}: {}: {}", done.status, String::from_utf8_lossy(&done.stderr)).into());
    }
    Ok(done.stdout)
}
