//! Shamir's secret sharing over bytes, as Vault and SOPS do it (KS-SOPS-4): a share is the bytes of the polynomials at one
//! place, and the place itself as the last byte.

use zeroize::Zeroizing;

use crate::error::KeyError;

/// Shares that are combined at most; a place is one byte, and 0 is the secret itself.
pub(crate) const MAX_SHARES: usize = 255;

/// Combines shares into the secret. Too few of them give another secret.
pub(crate) fn combine(shares: &[Zeroizing<Vec<u8>>]) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    if !(2..=MAX_SHARES).contains(&shares.len()) {
        return Err(KeyError::Shares("fewer than two parts cannot be used to reconstruct the secret"));
    }
    let split: Option<Vec<(&u8, &[u8])>> = shares.iter().map(|share| share.split_last()).collect();
    let split = split.ok_or(KeyError::Shares("parts must be at least two bytes"))?;
    let length = split.first().map_or(0, |(_, values)| values.len());
    if length == 0 || split.iter().any(|(_, values)| values.len() != length) {
        return Err(KeyError::Shares("all parts must be the same length"));
    }
    let places: Vec<u8> = split.iter().map(|(place, _)| **place).collect();
    let mut sorted = places.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() != places.len() {
        return Err(KeyError::Shares("duplicate part detected"));
    }
    let mut secret = Zeroizing::new(vec![0; length]);
    for (place, values) in &split {
        let weight = weight(**place, &places);
        for (byte, value) in secret.iter_mut().zip(values.iter()) {
            *byte ^= multiply(*value, weight);
        }
    }
    Ok(secret)
}

/// Returns Lagrange's factor of a place for the value at 0.
fn weight(place: u8, places: &[u8]) -> u8 {
    let others = places.iter().filter(|other| **other != place);
    others.fold(1, |product, other| multiply(product, multiply(*other, inverse(place ^ other))))
}

/// Multiplies in the field of 256 elements with the polynomial of AES, without branches on secrets.
fn multiply(a: u8, b: u8) -> u8 {
    let (mut a, mut product) = (a, 0);
    for bit in 0..8 {
        let is_set = (b >> bit) & 1;
        product ^= a & 0_u8.wrapping_sub(is_set);
        let carry = 0_u8.wrapping_sub(a >> 7);
        a = (a << 1) ^ (0x1b & carry);
    }
    product
}

/// Returns the inverse, which is the 254th power.
fn inverse(a: u8) -> u8 {
    (0..253).fold(a, |power, _| multiply(power, a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses() {
        for a in 1..=u8::MAX {
            assert_eq!(multiply(a, inverse(a)), 1, "{a}");
        }
        assert_eq!(multiply(0x57, 0x83), 0xc1);
    }

    /// Shares of a line and of a parabola through the secret.
    #[test]
    fn shares_give_the_secret() {
        let secret = [7_u8, 0, 255, 42];
        let (first, second) = ([3_u8, 99, 1, 200], [250_u8, 5, 17, 0]);
        let share = |place: u8| {
            let mut share = Zeroizing::new(Vec::new());
            for ((secret, first), second) in secret.iter().zip(first).zip(second) {
                let square = multiply(place, place);
                share.push(secret ^ multiply(first, place) ^ multiply(second, square));
            }
            share.push(place);
            share
        };
        let shares = [share(3), share(77), share(255)];
        assert_eq!(combine(&shares).unwrap().as_slice(), secret);
        assert_ne!(combine(&shares[..2]).unwrap().as_slice(), secret, "two are not enough");
        combine(&[share(3), share(3)]).unwrap_err();
        combine(&shares[..1]).unwrap_err();
    }
}
