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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_where_the_reader_is() {
        let tokyo = TimeZone::fixed(jiff::tz::offset(9));
        assert_eq!(rfc3339("2022-02-03T01:37:54Z", &tokyo), "2022-02-03T10:37:54+09:00");
        assert_eq!(rfc3339("2022-02-03T01:37:54Z", &TimeZone::UTC), "2022-02-03T01:37:54Z");
        assert_eq!(rfc3339("soon", &TimeZone::UTC), "soon");
    }
}
