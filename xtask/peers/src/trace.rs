//! The requests that a guest's kernel sent to its disk, as its tracer writes them down.

use pumice_lab::requests::TracedDisk;
use pumice_media::{BlockDevice, Lba};
use xtask::Failure;

/// The word before the fields of a request that is done.
const REQUEST: &str = " block_rq_complete: ";
/// The word before what a program wrote into the trace.
const MARK: &str = " tracing_mark_write: ";
/// Bytes of the tracer's sectors.
const SECTOR: u64 = 512;

/// What a line of a trace says.
pub(crate) enum Event<'a> {
    Request(Request<'a>),
    Mark(&'a str),
}

/// A request: its flags by the kernel's letters, and its sectors.
pub(crate) struct Request<'a> {
    flags: &'a str,
    first: u64,
    count: u64,
}

/// The events of a trace, in order.
pub(crate) fn events(trace: &str) -> impl Iterator<Item = Result<Event<'_>, Failure>> {
    trace.lines().filter_map(|line| {
        if let Some((_, fields)) = line.split_once(REQUEST) {
            let request = request(fields).ok_or_else(|| format!("not a request: {line}").into());
            return Some(request.map(Event::Request));
        }
        line.split_once(MARK).map(|(_, mark)| Ok(Event::Mark(mark.trim())))
    })
}

/// `252,0 WS () 2048 + 8 [0]`
fn request(fields: &str) -> Option<Request<'_>> {
    let [_, flags, _, first, "+", count, ..] = fields.split_whitespace().collect::<Vec<_>>()[..] else {
        return None;
    };
    Some(Request { flags, first: first.parse().ok()?, count: count.parse().ok()? })
}

impl Request<'_> {
    /// Has a disk do it. What is written is not zero, and else of no matter: no figure hangs on it.
    pub(crate) fn play(&self, disk: &mut TracedDisk) -> Result<(), Failure> {
        // F before the kind is a flush before it, which the kernel sends as a request of its own.
        let flags = self.flags.strip_prefix('F').unwrap_or(self.flags);
        let (kind, more) = flags.split_at_checked(1).ok_or("a request of no kind")?;
        if kind == "F" {
            return Ok(disk.flush()?);
        }
        let block = u64::from(disk.block_bytes()) / SECTOR;
        if !self.first.is_multiple_of(block) || !self.count.is_multiple_of(block) {
            return Err(format!("{} sectors at {} are not whole blocks", self.count, self.first).into());
        }
        let (first, count) = (Lba(self.first / block), self.count / block);
        let bytes = usize::try_from(self.count * SECTOR)?;
        match kind {
            // The end of a write that had flushes around it.
            _ if count == 0 => return Ok(()),
            "R" => disk.read(first, &mut vec![0; bytes])?,
            "W" => disk.write(first, &vec![0x5A; bytes])?,
            "D" => disk.discard(first, count)?,
            _ => return Err(format!("a request of kind {}", self.flags).into()),
        }
        // After the kind it is a write that is durable when it is done.
        if more.starts_with('F') { Ok(disk.flush()?) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use pumice_lab::{Medium, on_stack, requests::Kind};

    use super::*;

    const TRACE: &str = "\
# tracer: nop
 mkfs-7 [000] ..... 1.5: block_rq_complete: 252,0 WS () 16 + 8 [0]
 mkfs-7 [000] ..... 1.6: block_rq_complete: 252,0 FF () 18446744073709551615 + 0 [0]
 play-8 [000] ..... 1.7: tracing_mark_write: begin
 play-8 [000] ..... 1.8: block_rq_complete: 252,0 RA () 16 + 8 [0]
 play-8 [000] ..... 1.9: block_rq_complete: 252,0 FWFS () 64 + 16 [0]
 play-8 [000] ..... 1.9: block_rq_complete: 252,0 DS () 16 + 8 [0]
";

    fn played(trace: &str) -> Result<(TracedDisk, Vec<usize>), Failure> {
        let mut disk = on_stack::disk("PostMark 1:10, 22 MB".parse()?, &Medium::default())?;
        let mut marks = Vec::new();
        for event in events(trace) {
            match event? {
                Event::Request(request) => request.play(&mut disk)?,
                Event::Mark(_) => marks.push(disk.requests().len()),
            }
        }
        Ok((disk, marks))
    }

    #[test]
    fn requests_are_played_as_they_were_sent() {
        let (disk, marks) = played(TRACE).unwrap();
        let asked: Vec<_> = disk.requests().iter().map(|it| (it.kind, it.first, it.blocks)).collect();
        let want = [(Kind::Write, 2, 1), (Kind::Read, 2, 1), (Kind::Write, 8, 2), (Kind::Discard, 2, 1)];
        assert_eq!((asked.as_slice(), marks.as_slice()), (want.as_slice(), [1].as_slice()));
    }

    #[test]
    fn a_request_of_half_a_block_is_refused() {
        for wrong in ["WS () 17 + 8 [0]", "WS () 16 + 4 [0]", "N () 16 + 8 [0]", "WS () 16"] {
            let trace = format!(" mkfs-7 [000] ..... 1.5: block_rq_complete: 252,0 {wrong}\n");
            assert!(played(&trace).is_err(), "{wrong}");
        }
    }
}
