//! Mounts any file system of `pumice_vfs` through FUSE.
