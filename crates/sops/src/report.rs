//! The report about keys that did not work, laid out as SOPS has it: people know it from their terminals and from Flux.

/// Columns of reasons and of the last paragraph.
const REASON: usize = 60;
const PARAGRAPH: usize = 75;

/// A key that did not work.
pub(crate) fn key(name: &str, reason: &str) -> String {
    let reason = indented(&wrapped(reason, REASON), "  | ");
    let reason = format!("-{}", reason.get(1..).unwrap_or_default());
    format!("{name}: FAILED\n{}", indented(&reason, "  "))
}

/// A group, with its keys when none of them worked.
pub(crate) fn group(index: usize, failed: Option<&[String]>) -> String {
    match failed {
        None => format!("Group {index}: SUCCESS"),
        Some(keys) => format!("Group {index}: FAILED\n{}", indented(&keys.join("\n\n"), "  ")),
    }
}

/// The last paragraph; `needed` is 0 when the document has one group.
pub(crate) fn conclusion(needed: usize, found: usize) -> String {
    let text = match needed {
        0 => "Recovery failed because no master key was able to decrypt the file. In order for SOPS to recover the file, \
              at least one key has to be successful, but none were."
            .to_owned(),
        _ => format!(
            "Recovery failed because the file was encrypted with a Shamir threshold of {needed}, but only {found} part(s) \
             were successfully recovered, one for each successful key group. In order for SOPS to recover the file, at \
             least {needed} groups have to be successful. In order for a group to be successful, decryption has to succeed \
             with any of the keys in that key group."
        ),
    };
    wrapped(&text, PARAGRAPH)
}

fn indented(text: &str, prefix: &str) -> String {
    text.split('\n').map(|line| format!("{prefix}{line}")).collect::<Vec<_>>().join("\n")
}

/// Breaks lines between words; a word that is longer than a line has one for itself.
fn wrapped(text: &str, columns: usize) -> String {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let (mut current, mut length) = (String::new(), 0);
        for word in line.split_whitespace() {
            let word_length = word.chars().count();
            if length > 0 && length + 1 + word_length > columns {
                lines.push(std::mem::take(&mut current));
                length = 0;
            }
            if length > 0 {
                current.push(' ');
                length += 1;
            }
            current.push_str(word);
            length += word_length;
        }
        lines.push(current);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report() {
        let long = "a".repeat(70);
        let keys =
            [key("age1x", "no identity"), key("arn:x", &format!("failed with {long} and more\nsecond line"))];
        let expected = format!(
            "Group 1: FAILED\n  age1x: FAILED\n    - | no identity\n  \n  arn:x: FAILED\n    - | failed with\n      | {long}\n      | and more\n      | second line"
        );
        assert_eq!(group(1, Some(&keys)), expected);
        assert_eq!(group(0, None), "Group 0: SUCCESS");
        assert!(conclusion(0, 0).lines().all(|line| line.len() <= PARAGRAPH));
        assert!(conclusion(2, 1).replace('\n', " ").contains("threshold of 2, but only 1 part(s) were"));
    }
}
