//! Compressed clusters: the header of a cluster, and the four decoders.
