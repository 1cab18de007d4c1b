//! Sizes on the command line: `4096`, `4k`, `4KiB`, `1.5G`. Units are powers of 1024.

/// Bytes in a size.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("invalid size `{text}` (want a number and a unit, such as 4096, 4k, 4KiB or 1.5G)");
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = shift_of(unit).ok_or_else(wrong)?;
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let whole: u128 = whole.parse().map_err(|_| wrong())?;
    if part.is_empty() || part.len() > 18 || part.contains('.') {
        return Err(wrong());
    }
    let scale = u32::try_from(part.len()).map_or(1, |digits| 10_u128.pow(digits));
    let part: u128 = part.parse().map_err(|_| wrong())?;
    let bytes = whole.checked_mul(1 << shift).and_then(|bytes| bytes.checked_add((part << shift) / scale));
    bytes
        .and_then(|bytes| u64::try_from(bytes).ok())
        .ok_or_else(|| format!("invalid size `{text}` (want less than 16 EiB)"))
}

/// The same; at least 1.
pub(crate) fn parse_some(text: &str) -> Result<u64, String> {
    match parse(text)? {
        0 => Err(format!("`{text}` is too small (want at least 1 byte)")),
        bytes => Ok(bytes),
    }
}

/// The power of two of a unit.
fn shift_of(unit: &str) -> Option<u32> {
    let unit = unit.to_ascii_lowercase();
    let letter = unit.strip_suffix("ib").or_else(|| unit.strip_suffix('b')).unwrap_or(&unit);
    Some(match letter {
        "" if unit != "ib" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        "p" => 50,
        "e" => 60,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_understood() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("4096B", 4096),
            ("4k", 4096),
            ("4K", 4096),
            ("4KiB", 4096),
            ("4kb", 4096),
            ("1.5G", 3 << 29),
            ("0.5M", 1 << 19),
            ("15E", 15 << 60),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "k",
            "4x",
            "-1",
            "1.2.3k",
            "1.k",
            ".5k",
            "ib",
            "16E",
            "99999999999999999999999999999999999999999",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
