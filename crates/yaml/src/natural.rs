//! The order of mapping keys in the output (KZ-1403).

use std::cmp::Ordering;

/// Compares two keys so that `a2` comes before `a10`, symbols before letters, and capitals before small letters.
fn compare(left: &str, right: &str) -> Ordering {
    if left.is_ascii() && right.is_ascii() {
        return compare_units(left.as_bytes(), right.as_bytes(), |byte| char::from(*byte));
    }
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    compare_units(&left, &right, |character| *character)
}

fn compare_units<U: PartialEq>(left: &[U], right: &[U], as_char: impl Fn(&U) -> char) -> Ordering {
    let Some(at) = left.iter().zip(right).position(|(a, b)| a != b) else {
        return left.len().cmp(&right.len());
    };
    let (Some(a), Some(b)) = (left.get(at).map(&as_char), right.get(at).map(&as_char)) else {
        return left.len().cmp(&right.len());
    };
    match (a.is_alphabetic(), b.is_alphabetic()) {
        (true, true) => return a.cmp(&b),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let start = if (a == '0' || b == '0') && follows_non_zero_digit(left, at, &as_char) { 1 } else { 0 };
    let (left_number, left_end) = number_at(left, at, start, &as_char);
    let (right_number, right_end) = number_at(right, at, start, &as_char);
    left_number.cmp(&right_number).then(left_end.cmp(&right_end)).then(a.cmp(&b))
}

/// Returns true when the digits just before `at` hold one that is not zero; then zeros at `at` are not leading ones.
fn follows_non_zero_digit<U>(units: &[U], at: usize, as_char: impl Fn(&U) -> char) -> bool {
    let before = units.get(..at).unwrap_or_default();
    before.iter().rev().map(as_char).take_while(char::is_ascii_digit).any(|digit| digit != '0')
}

/// The decimal number starting at `at` and where it ends; overflow wraps as Go's arithmetic does.
fn number_at<U>(units: &[U], at: usize, start: i64, as_char: impl Fn(&U) -> char) -> (i64, usize) {
    let mut value = start;
    let mut end = at;
    for digit in units.get(at..).unwrap_or_default().iter().map_while(|unit| as_char(unit).to_digit(10)) {
        value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
        end += 1;
    }
    (value, end)
}

/// Puts keys into the order of the output.
pub fn sort_keys(keys: &mut [&str]) {
    sort(keys, &|key| key);
}

/// Runs of this length and below are sorted in place.
const SHORT: usize = 12;

/// Sorts by [`compare`]; equal keys stay in order. The order is Go's, whose numbers overflow, so that it is no order at all
/// for keys with very long numbers: the standard library's sorts may panic then, this one does not.
pub(crate) fn sort<'k, T: Copy>(items: &mut [T], key: &impl Fn(T) -> &'k str) {
    let is_less = |left: T, right: T| compare(key(left), key(right)) == Ordering::Less;
    if items.len() <= SHORT {
        return sort_short(items, &is_less);
    }
    let (left, right) = items.split_at_mut(items.len() / 2);
    sort(left, key);
    sort(right, key);
    let (mut left, mut right) = (left.iter().copied().peekable(), right.iter().copied().peekable());
    let mut merged = Vec::with_capacity(left.len() + right.len());
    while let (Some(first), Some(second)) = (left.peek(), right.peek()) {
        let next = if is_less(*second, *first) { &mut right } else { &mut left };
        merged.extend(next.next());
    }
    merged.extend(left.chain(right));
    items.copy_from_slice(&merged);
}

fn sort_short<T: Copy>(items: &mut [T], is_less: &impl Fn(T, T) -> bool) {
    for end in 1..items.len() {
        for at in (0..end).rev() {
            match items.get_mut(at..) {
                Some([before, item, ..]) if is_less(*item, *before) => std::mem::swap(before, item),
                _ => break,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{compare, sort};

    #[test]
    fn regression_fuzz_numbers_that_overflow_sort_without_panic() {
        let keys: Vec<String> = (0..200_u64)
            .map(|n| format!("{}9{}", "7".repeat((n % 23) as usize), n * n * 0x9e37_79b9))
            .collect();
        let mut sorted: Vec<&str> = keys.iter().map(String::as_str).collect();
        sort(&mut sorted, &|key| key);
        assert_eq!(sorted.len(), keys.len());
    }

    #[test]
    fn long_lists_of_keys_are_sorted_like_short_ones() {
        let keys: Vec<String> = (0..100).map(|n| format!("k{}", (n * 37) % 100)).collect();
        let mut sorted: Vec<&str> = keys.iter().map(String::as_str).collect();
        sort(&mut sorted, &|key| key);
        assert!(sorted.iter().copied().eq((0..100).map(|n| format!("k{n}"))));
    }

    #[test]
    fn natural_order_puts_symbols_first_and_counts_digits() {
        let mut keys = ["ab", "a10", "B", "a-b", "a2", "_u", "a.b", "a1"];
        keys.sort_by(|a, b| compare(a, b));
        assert_eq!(keys, ["_u", "B", "a-b", "a.b", "a1", "a2", "a10", "ab"]);
    }

    #[test]
    fn leading_zeros_count_only_after_a_digit() {
        let mut keys = ["a100", "a10", "a01", "a1"];
        keys.sort_by(|a, b| compare(a, b));
        assert_eq!(keys, ["a1", "a01", "a10", "a100"]);
    }
}
