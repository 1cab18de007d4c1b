# The power goes while files without a name are open.
make
mounted
text 300000 >small; text 6000000 >large; text 1000 >kept
exec 3<small 4<large
rm small large
sync
text 5000 >must-after; sync must-after
cut
