# The power goes after fsync: what is called must-... is there, what is called may-... may be.
make
mounted
mkdir dir; text 20000 >must-old; text 20000 >must-grown; text 5000 >must-renamed-from; text 9000 >must-cut
text 90000 >must-overwritten
sync
text 30000 >must-new; text 100 >must-inline; text 4000000 >must-indirect; sync must-new must-inline must-indirect
text 7000 >dir/must-in-dir; sync dir/must-in-dir
text 50000 >>must-grown; sync must-grown
mv must-renamed-from dir/must-renamed; sync dir/must-renamed
truncate -s 100 must-cut; sync must-cut
echo changed | dd of=must-overwritten bs=1 seek=50000 conv=notrunc 2>/dev/null; sync must-overwritten
printf 'far away' | dd of=must-sparse bs=4096 seek=100000 conv=notrunc 2>/dev/null; sync must-sparse
echo x >must-xattr; setfattr -n user.kept -v yes must-xattr; chmod 600 must-xattr; chown 5:6 must-xattr; sync must-xattr
ln must-new dir/may-link; mkdir may-dir; echo lost >may-dir/may-file; text 9000 >may-new
cut
