//! LZO1X, and Linux's variant of it with runs of zeros ("lzo-rle"), after Documentation/staging/lzo.rst.
//!
//! A stream is a row of instructions. Each names a copy from the output so far, and how many literals (0 to 3) follow
//! it; the meaning of the smallest instructions depends on the number of literals before.

/// The reach of a match of the far kind beyond its distance field.
const FAR: usize = 0x4000;
/// The reach of a three-byte match after a run of literals beyond its distance field.
const AFTER_RUN: usize = 0x800;
/// Fewest zeros of a run.
const MIN_ZERO_RUN: usize = 4;
/// The first byte of a stream with a version behind it.
const VERSIONED: u8 = 17;

/// The meaning of the next instruction byte below 16.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// No literals went before: it is a run of literals.
    Nothing,
    /// 1 to 3 literals: a match of two bytes nearby.
    Few,
    /// A run of literals: a match of three bytes farther off.
    Run,
}

/// Decompresses `input` into `out`: the number of bytes written, or `None` if it is damaged or does not fit.
pub(super) fn decompress(input: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut stream = Stream { input, at: 0, out, len: 0, zero_runs: false };
    let mut before = stream.begin()?;
    loop {
        before = match stream.instruction(before)? {
            Literals::Run => Before::Run,
            Literals::Few(0) => Before::Nothing,
            Literals::Few(count) => stream.literals(count).map(|()| Before::Few)?,
            Literals::End => break,
        };
    }
    (stream.at == input.len()).then_some(stream.len)
}

struct Stream<'a> {
    input: &'a [u8],
    at: usize,
    out: &'a mut [u8],
    len: usize,
    zero_runs: bool,
}

/// The literals after an instruction: a run of literals, the number of literals behind a match, or the end of the
/// stream.
#[derive(Clone, Copy)]
enum Literals {
    Run,
    Few(usize),
    End,
}

impl Stream<'_> {
    /// The version and the literals at the start.
    fn begin(&mut self) -> Option<Before> {
        if self.input.len() >= 5 && self.input.first() == Some(&VERSIONED) {
            self.zero_runs = *self.input.get(1)? > 0;
            self.at = 2;
        }
        let first = *self.input.get(self.at)?;
        if first <= VERSIONED {
            return Some(Before::Nothing);
        }
        self.at += 1;
        let count = usize::from(first - VERSIONED);
        self.literals(count)?;
        Some(if count < 4 { Before::Few } else { Before::Run })
    }

    /// Carries out one instruction.
    fn instruction(&mut self, before: Before) -> Option<Literals> {
        let code = usize::from(self.byte()?);
        match code {
            0..16 if before == Before::Nothing => {
                let count = self.length(code, 15)? + 3;
                self.literals(count)?;
                return Some(Literals::Run);
            }
            0..16 => {
                let distance = (usize::from(self.byte()?) << 2) + (code >> 2) + 1;
                match before {
                    Before::Run => self.copy(distance + AFTER_RUN, 3)?,
                    _ => self.copy(distance, 2)?,
                }
            }
            16..32 => return self.far_match(code),
            32..64 => {
                let length = self.length(code & 31, 31)? + 2;
                let field = self.field()?;
                self.copy((field >> 2) + 1, length)?;
                return Some(Literals::Few(field & 3));
            }
            _ => {
                let length = if code < 128 { 3 + (code >> 5 & 1) } else { 5 + (code >> 5 & 3) };
                let distance = (usize::from(self.byte()?) << 3) + (code >> 2 & 7) + 1;
                self.copy(distance, length)?;
            }
        }
        Some(Literals::Few(code & 3))
    }

    /// A match 16 to 48 KiB back, a run of zeros, or the end of the stream.
    fn far_match(&mut self, code: usize) -> Option<Literals> {
        let ahead = self.input.get(self.at..)?.first_chunk::<2>().map(|&bytes| u16::from_le_bytes(bytes));
        if self.zero_runs && code & 8 != 0 && ahead.is_some_and(|field| field & 0xFFFC == 0xFFFC) {
            let field = self.field()?;
            let length = (usize::from(self.byte()?) << 3 | code & 7) + MIN_ZERO_RUN;
            let end = self.len.checked_add(length)?;
            self.out.get_mut(self.len..end)?.fill(0);
            self.len = end;
            return Some(Literals::Few(field & 3));
        }
        let length = self.length(code & 7, 7)? + 2;
        let field = self.field()?;
        let distance = ((code & 8) << 11) + (field >> 2);
        if distance == 0 {
            return (length == 3).then_some(Literals::End);
        }
        self.copy(distance + FAR, length)?;
        Some(Literals::Few(field & 3))
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.input.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Two bytes of distance and of trailing literals.
    fn field(&mut self) -> Option<usize> {
        let bytes = self.input.get(self.at..)?.first_chunk::<2>()?;
        self.at += 2;
        Some(usize::from(u16::from_le_bytes(*bytes)))
    }

    /// A length in an instruction: `short` if it is not 0, otherwise `base`, 255 for each zero byte, and the next byte.
    fn length(&mut self, short: usize, base: usize) -> Option<usize> {
        if short != 0 {
            return Some(short);
        }
        let zeros = self.input.get(self.at..)?.iter().take_while(|&&byte| byte == 0).count();
        self.at += zeros;
        Some(base + zeros * 255 + usize::from(self.byte()?))
    }

    /// Copies `count` bytes of the input.
    fn literals(&mut self, count: usize) -> Option<()> {
        let from = self.input.get(self.at..self.at.checked_add(count)?)?;
        let end = self.len.checked_add(count)?;
        self.out.get_mut(self.len..end)?.copy_from_slice(from);
        self.at += count;
        self.len = end;
        Some(())
    }

    /// Copies `length` bytes from `distance` back; they may overlap the output, and then repeat.
    fn copy(&mut self, distance: usize, length: usize) -> Option<()> {
        let from = self.len.checked_sub(distance)?;
        let end = self.len.checked_add(length).filter(|&end| end <= self.out.len())?;
        let mut done = 0;
        while done < length {
            let step = (length - done).min(distance + done);
            self.out.copy_within(from..from + step, self.len + done);
            done += step;
        }
        self.len = end;
        Some(())
    }
}
