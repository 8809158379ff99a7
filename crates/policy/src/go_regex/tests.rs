//! Syntax where the engines differ (DEP-EXPR-1).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use proptest::prelude::*;
use rstest::rstest;

use super::{GoRegexError, compile, expand};

#[rstest]
#[case("[^[]", "[", false)]
#[case("^[[]a$", "[a", true)]
#[case("^[a&&b]+$", "a&b", true)]
#[case("^[+--]$", ",", true)]
#[case("^[~~]$", "~", true)]
#[case(r"^\Qa.b\E$", "a.b", true)]
#[case(r"^\Qa.b\E$", "axb", false)]
#[case(r"^\101$", "A", true)]
#[case("^{$", "{", true)]
#[case("^a{$", "a{", true)]
#[case("^a{,3}$", "a{,3}", true)]
#[case(r"^\<a\>$", "<a>", true)]
#[case(r"^\d$", "\u{661}", false)]
#[case(r"^\w$", "\u{e9}", false)]
#[case(r"^[\w-]+$", "a-b", true)]
#[case(r"^[^\d]$", "x", true)]
#[case(r"^[\D]$", "x", true)]
#[case(r"^[]a]+$", "]a", true)]
#[case(r"^[[:alpha:]\]]+$", "a]", true)]
#[case("^[[:]+$", ":[", true)]
#[case(r"\bfoo\b", "a foo b", true)]
#[case(r"^foo\Bbar$", "foobar", true)]
#[case(r"^\pL\p{Greek}\PN\p{^L}$", "a\u{3b1}b1", true)]
#[case(r"^\x41\x{42}\t$", "AB\t", true)]
#[case("^a$", "a\n", false)]
#[case("^(?i)ABC$", "abc", true)]
#[case("^(?i:A)b$", "aB", false)]
#[case("(?s)^a.b$", "a\nb", true)]
#[case("^(?iis)A.b$", "a\nB", true)]
#[case("^(?i-i)A(?si-sm:.)$", "aB", false)]
#[case("^(?i-i)A(?si-sm:.)$", "AB", true)]
#[case("^(?)a(?:b)$", "ab", true)]
#[case(r"^a b#c$", "a b#c", true)]
#[case("^(?:a{2}|b+?)$", "aa", true)]
fn patterns_mean_what_go_means(#[case] pattern: &str, #[case] text: &str, #[case] matches: bool) {
    assert_eq!(compile(pattern).unwrap().is_match(text), matches);
}

#[rstest]
#[case("a(", "missing closing ): `a(`")]
#[case("a)", "unexpected ): `a)`")]
#[case("[a", "missing closing ]: `[a`")]
#[case("a**", "invalid nested repetition operator: `**`")]
#[case("a*?+", "invalid nested repetition operator: `*?+`")]
#[case("*a", "missing argument to repetition operator: `*`")]
#[case("*?a", "missing argument to repetition operator: `*?`")]
#[case("|{2}?", "missing argument to repetition operator: `{2}?`")]
#[case("a(?i)*", "missing argument to repetition operator: `*`")]
#[case("(|+)", "missing argument to repetition operator: `+`")]
#[case("x{1001}", "invalid repeat count: `{1001}`")]
#[case("x{3,2}", "invalid repeat count: `{3,2}`")]
#[case(r"a\", "trailing backslash at end of expression: ``")]
#[case(r"(a)\1", r"invalid escape sequence: `\1`")]
#[case(r"\Z", r"invalid escape sequence: `\Z`")]
#[case("[z-a]", "invalid character class range: `z-a`")]
#[case("[[:foo:]]", "invalid character class range: `[:foo:]`")]
#[case("[[:[:alpha:]x]", "invalid character class range: `[:[:alpha:]`")]
#[case("(?=a)", "invalid or unsupported Perl syntax: `(?=`")]
#[case("^(?!v)", "invalid or unsupported Perl syntax: `(?!`")]
#[case("(?ixa", "invalid or unsupported Perl syntax: `(?ix`")]
#[case("(?i", "invalid or unsupported Perl syntax: `(?i`")]
#[case("(?i-)a", "invalid or unsupported Perl syntax: `(?i-)`")]
#[case("(?i--m)a", "invalid or unsupported Perl syntax: `(?i--`")]
#[case("a(?é)", "invalid or unsupported Perl syntax: `(?é`")]
#[case("(?P<a b>x)", "invalid named capture: `(?P<a b>`")]
#[case("(?P<é>x)", "invalid named capture: `(?P<é>`")]
fn what_go_refuses_is_refused_in_its_words(#[case] pattern: &str, #[case] text: &str) {
    assert_eq!(compile(pattern).unwrap_err().to_string(), format!("error parsing regexp: {text}"));
}

/// Templates, each with the result of Go's `Regexp.ExpandString` for the match in `main-7b-x`.
#[rstest]
#[case("(?P<v>[0-9])|(?P<v>b)", "$v", "7")]
#[case("(?P<v>z)|(?P<v>7)", "$v", "7")]
#[case("(?P<v>m)(?P<v>a)", "$v-$2", "m-a")]
#[case("(?P<1st>m)(?P<2>a)", "$1st-$2-${2}", "m-a-a")]
#[case("(m)", "$1x-${1}x-$9-${nope}", "-mx--")]
#[case("(?P<v>m)", "$$v-${v-${}-$-$", "$v-${v-${}-$-$")]
#[case("(?P<v>m)", "$vé ${v é} $01 $999999999999999999999", " ${v é}  ")]
fn templates_are_filled_as_go_fills_them(
    #[case] pattern: &str,
    #[case] template: &str,
    #[case] expected: &str,
) {
    let mut text = String::new();
    expand(&compile(pattern).unwrap().captures("main-7b-x").unwrap(), template, &mut text);
    assert_eq!(text, expected);
}

#[test]
fn size_and_nesting_are_bounded() {
    assert_eq!(compile(&"a".repeat(8193)).unwrap_err(), GoRegexError::TooLarge);
    assert_eq!(compile("((a{1000}){1000}){1000}").unwrap_err(), GoRegexError::TooLarge);
    assert!(compile(&format!("{}a{}", "(".repeat(200), ")".repeat(200))).is_err());
}

proptest! {
    #[test]
    fn any_text_is_compiled_or_refused(pattern in "[\\PC\\\\\\[\\]{}()?*+|^$.-]{0,24}") {
        let _ = compile(&pattern);
    }

    #[test]
    fn a_quoted_text_matches_itself(text in "\\PC{0,16}") {
        prop_assume!(!text.contains('\\'));
        let found = compile(&format!(r"^\Q{text}\E$")).unwrap();
        prop_assert!(found.is_match(&text));
    }

    #[test]
    fn members_of_a_class_are_literals(members in "[ -~]{1,8}") {
        prop_assume!(!members.contains(['\\', '[', ']', '-']) && !members.starts_with('^'));
        let class = compile(&format!("^[{members}]+$")).unwrap();
        prop_assert!(class.is_match(&members));
    }
}
