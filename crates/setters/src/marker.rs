//! The marker grammar (ST-7): the whole comment is one JSON object of strings.

use std::collections::BTreeMap;

/// The member that names the setter.
const MEMBER: &str = "$imagepolicy";

/// Text that a file with markers contains, byte for byte; others are not parsed at all (ST-2).
pub const SCREEN: &str = "\"$imagepolicy\"";

/// Returns the setter named by a comment, whose text may still begin with `#` signs.
pub(crate) fn parse(comment: &str) -> Option<String> {
    let text = comment.trim_start_matches('#').trim();
    if !text.starts_with('{') {
        return None;
    }
    let mut members: BTreeMap<String, String> = serde_json::from_str(text).ok()?;
    members.remove(MEMBER)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case(r#" {"$imagepolicy": "ns:app"}"#, Some("ns:app"))]
    #[case(r#"{"$imagepolicy":"ns:app:tag"} "#, Some("ns:app:tag"))]
    #[case(r#"## {"$imagepolicy": "ns:app", "x": "y"}"#, Some("ns:app"))]
    #[case(r#" {"$imagepolicy": "ns:app", "$imagepolicy": "ns:dig"}"#, Some("ns:dig"))]
    #[case(r#" {"$imagepolicy": "ns:app"} note"#, None)]
    #[case(r#" note {"$imagepolicy": "ns:app"}"#, None)]
    #[case(r#" {'$imagepolicy': 'ns:app'}"#, None)]
    #[case(r#" {"$imagepolicy": "ns:app", "x": 1}"#, None)]
    #[case(r#" {"$ImagePolicy": "ns:app"}"#, None)]
    fn a_marker_is_the_whole_comment(#[case] comment: &str, #[case] setter: Option<&str>) {
        assert_eq!(super::parse(comment).as_deref(), setter);
    }
}
