//! Characters that libyaml prints.

/// Returns true for a character that libyaml prints as it is. Tabs and everything beyond the basic plane are not
/// among them (KZ-1407).
pub(crate) fn is_printable(character: char) -> bool {
    matches!(character, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && character != '\u{feff}'
}
