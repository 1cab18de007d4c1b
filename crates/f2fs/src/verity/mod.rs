//! fs-verity: the descriptor and the Merkle tree.
