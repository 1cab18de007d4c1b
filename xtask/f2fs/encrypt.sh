# fscrypt: both versions of policies; AES and Adiantum; every padding.
make -O encrypt,extra_attr,inode_checksum,verity
mounted
key=$(for n in $(seq 0 63); do printf %02x $n; done)
echo "$key" >/host/key
id=$(guest-control key /mnt "$key")
guest-control key /mnt "$key" 04334e23057a6e2d >/dev/null
tree() {
    mkdir $1; guest-control policy $1 $2 $3 $4 $5
    for size in 0 1 15 16 17 4095 4096 4097 100000; do text $size >$1/size-$size; done
    mkdir $1/dir; echo deep >$1/dir/file; ln -s target $1/link; ln -s "$(printf '%0500d' 1)" $1/long-link
    echo n >"$1/$(printf '%0200d' 1)"; mkfifo $1/fifo
    text 20000 >$1/holes; truncate -s 90000 $1/holes
    setfattr -n user.x -v y $1/size-1
}
tree aes-pad4 1 4 0 $id
tree aes-pad32 1 4 3 $id
tree adiantum 9 9 2 $id
tree adiantum-direct 9 9 7 $id
tree aes128 5 6 3 $id
tree old-aes 1 4 3 04334e23057a6e2d
for n in $(seq 1 300); do echo $n >"aes-pad4/dir/entry-number-$n"; done
echo clear >clear
done_
