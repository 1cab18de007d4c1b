//! A disk served to QEMU: NBD with fixed newstyle negotiation and simple replies, one client at a time.

use std::{
    io::{self, Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use pumice_lab::requests::TracedDisk;
use pumice_media::{BlockDevice, Lba};

const MAGIC: &[u8; 8] = b"NBDMAGIC";
const OPTION: &[u8; 8] = b"IHAVEOPT";
const REPLY: u64 = 0x0003_e889_0455_65a9;
const REQUEST: u32 = 0x2560_9513;
const SIMPLE: u32 = 0x6744_6698;
/// Flags of the disk: there are flags; it knows flush, FUA and trim.
const FLAGS: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 5;
/// A request wants its bytes to be durable.
const FUA: u16 = 1;
/// Error numbers.
const EIO: u32 = 5;
const EINVAL: u32 = 22;

/// The interval of looking for a client.
const PAUSE: Duration = Duration::from_millis(20);

/// The socket for QEMU.
pub(crate) fn listen(socket: &Path) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(socket)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Serves one client after the other until it is over.
pub(crate) fn serve(
    listener: &UnixListener,
    served: &Mutex<TracedDisk>,
    over: &AtomicBool,
) -> io::Result<()> {
    while !over.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((client, _)) => {
                client.set_nonblocking(false)?;
                // One that goes away in the middle is followed by another, or by the end.
                let _ = Session { client, served }.run();
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(PAUSE),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

struct Session<'a> {
    client: UnixStream,
    served: &'a Mutex<TracedDisk>,
}

impl Session<'_> {
    fn run(mut self) -> io::Result<()> {
        if self.negotiate()? {
            while self.request()? {}
        }
        Ok(())
    }

    /// True if the client wants the disk.
    fn negotiate(&mut self) -> io::Result<bool> {
        const FIXED_NO_ZEROES: u16 = 3;
        const EXPORT_NAME: u32 = 1;
        const ABORT: u32 = 2;
        const INFO: u32 = 6;
        const GO: u32 = 7;
        const ACK: u32 = 1;
        const EXPORT: u32 = 3;
        const UNSUPPORTED: u32 = 1 << 31 | 1;
        self.client.write_all(&[&MAGIC[..], &OPTION[..], &FIXED_NO_ZEROES.to_be_bytes()].concat())?;
        let _client_flags = self.u32()?;
        let (bytes, block) = {
            let disk = self.served.lock().unwrap_or_else(PoisonError::into_inner);
            (disk.blocks() * u64::from(disk.block_bytes()), disk.block_bytes())
        };
        loop {
            if self.bytes::<8>()? != *OPTION {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let (option, length) = (self.u32()?, self.u32()?);
            let mut data = vec![0; length as usize];
            self.client.read_exact(&mut data)?;
            match option {
                EXPORT_NAME => {
                    self.client.write_all(&[&bytes.to_be_bytes()[..], &FLAGS.to_be_bytes()].concat())?;
                    return Ok(true);
                }
                ABORT => {
                    self.answer(option, ACK, &[])?;
                    return Ok(false);
                }
                INFO | GO => {
                    let export = [&[0, 0][..], &bytes.to_be_bytes(), &FLAGS.to_be_bytes()].concat();
                    self.answer(option, EXPORT, &export)?;
                    let sizes = [block, block, 32 << 20].map(u32::to_be_bytes).concat();
                    self.answer(option, EXPORT, &[&[0, 3][..], &sizes].concat())?;
                    self.answer(option, ACK, &[])?;
                    if option == GO {
                        return Ok(true);
                    }
                }
                _ => self.answer(option, UNSUPPORTED, &[])?,
            }
        }
    }

    fn answer(&mut self, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
        let length = u32::try_from(data.len()).map_err(io::Error::other)?;
        let head =
            [&REPLY.to_be_bytes()[..], &[option, kind, length].map(u32::to_be_bytes).concat()].concat();
        self.client.write_all(&[&head, data].concat())
    }

    /// One request; false if it was the last.
    fn request(&mut self) -> io::Result<bool> {
        const READ: u16 = 0;
        const WRITE: u16 = 1;
        const DISCONNECT: u16 = 2;
        const FLUSH: u16 = 3;
        const TRIM: u16 = 4;
        if self.u32()? != REQUEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let (flags, kind) = (u16::from_be_bytes(self.bytes()?), u16::from_be_bytes(self.bytes()?));
        let handle = self.bytes::<8>()?;
        let (offset, length) = (u64::from_be_bytes(self.bytes()?), self.u32()?);
        let mut data = vec![0; if matches!(kind, READ | WRITE) { length as usize } else { 0 }];
        if kind == WRITE {
            self.client.read_exact(&mut data)?;
        }
        let done = {
            let mut disk = self.served.lock().unwrap_or_else(PoisonError::into_inner);
            let block = u64::from(disk.block_bytes());
            let (first, count) = (Lba(offset / block), u64::from(length) / block);
            let whole = offset.is_multiple_of(block) && u64::from(length).is_multiple_of(block);
            let done = match kind {
                _ if !whole => Err(EINVAL),
                READ => disk.read(first, &mut data).map_err(|_| EIO),
                WRITE => disk.write(first, &data).map_err(|_| EIO),
                FLUSH => disk.flush().map_err(|_| EIO),
                TRIM => disk.discard(first, count).map_err(|_| EIO),
                DISCONNECT => return Ok(false),
                _ => Err(EINVAL),
            };
            done.and_then(|()| if flags & FUA == 0 { Ok(()) } else { disk.flush().map_err(|_| EIO) })
        };
        let error = done.err().unwrap_or(0);
        let mut reply = [SIMPLE.to_be_bytes(), error.to_be_bytes()].concat();
        reply.extend(handle);
        if kind == READ && error == 0 {
            reply.extend(data);
        }
        self.client.write_all(&reply)?;
        Ok(true)
    }

    fn u32(&mut self) -> io::Result<u32> {
        self.bytes().map(u32::from_be_bytes)
    }

    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.client.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}
