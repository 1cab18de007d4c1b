//! Checking a volume, without changing it: everything that one structure says of another is compared.
//!
//! Inodes are read first, then all other nodes, then directories, each in the order of their addresses and by several
//! threads. On the way every block that is pointed to is marked and its summary compared; what points to inodes, nodes
//! and names is kept, and compared when all was read. Then the SIT must have exactly the marked blocks. A volume that
//! was not unmounted is checked as its last checkpoint left it, and the chain that the next mount rolls forward besides.

mod addresses;
mod bitmap;
mod chain;
mod checkpoint;
mod codes;
mod facts;
mod files;
mod findings;
mod heads;
mod inodes;
mod leaves;
mod limits;
mod names;
mod nat;
mod nodes;
mod orphans;
mod owners;
mod quota;
mod scan;
mod segments;
mod super_blocks;
mod tree;
mod worker;
mod workers;

use pumice_media::ReadAt;
use pumice_vfs::Timestamp;

pub use self::{
    codes::Code,
    findings::{Finding, Object},
};
use self::{
    facts::Inodes,
    findings::Findings,
    heads::Counted,
    leaves::Leaf,
    nat::{NatRow, NodeTable},
    owners::Reached,
    scan::each_block,
    worker::{Left, Worker},
    workers::share,
};
use crate::{
    crypt::Keyring,
    error::{Corrupt, Error, Place, Result},
    layout::{BlockAddr, DentryLayout, Nid},
    nodes::Nodes,
    reader::Reader,
    volume::Volume,
};

/// Bytes of metadata kept in memory beside the tables.
const CACHE_BYTES: usize = 4 << 20;

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What is wrong, in the order of codes; at most 200 of each, and then how many more.
    pub findings: Vec<Finding>,
    /// How many there are in all.
    pub count: usize,
    /// Directories.
    pub directories: u64,
    /// All other inodes.
    pub files: u64,
    /// Blocks in use, nodes among them.
    pub blocks: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Nodes that fsync wrote since the checkpoint: the next mount recovers what they hold.
    pub fsynced_nodes: u64,
}

/// Checks a volume on its devices (in the order of the super block) with some threads. `progress` is told how many of
/// how many steps are done.
///
/// Errors are of the device, or mean that nothing here is an F2FS volume; damage becomes a finding.
pub fn check(
    disks: Vec<Box<dyn ReadAt>>,
    threads: usize,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Report> {
    let mut findings = Findings::default();
    if let Some(disk) = disks.first() {
        super_blocks::check(&**disk, &mut findings);
    }
    match Volume::open(disks, CACHE_BYTES) {
        Ok(volume) => {
            // Nothing is decrypted; what can be rolled forward is found out, and taken back.
            let mut nodes = Nodes::new(volume);
            if let Err(error) = nodes.recover(Timestamp::default()) {
                findings.add(Code::RollForwardChain, Object::Several, || error.to_string());
            }
            nodes.take_back();
            let reader = Reader::new(nodes, Keyring::default());
            let volume = reader.nodes().volume();
            Ok(Check { reader: &reader, volume, threads, findings }.run(progress))
        }
        Err(Error::Corrupt(corrupt)) => {
            unopened(&corrupt, &mut findings);
            let (findings, count) = findings.into_list();
            Ok(Report { findings, count, ..Report::default() })
        }
        Err(error) => Err(error),
    }
}

/// A volume whose super blocks or checkpoints are all broken cannot be looked into.
fn unopened(corrupt: &Corrupt, findings: &mut Findings) {
    let (code, object) = match corrupt.place() {
        Place::SuperBlock => (Code::SuperBlock, Object::SuperBlock(1)),
        Place::Checkpoint(pack) => (Code::Checkpoint, Object::Checkpoint(pack)),
        _ => (Code::Checkpoint, Object::Checkpoint(1)),
    };
    findings.add(code, object, || corrupt.to_string());
}

struct Check<'a> {
    reader: &'a Reader,
    volume: &'a Volume,
    threads: usize,
    findings: Findings,
}

impl Check<'_> {
    fn run(mut self, progress: &mut dyn FnMut(u64, u64)) -> Report {
        const STEPS: u64 = 6;
        checkpoint::check(self.volume, &mut self.findings);
        heads::check_flags(self.volume, &mut self.findings);
        heads::check_logs(self.volume, &mut self.findings);
        let table = NodeTable::load(self.volume, self.threads, &mut self.findings);
        heads::check_nat_bits(self.volume, &table, &mut self.findings);
        progress(1, STEPS);
        let reached = Reached::new(self.volume);
        let [own, others] = table.by_address(&mut self.findings);
        let mut work = Work::new(&reached);
        let inodes = self.read_inodes(&table, &own, &mut work);
        progress(2, STEPS);
        self.read_nodes(&table, &others, &inodes, &mut work);
        progress(3, STEPS);
        self.read_leaves(&inodes, &mut work);
        self.read_clusters(&inodes, &mut work);
        self.check_sealed(&work.left.sealed);
        progress(4, STEPS);
        tree::check(&table, &work.left, &mut self.findings);
        self.check_names(&inodes, &mut work.left);
        progress(5, STEPS);
        let free_segments = segments::check(self.volume, self.threads, &reached, &mut self.findings);
        let blocks = inodes.all().iter().map(facts::Facts::counted_blocks).sum();
        let counted =
            Counted { blocks, nodes: table.rows().len() as u64, inodes: own.len() as u64, free_segments };
        heads::check_numbers(self.volume, &counted, &mut self.findings);
        let fsynced_nodes = chain::check(self.volume, &mut self.findings);
        progress(STEPS, STEPS);
        self.report(&inodes, blocks, fsynced_nodes)
    }

    fn report(self, inodes: &Inodes, blocks: u64, fsynced_nodes: u64) -> Report {
        let directories = inodes.all().iter().filter(|facts| facts.is_directory()).count() as u64;
        let files = inodes.all().len() as u64 - directories;
        let block_bytes = self.volume.block_size().bytes();
        let (findings, count) = self.findings.into_list();
        Report { findings, count, directories, files, blocks, block_bytes, fsynced_nodes }
    }

    /// Reads the block of each item, which are sorted by address, and lets workers look at it.
    fn read<T: Sync>(
        &mut self,
        work: &mut Work<'_>,
        items: &[T],
        address: impl Fn(&T) -> BlockAddr + Sync,
        look: impl Fn(&mut Worker<'_>, &T, &[u8]) + Sync,
    ) {
        let reached = work.reached;
        let new = || Worker::new(self.volume, reached);
        for worker in each_block(self.threads, items, address, new, look) {
            work.take(worker, &mut self.findings);
        }
    }

    fn read_inodes(&mut self, table: &NodeTable, own: &[u32], work: &mut Work<'_>) -> Inodes {
        let items = nodes_at(table, own);
        self.read(
            work,
            &items,
            |(_, row)| row.addr,
            |worker, (place, row), block| {
                worker.check_inode(*place, row, block);
            },
        );
        Inodes::new(std::mem::take(&mut work.facts))
    }

    fn read_nodes(&mut self, table: &NodeTable, others: &[u32], inodes: &Inodes, work: &mut Work<'_>) {
        let items = nodes_at(table, others);
        self.read(
            work,
            &items,
            |(_, row)| row.addr,
            |worker, (place, row), block| {
                worker.check_node(*place, row, block, inodes);
            },
        );
    }

    fn read_leaves(&mut self, inodes: &Inodes, work: &mut Work<'_>) {
        let mut leaves = std::mem::take(&mut work.leaves);
        leaves.sort_unstable_by_key(|leaf| (leaf.addr, leaf.directory, leaf.index));
        let layout = DentryLayout::for_block(self.volume.block_size());
        self.read(
            work,
            &leaves,
            |leaf| leaf.addr,
            |worker, leaf, bytes| {
                if let Some(facts) = inodes.find(leaf.directory) {
                    worker.check_leaf(&Leaf { facts, index: Some(leaf.index), bytes, layout });
                }
            },
        );
    }

    fn read_clusters(&mut self, inodes: &Inodes, work: &mut Work<'_>) {
        let mut clusters = std::mem::take(&mut work.clusters);
        clusters.sort_unstable_by_key(|cluster| (cluster.addr, cluster.ino, cluster.index));
        self.read(
            work,
            &clusters,
            |cluster| cluster.addr,
            |worker, cluster, block| {
                worker.check_cluster(cluster, block, inodes);
            },
        );
    }

    fn check_sealed(&mut self, sealed: &[Nid]) {
        let workers = share(self.threads, sealed.len(), Findings::default, |findings, job| {
            let Some(ino) = sealed.get(job) else { return };
            if let Some(wrong) = files::check_sealed(self.reader, *ino) {
                findings.add(Code::Verity, Object::Inode(*ino), || wrong);
            }
        });
        for found in workers {
            self.findings.merge(found);
        }
    }

    fn check_names(&mut self, inodes: &Inodes, left: &mut Left) {
        let orphans = orphans::check(self.volume, inodes, &mut self.findings);
        let list = std::mem::take(&mut left.names);
        let names = names::Names::new(self.volume, inodes, list, &mut self.findings);
        names.check(&orphans, &mut self.findings);
        quota::check(self.reader, inodes, &mut self.findings);
    }
}

/// What workers leave to be done.
struct Work<'a> {
    reached: &'a Reached,
    facts: Vec<facts::Facts>,
    left: Left,
    leaves: Vec<worker::LeafRef>,
    clusters: Vec<worker::ClusterRef>,
}

impl<'a> Work<'a> {
    fn new(reached: &'a Reached) -> Work<'a> {
        let (facts, left, leaves, clusters) = Default::default();
        Work { reached, facts, left, leaves, clusters }
    }

    fn take(&mut self, worker: Worker<'_>, findings: &mut Findings) {
        findings.merge(worker.findings);
        self.facts.extend(worker.facts);
        self.left.merge(worker.left);
        self.leaves.extend(worker.leaves);
        self.clusters.extend(worker.clusters);
    }
}

/// Nodes with their places in the table.
fn nodes_at(table: &NodeTable, places: &[u32]) -> Vec<(u32, NatRow)> {
    places.iter().filter_map(|place| Some((*place, *table.rows().get(*place as usize)?))).collect()
}

#[cfg(test)]
mod tests;
