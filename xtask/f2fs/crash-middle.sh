# The power goes in the middle of everything.
make
mounted
mkdir a b; for n in $(seq 1 200); do text $((n * 50)) >a/file-$n; done; sync
for n in $(seq 1 200); do
    text $((n * 70)) >b/file-$n
    case $((n % 4)) in 0) sync b/file-$n ;; 1) rm a/file-$n ;; 2) mv a/file-$n b/moved-$n ;; esac
done
rm -r a
mkdir c; text 3000 >c/must-be; sync c/must-be
cut
