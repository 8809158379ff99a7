use std::collections::BTreeMap;

use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn variables() -> BTreeMap<&'static str, &'static str> {
    [
        ("env", "prod"),
        ("img", "ghcr.io/org/app:v1.2"),
        ("e", ""),
        ("set", "abc"),
        ("neg", "-2"),
        ("two", "2"),
        ("uml", "äöü"),
        ("dollar", "${env}"),
        ("path", r"a\b/c"),
        ("sharp", "ßﬁ"),
        ("greek", "ᾳᾀΣ"),
        ("dotted", "İI"),
    ]
    .into()
}

fn with(template: &str, unset: Unset) -> Result<String, Error> {
    let variables = variables();
    substitute(template, |name| variables.get(name).copied(), unset)
}

#[rstest]
#[case("plain", "plain")]
#[case("${env}", "prod")]
#[case("a${env}b${set}c", "aprodbabcc")]
#[case("${#env} ${#uml}", "4 6")]
#[case("${env^} ${env^^} ${env,} ${env,,}", "Prod PROD prod prod")]
#[case("${uml^} ${uml^^}", "Äöü ÄÖÜ")]
#[case("${env,^}${env^,}", "prodprod")]
#[case("${env:0:2}|${env:2}|${env:9}|${env:1:99}|${env:4}", "pr|od||rod|")]
#[case("${env:1::2}|${env:1::::${two}}", "ro|ro")]
#[case("${sharp^} ${sharp^^} ${greek^} ${greek^^}", "ßﬁ ßﬁ ᾼᾀΣ ᾼᾈΣ")]
#[case("${dotted,} ${dotted,,} ${greek,,}", "iI ii ᾳᾀσ")]
#[case("${env:${neg}}|${env:${two}:1}|${env:x}|${env: -2}|${env:0:x}", "od|o|prod|prod|prod")]
#[case("${uml:0:1}", "\u{fffd}")]
#[case("${nope:=d}${nope:-d}${nope:?d}${nope:+d}${nope=d}", "ddddd")]
#[case("${env:=d}${e:=d}${e:+x}${env:+x}", "proddxprod")]
#[case("${nope:=}|${e:=}", "|")]
#[case("${nope:=a b/c:d#e}", "a b/c:d#e")]
#[case("x-${a:=${env}-1}", "x-prod-1")]
#[case("${a:=${b:=${env^^}}}", "PROD")]
#[case("${img##*/} ${img%%:*} ${img#*/} ${img%/*}", "app:v1.2 ghcr.io/org/app org/app:v1.2 ghcr.io/org")]
#[case("${set#?}${set%?}${set#[a-b]}${set%[^a]}", "bcabbcab")]
#[case("${set#z}${set#[}${set#[z-]}${set#\\a}", "abcabcabcbc")]
#[case("${set%%[!a]*} ${set##[!a]} ${set%[!bc]}", "a bc abc")]
#[case("${set##*}|${set%%*}|${set#*}|${set%*}", "||bc|ab")]
#[case("${img//\\//-} ${set/b/-} ${set//b/} ${set/b/}", "ghcr.io-org-app:v1.2 a-c ac ac")]
#[case("${set/#a/x}${set/%c/x}${set/#b/x}${set/#a/}${set/%c/}", "xbcabxabcabcabc")]
#[case("${set/a///x}", "xbc")]
#[case("${path/\\\\/-}", "a-b/c")]
#[case("${set/${set}/${env}}", "prod")]
#[case("$set $(cmd) $1 $? $", "$set $(cmd) $1 $? $")]
#[case("$${set} $$ $$$${set} $$$${set}", "${set} $ $${set} $${set}")]
#[case("$$${env}", "$prod")]
#[case("${dollar}", "${env}")]
#[case("echo $$PID; a$b", "echo $PID; a$b")]
fn expressions(#[case] template: &str, #[case] expected: &str) {
    assert_eq!(with(template, Unset::Refuse).as_deref(), Ok(expected));
}

#[rstest]
#[case("${}", Error::VariableName)]
#[case("${ v }", Error::VariableName)]
#[case("${{ v }}", Error::VariableName)]
#[case("${-v}", Error::VariableName)]
#[case("${env", Error::ClosingBrace)]
#[case("${env-d}", Error::ClosingBrace)]
#[case("${env+d}", Error::ClosingBrace)]
#[case("${env.x}", Error::ClosingBrace)]
#[case("${env }", Error::ClosingBrace)]
#[case("${env[0]}", Error::ClosingBrace)]
#[case("${env#}", Error::Argument)]
#[case("${env%%}", Error::Argument)]
#[case("${env:}", Error::Argument)]
#[case("${env:1:}", Error::Argument)]
#[case("${env:1::}", Error::Argument)]
#[case("${env::1}", Error::Argument)]
#[case("${env///}", Error::Argument)]
#[case("${env/", Error::Argument)]
#[case("${env/}", Error::BadSubstitution)]
#[case("${env//}", Error::BadSubstitution)]
#[case("${env/#}", Error::BadSubstitution)]
#[case("${env/%}", Error::BadSubstitution)]
#[case("${env/a}", Error::BadSubstitution)]
#[case("${env/a} and/or ${env}", Error::BadSubstitution)]
#[case("${#}", Error::BadSubstitution)]
#[case("${#env-}", Error::BadSubstitution)]
#[case("${env^^^}", Error::BadSubstitution)]
#[case("${env:=d", Error::Argument)]
#[case("${env:0:-1}", Error::NegativeLength { name: "env".into(), length: -1 })]
fn errors(#[case] template: &str, #[case] expected: Error) {
    assert_eq!(with(template, Unset::Refuse), Err(expected));
}

#[rstest]
#[case("${nope}")]
#[case("${#nope}")]
#[case("${nope^^}")]
#[case("${nope:0:1}")]
#[case("${nope#x}")]
#[case("${nope/a/b}")]
#[case("${env:=${nope}}")]
fn strict_mode_refuses_unset_variables(#[case] template: &str) {
    assert_eq!(with(template, Unset::Refuse), Err(Error::NotSet { name: "nope".into() }));
    assert!(with(template, Unset::Empty).is_ok());
}

#[test]
fn strict_mode_names_the_variable() {
    let message = with("${nope}", Unset::Refuse).unwrap_err().to_string();
    assert_eq!(message, "variable not set (strict mode): \"nope\"");
}

#[rstest]
#[case("a", true)]
#[case("_1", true)]
#[case("", false)]
#[case("1a", false)]
#[case("a-b", false)]
#[case("ä", false)]
fn variable_names(#[case] name: &str, #[case] valid: bool) {
    assert_eq!(is_variable_name(name), valid);
}

#[test]
fn security_caps_nesting_size_and_growth() {
    let deep = "${a:=".repeat(MAX_DEPTH + 1) + &"}".repeat(MAX_DEPTH + 1);
    assert_eq!(with(&deep, Unset::Refuse), Err(Error::TooDeep { limit: MAX_DEPTH }));
    let large = "x".repeat(MAX_TEMPLATE + 1);
    assert!(matches!(with(&large, Unset::Refuse), Err(Error::TemplateTooLarge { .. })));
    let (many, long) = ("a".repeat(100_000), "b".repeat(100_000));
    let lookup = |name: &str| match name {
        "many" => Some(many.as_str()),
        _ => Some(long.as_str()),
    };
    let limit = MAX_OUTPUT;
    let grown = substitute("${many//a/${long}}", lookup, Unset::Refuse);
    assert_eq!(grown, Err(Error::OutputTooLarge { limit }));
    let repeated = substitute(&"${long}".repeat(400), lookup, Unset::Refuse);
    assert_eq!(repeated, Err(Error::OutputTooLarge { limit }));
}

#[test]
fn security_caps_the_work_of_one_text() {
    let long = "v".repeat(1024 * 1024);
    let limit = MAX_STEPS;
    let thrown_away = format!("${{set:={}}}", "${long}".repeat(31)).repeat(10);
    let lookup = |name: &str| Some(if name == "set" { "x" } else { long.as_str() });
    assert_eq!(substitute(&thrown_away, lookup, Unset::Refuse), Err(Error::TooManySteps { limit }));
    let compared = format!("${{long##{}}}", "*a".repeat(200));
    assert_eq!(substitute(&compared, lookup, Unset::Refuse), Err(Error::TooManySteps { limit }));
}

/// A run of stars took its length squared for each character: minutes for a manifest of some kilobytes.
#[test]
fn regression_14_a_run_of_stars_is_one_star() {
    let value = "a".repeat(1_000);
    let template = |end: &str| format!("${{v##{}{end}}}", "*".repeat(20_000));
    assert_eq!(substitute(&template("b"), |_| Some(&value), Unset::Refuse).as_deref(), Ok(value.as_str()));
    assert_eq!(substitute(&template("a"), |_| Some(&value), Unset::Refuse).as_deref(), Ok(""));
}

#[test]
fn security_hard_patterns_take_no_exponential_time() {
    let value = "a".repeat(20_000);
    let template = format!("${{v##{}b}}", "*a".repeat(50));
    assert_eq!(substitute(&template, |_| Some(&value), Unset::Refuse).as_deref(), Ok(value.as_str()));
}

proptest! {
    #[test]
    fn any_text_is_substituted_or_refused(template in r"[$\{\}a-c:=\-+#%/^,\\\[\] *?ä]{0,40}") {
        let _ = with(&template, Unset::Empty);
    }

    #[test]
    fn text_without_dollars_stays(template in "[^$]{0,60}") {
        prop_assert_eq!(with(&template, Unset::Refuse), Ok(template));
    }

    #[test]
    fn doubled_dollars_quote_any_text(text in r"[$\{\}a-c:=/ ]{0,30}") {
        prop_assert_eq!(with(&text.replace('$', "$$"), Unset::Refuse), Ok(text));
    }
}
