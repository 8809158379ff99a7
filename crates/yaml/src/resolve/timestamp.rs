//! Timestamps: which plain scalars are dates, and how the instant prints (KZ-605).

/// Parses the four forms go-yaml accepts and returns the instant as RFC 3339 text.
pub(super) fn parse(text: &str) -> Option<String> {
    // All forms start with four digits and a dash; most numbers leave here.
    if text.as_bytes().get(4) != Some(&b'-') {
        return None;
    }
    let mut rest = Cursor(text);
    let year = rest.digits(4, 4)?;
    rest.expect('-')?;
    let month = rest.digits(1, 2)?;
    rest.expect('-')?;
    let day = rest.digits(1, 2)?;
    if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
        return None;
    }
    let date = format!("{year:04}-{month:02}-{day:02}");
    if rest.0.is_empty() {
        return Some(format!("{date}T00:00:00Z"));
    }
    let separator = rest.next()?;
    let time = rest.time()?;
    match separator {
        ' ' if rest.0.is_empty() => Some(format!("{date}T{time}Z")),
        'T' | 't' => Some(format!("{date}T{time}{}", rest.zone()?)),
        _ => None,
    }
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 31,
    }
}

/// The rest of the text.
struct Cursor<'a>(&'a str);

impl Cursor<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.0.chars().next()?;
        self.0 = self.0.get(next.len_utf8()..)?;
        Some(next)
    }

    fn expect(&mut self, wanted: char) -> Option<()> {
        self.0 = self.0.strip_prefix(wanted)?;
        Some(())
    }

    fn digits(&mut self, least: usize, most: usize) -> Option<u32> {
        let count = self.0.bytes().take(most).take_while(u8::is_ascii_digit).count();
        if count < least {
            return None;
        }
        let value = self.0.get(..count)?.parse().ok()?;
        self.0 = self.0.get(count..)?;
        Some(value)
    }

    /// `h:m:s` with an optional fraction of up to nine digits, trailing zeros dropped.
    fn time(&mut self) -> Option<String> {
        let hour = self.digits(1, 2).filter(|hour| *hour < 24)?;
        self.expect(':')?;
        let minute = self.digits(1, 2).filter(|minute| *minute < 60)?;
        self.expect(':')?;
        let second = self.digits(1, 2).filter(|second| *second < 60)?;
        let mut time = format!("{hour:02}:{minute:02}:{second:02}");
        if let Some(fraction) = self.0.strip_prefix(['.', ',']) {
            let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
            if count == 0 {
                return None;
            }
            let kept = fraction.get(..count.min(9))?.trim_end_matches('0');
            if !kept.is_empty() {
                time.push('.');
                time.push_str(kept);
            }
            self.0 = fraction.get(count..)?;
        }
        Some(time)
    }

    /// `Z` or `±hh:mm` up to the end of the text.
    fn zone(&mut self) -> Option<String> {
        let zone = self.0;
        if zone == "Z" {
            return Some("Z".to_owned());
        }
        let sign = self.next().filter(|sign| matches!(sign, '+' | '-'))?;
        let hours = self.digits(2, 2).filter(|hours| *hours < 24)?;
        self.expect(':')?;
        let minutes = self.digits(2, 2).filter(|minutes| *minutes < 60)?;
        if !self.0.is_empty() {
            return None;
        }
        Some(if hours == 0 && minutes == 0 {
            "Z".to_owned()
        } else {
            format!("{sign}{hours:02}:{minutes:02}")
        })
    }
}
