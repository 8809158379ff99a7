//! Times as tables show them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Returns a time as RFC 3339 in a time zone, whole seconds, `Z` where the offset is zero (CLI-G13). Text that is not
/// a time is returned as it is.
pub(crate) fn rfc3339(text: &str, zone: &TimeZone) -> String {
    let Ok(time) = text.parse::<Timestamp>() else { return text.to_owned() };
    let zoned = time.to_zoned(zone.clone());
    let format = if zoned.offset().is_zero() { "%Y-%m-%dT%H:%M:%SZ" } else { "%Y-%m-%dT%H:%M:%S%:z" };
    zoned.strftime(format).to_string()
}

/// Returns the time between two moments as kubectl shows ages: the larger it is, the coarser.
pub(crate) fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(since).as_secs();
    let two = |(many, large): (i64, char), (few, small): (i64, char)| match few {
        0 => format!("{many}{large}"),
        few => format!("{many}{large}{few}{small}"),
    };
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two((minutes, 'm'), (seconds % 60, 's')),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two((hours, 'h'), (minutes % 60, 'm')),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two((days, 'd'), (hours % 24, 'h')),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two((days / 365, 'y'), (days % 365, 'd')),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(-5, "<invalid>")]
    #[case(-1, "0s")]
    #[case(119, "119s")]
    #[case(120, "2m")]
    #[case(125, "2m5s")]
    #[case(3_600, "60m")]
    #[case(11_000, "3h3m")]
    #[case(90_000, "25h")]
    #[case(180_000, "2d2h")]
    #[case(864_000, "10d")]
    #[case(63_158_400, "2y1d")]
    #[case(300_000_000, "9y")]
    fn ages_are_those_of_kubectl(#[case] seconds: i64, #[case] expected: &str) {
        let since = Timestamp::from_second(1_000_000_000).unwrap();
        assert_eq!(age(since, Timestamp::from_second(1_000_000_000 + seconds).unwrap()), expected);
    }

    #[test]
    fn times_are_shown_where_the_reader_is() {
        let tokyo = TimeZone::fixed(jiff::tz::offset(9));
        assert_eq!(rfc3339("2022-02-03T01:37:54Z", &tokyo), "2022-02-03T10:37:54+09:00");
        assert_eq!(rfc3339("2022-02-03T01:37:54Z", &TimeZone::UTC), "2022-02-03T01:37:54Z");
        assert_eq!(rfc3339("soon", &TimeZone::UTC), "soon");
    }
}
