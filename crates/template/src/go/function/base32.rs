//! Base32 with padding (RFC 4648).

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(5) * 8);
    for group in bytes.chunks(5) {
        let bits =
            group.iter().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte)) << (8 * (5 - group.len()));
        let used = (group.len() * 8).div_ceil(5);
        for place in 0..8 {
            let digit = usize::try_from(bits >> (35 - 5 * place) & 31).unwrap_or_default();
            let digit = ALPHABET.get(digit).filter(|_| place < used);
            out.push(digit.map_or('=', |digit| char::from(*digit)));
        }
    }
    out
}

/// Decodes, line ends left out; the error is the byte that Go complains of.
pub(super) fn decode(text: &str) -> Result<Vec<u8>, usize> {
    let text: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    let mut out = Vec::with_capacity(text.len() / 8 * 5);
    let (mut bits, mut count) = (0_u64, 0);
    for (at, byte) in text.iter().enumerate() {
        let rest = text.get(at + 1..).unwrap_or_default();
        if *byte == b'=' && count >= 2 && rest.len() < 8 {
            check_padding(rest, count, at).map_err(|fault| fault.unwrap_or(text.len()))?;
            push_group(&mut out, bits, count);
            return Ok(out);
        }
        let digit = ALPHABET.iter().position(|known| known == byte).ok_or(at)?;
        bits = bits << 5 | u64::try_from(digit).unwrap_or_default();
        count += 1;
        if count == 8 {
            push_group(&mut out, bits, count);
            (bits, count) = (0, 0);
        }
    }
    if count == 0 { Ok(out) } else { Err(text.len() - count) }
}

/// Checks what follows the first padding; the fault is a byte, or the end of the text.
fn check_padding(rest: &[u8], digits: usize, at: usize) -> Result<(), Option<usize>> {
    if rest.len() + digits < 7 {
        return Err(None);
    }
    match rest.iter().take(7 - digits).position(|byte| *byte != b'=') {
        Some(place) => Err(Some(at + place)),
        None if matches!(digits, 3 | 6) => Err(Some(at)),
        None => Ok(()),
    }
}

/// Adds the whole bytes of up to eight digits.
fn push_group(out: &mut Vec<u8>, bits: u64, digits: usize) {
    let bytes = (bits << (5 * (8 - digits))).to_be_bytes();
    out.extend(bytes.iter().skip(3).take(digits * 5 / 8));
}
