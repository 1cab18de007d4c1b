# Every feature of mkfs.f2fs 1.15 that goes with the others.
make -C utf8 -O extra_attr,inode_checksum,sb_checksum,inode_crtime,compression,quota,project_quota,lost_found,verity,flexible_inline_xattr,encrypt
mounted noatime,inline_xattr_size=64
varied tree
mkdir project; chattr -p 42 project; mkdir project/sub
text 20000 >project/file; chattr -p 0 tree/dir; chattr -p 7 tree/noise
done_
