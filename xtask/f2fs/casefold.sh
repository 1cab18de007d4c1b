# Directories without regard to case.
make -C utf8 -O casefold
mounted
mkdir fold; f2fs_io setflags casefold fold >/dev/null
for name in Alpha BETA gamma Straße ÄÖÜ 'ﬁ' 'K' $(printf 'e\314\201') 'σς'; do echo "$name" >"fold/$name"; done
cat fold/ALPHA fold/beta fold/GAMMA fold/STRASSE fold/äöü fold/FI >/dev/null
mkdir fold/Sub; for n in $(seq 1 250); do echo $n >"fold/Sub/Name-$n"; done
for n in $(seq 2 2 250); do rm "fold/Sub/NAME-$n"; done
mkdir plain; echo 1 >plain/a; echo 2 >plain/A
done_
