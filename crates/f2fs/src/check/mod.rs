//! Checking a volume, without changing it: every statement of one structure about another is compared.
//!
//! Inodes are read first, then all other nodes, then directories, each in the order of their addresses and by several
//! threads. On the way every block that is pointed to is marked and its summary compared; pointers to inodes, nodes and
//! names are kept, and compared when all was read. Then the SIT must have exactly the marked blocks. A volume that was
//! not unmounted is checked as its last checkpoint left it, and the chain that the next mount rolls forward besides.

mod addresses;
mod bitmap;
mod chain;
mod checkpoint;
mod codes;
mod counts;
mod facts;
mod files;
mod findings;
mod heads;
mod inodes;
mod leaves;
mod limits;
mod links;
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
mod twins;
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
    links::Links,
    nat::NodeTable,
    owners::Reached,
    quota::Usages,
    scan::each_block,
    worker::{Left, Worker},
    workers::share,
};
pub(crate) use self::{findings::Cure, super_blocks::is_refused};
use crate::{
    crypt::Keyring,
    error::{Corrupt, Error, Place, Result},
    layout::{BlockAddr, Nid},
    nodes::Nodes,
    reader::Reader,
    volume::Volume,
};

/// Bytes of metadata kept in memory beside the tables.
const CACHE_BYTES: usize = 1 << 20;

/// The result of a check.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The faults, in the order of codes; at most 200 of each, and then how many more.
    pub findings: Vec<Finding>,
    /// The number of all faults.
    pub count: usize,
    /// Directories.
    pub directories: u64,
    /// All other inodes.
    pub files: u64,
    /// Blocks in use, nodes among them.
    pub blocks: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Nodes that fsync wrote since the checkpoint: the next mount recovers their contents.
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
    check_into(Findings::default(), disks, threads, progress)
}

/// The same, with all findings in full, however many there are.
pub(crate) fn check_in_full(
    disks: Vec<Box<dyn ReadAt>>,
    threads: usize,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Report> {
    check_into(Findings::told(usize::MAX), disks, threads, progress)
}

fn check_into(
    mut findings: Findings,
    disks: Vec<Box<dyn ReadAt>>,
    threads: usize,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Report> {
    if let Some(disk) = disks.first() {
        super_blocks::check(&**disk, &mut findings);
    }
    match Volume::open(disks, CACHE_BYTES) {
        Ok(volume) => {
            // Nothing is decrypted; the roll-forward is tried, and taken back.
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

/// Reports a volume that cannot be looked into, because all its super blocks or checkpoints are broken.
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
        let mut work = Work::new(&table, &reached);
        let inodes = self.read_inodes(&own, &mut work);
        progress(2, STEPS);
        self.read_nodes(&others, &inodes, &mut work);
        progress(3, STEPS);
        self.read_leaves(&inodes, &mut work);
        self.read_clusters(&mut work);
        self.check_sealed(&work.left.sealed);
        progress(4, STEPS);
        tree::check(&table, &work.left, &mut self.findings);
        work.close(self.volume, &inodes, &mut self.findings);
        self.check_names(&inodes, &work.usage);
        progress(5, STEPS);
        let free_segments = segments::check(self.volume, self.threads, &reached, &mut self.findings);
        let (nodes, own, blocks) = (table.rows().len() as u64, own.len() as u64, work.blocks);
        let counted = Counted { blocks, nodes, inodes: own, free_segments };
        heads::check_numbers(self.volume, &counted, &mut self.findings);
        let fsynced_nodes = chain::check(self.volume, &mut self.findings);
        progress(STEPS, STEPS);
        let [directories, files] = inodes.links.kinds();
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
        let (table, reached) = (work.table, work.reached);
        let new = || Worker::new(self.volume, table, reached, self.findings.another());
        for worker in each_block(self.threads, items, address, new, look) {
            work.take(worker, &mut self.findings);
        }
    }

    fn read_inodes<'a>(&mut self, own: &[u32], work: &mut Work<'a>) -> Inodes<'a> {
        let table = work.table;
        let links = Links::new(table.rows().len());
        self.read(
            work,
            own,
            |place| table.addr(*place),
            |worker, place, block| {
                if let Some(row) = table.row(*place) {
                    worker.check_inode(*place, row, block, &links);
                }
            },
        );
        Inodes::new(table, links, std::mem::take(&mut work.facts))
    }

    fn read_nodes(&mut self, others: &[u32], inodes: &Inodes<'_>, work: &mut Work<'_>) {
        let table = work.table;
        self.read(
            work,
            others,
            |place| table.addr(*place),
            |worker, place, block| {
                if let Some(row) = table.row(*place) {
                    worker.check_node(*place, row, block, inodes);
                }
            },
        );
    }

    fn read_leaves(&mut self, inodes: &Inodes<'_>, work: &mut Work<'_>) {
        let mut leaves = std::mem::take(&mut work.leaves);
        leaves.sort_unstable_by_key(|leaf| (leaf.addr, leaf.directory, leaf.index));
        let size = self.volume.block_size();
        self.read(
            work,
            &leaves,
            |leaf| leaf.addr,
            |worker, leaf, block| {
                if let Some(leaf) = Leaf::new(inodes, leaf, block, size) {
                    worker.check_leaf(&leaf);
                }
            },
        );
        let digests = twins::repeated(std::mem::take(&mut work.left.digests));
        if digests.is_empty() {
            return;
        }
        self.read(
            work,
            &leaves,
            |leaf| leaf.addr,
            |worker, leaf, block| {
                if let Some(leaf) = Leaf::new(inodes, leaf, block, size) {
                    worker.keep_twins(&leaf, &digests);
                }
            },
        );
        twins::tell(std::mem::take(&mut work.twins), &mut self.findings);
    }

    fn read_clusters(&mut self, work: &mut Work<'_>) {
        let mut clusters = std::mem::take(&mut work.clusters);
        clusters.sort_unstable_by_key(|cluster| (cluster.addr, cluster.ino, cluster.index));
        self.read(
            work,
            &clusters,
            |cluster| cluster.addr,
            |worker, cluster, block| {
                worker.check_cluster(cluster, block);
            },
        );
    }

    fn check_sealed(&mut self, sealed: &[Nid]) {
        let new = || self.findings.another();
        let workers = share(self.threads, sealed.len(), new, |findings, job| {
            let Some(ino) = sealed.get(job) else { return };
            if let Some(wrong) = files::check_sealed(self.reader, *ino) {
                findings.add(Code::Verity, Object::Inode(*ino), || wrong);
            }
        });
        for found in workers {
            self.findings.merge(found);
        }
    }

    fn check_names(&mut self, inodes: &Inodes<'_>, usage: &Usages) {
        let orphans = orphans::check(self.volume, inodes, &mut self.findings);
        names::Names { volume: self.volume, inodes, orphans: &orphans }.check(&mut self.findings);
        quota::check(self.reader, inodes, usage, &mut self.findings);
    }
}

/// The work that workers leave to be done.
struct Work<'a> {
    table: &'a NodeTable,
    reached: &'a Reached,
    facts: Vec<facts::Facts>,
    usage: Usages,
    /// The blocks of all inodes that are counted.
    blocks: u64,
    left: Left,
    twins: Vec<worker::Twin>,
    leaves: Vec<worker::LeafRef>,
    clusters: Vec<worker::ClusterRef>,
}

impl<'a> Work<'a> {
    fn new(table: &'a NodeTable, reached: &'a Reached) -> Work<'a> {
        let (facts, usage, blocks, left, twins, leaves, clusters) = Default::default();
        Work { table, reached, facts, usage, blocks, left, twins, leaves, clusters }
    }

    fn take(&mut self, mut worker: Worker<'_>, findings: &mut Findings) {
        findings.merge(worker.findings);
        self.facts.append(&mut worker.facts);
        self.usage.merge(worker.usage);
        self.blocks += worker.blocks;
        self.left.merge(worker.left);
        self.twins.append(&mut worker.twins);
        self.leaves.append(&mut worker.leaves);
        self.clusters.append(&mut worker.clusters);
    }

    /// Ends the counting of inodes once all nodes were read.
    fn close(&mut self, volume: &Volume, inodes: &Inodes<'_>, findings: &mut Findings) {
        for facts in inodes.open() {
            counts::check(facts, findings);
            self.usage.add(volume, facts);
            self.blocks += facts.counted_blocks();
        }
    }
}

#[cfg(test)]
mod tests;
