# mkfs.f2fs's defaults, with every kind of file.
make
mounted
varied tree
done_
