//! Calls of the kernel that no tool of Debian makes: ioctls of `linux/fs.h` and `linux/fscrypt.h`, behind safe functions.
#![expect(unsafe_code, reason = "the kernel is called with pointers; each call says why they hold")]
#![allow(dead_code, reason = "each program uses a part")]

use std::{fs::File, io, os::fd::AsRawFd, ptr};

/// `struct fsxattr`.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    flags: u32,
    extent_bytes: u32,
    extents: u32,
    project: u32,
    cow_extent_bytes: u32,
    padding: [u8; 8],
}

/// `struct fscrypt_add_key_arg`.
#[repr(C)]
struct KeyHead {
    /// 1: a descriptor that the caller chooses; 2: an identifier that the kernel computes.
    kind: u32,
    reserved: u32,
    name: [u8; 32],
    bytes: u32,
    id: u32,
    more_reserved: [u32; 8],
}

/// A key request, with the largest key behind it.
#[repr(C)]
struct Key {
    head: KeyHead,
    raw: [u8; 64],
}

/// `struct fscrypt_policy_v1`: the call for either version is numbered by its size.
type PolicyV1 = [u8; 12];

/// A policy of version 1 (12 bytes of it) or 2 (24 bytes).
#[repr(C)]
struct Policy([u8; 24]);

/// `struct f2fs_gc_range`.
#[repr(C)]
struct CleanRange {
    sync: u32,
    start: u64,
    blocks: u64,
}

const _: () = {
    assert!(size_of::<CleanRange>() == 24);
    assert!(size_of::<Attributes>() == 28);
    assert!(size_of::<KeyHead>() == 80);
};

const GET_ATTRIBUTES: libc::Ioctl = libc::_IOR::<Attributes>(b'X' as u32, 31);
const ADD_KEY: libc::Ioctl = libc::_IOWR::<KeyHead>(b'f' as u32, 23);
const SET_POLICY: libc::Ioctl = libc::_IOR::<PolicyV1>(b'f' as u32, 19);

const CLEAN_RANGE: libc::Ioctl = libc::_IOW::<CleanRange>(0xf5, 11);

/// # Safety
///
/// `number` must be a call that reads and writes at most a `T`. An address in it must be that of memory that is there
/// during the call, for as many bytes as the length beside it says.
unsafe fn call<T>(file: &File, number: libc::Ioctl, argument: &mut T) -> io::Result<()> {
    // SAFETY: the descriptor is open as long as `file` is borrowed; the rest is the caller's promise.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), number, ptr::from_mut(argument)) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A file's project.
pub(crate) fn project(file: &File) -> io::Result<u32> {
    let mut attributes = Attributes::default();
    // SAFETY: FS_IOC_FSGETXATTR fills a fsxattr.
    unsafe { call(file, GET_ATTRIBUTES, &mut attributes) }.map(|()| attributes.project)
}

/// Gives a file system a key: named by a descriptor (policies of version 1), or by the identifier that is returned
/// (version 2).
pub(crate) fn add_key(mount: &File, descriptor: Option<[u8; 8]>, key: &[u8]) -> io::Result<[u8; 16]> {
    let mut raw = [0; 64];
    let place = raw.get_mut(..key.len()).ok_or(io::ErrorKind::InvalidInput)?;
    place.copy_from_slice(key);
    let mut name = [0; 32];
    if let (Some(descriptor), Some(place)) = (descriptor, name.get_mut(..8)) {
        place.copy_from_slice(&descriptor);
    }
    let bytes = u32::try_from(key.len()).unwrap_or(0);
    let kind = if descriptor.is_some() { 1 } else { 2 };
    let head = KeyHead { kind, reserved: 0, name, bytes, id: 0, more_reserved: [0; 8] };
    let mut argument = Key { head, raw };
    // SAFETY: FS_IOC_ADD_ENCRYPTION_KEY reads a fscrypt_add_key_arg and as many bytes behind it as it says, which
    // are at most those of `raw`, and writes the identifier.
    unsafe { call(mount, ADD_KEY, &mut argument) }?;
    let mut identifier = [0; 16];
    identifier.copy_from_slice(argument.head.name.get(..16).unwrap_or_default());
    Ok(identifier)
}

/// Encrypts the later contents of an empty directory. `name` is the key's: 8 bytes for a policy of version 1, 16 for 2.
pub(crate) fn set_policy(dir: &File, contents: u8, names: u8, flags: u8, name: &[u8]) -> io::Result<()> {
    let mut policy = [0; 24];
    let (version, at) = if name.len() == 8 { (0, 4) } else { (2, 8) };
    policy.get_mut(..4).unwrap_or_default().copy_from_slice(&[version, contents, names, flags]);
    let place = policy.get_mut(at..at + name.len()).ok_or(io::ErrorKind::InvalidInput)?;
    place.copy_from_slice(name);
    // SAFETY: FS_IOC_SET_ENCRYPTION_POLICY reads a policy of the version in its first byte, at most 24 bytes.
    unsafe { call(dir, SET_POLICY, &mut Policy(policy)) }
}

/// Has F2FS move the live blocks of the section of block `start` away; false if it refuses, as for the section of a log
/// or an empty one.
pub(crate) fn clean(mount: &File, start: u64) -> bool {
    let mut range = CleanRange { sync: 1, start, blocks: 1 };
    // SAFETY: F2FS_IOC_GARBAGE_COLLECT_RANGE reads a f2fs_gc_range.
    unsafe { call(mount, CLEAN_RANGE, &mut range) }.is_ok()
}
