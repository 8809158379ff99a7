//! Faults that are found before anything is evaluated.

use rstest::rstest;

use crate::{Expression, Type};

/// NTF-108: values of types that have nothing in common are not compared.
#[rstest]
#[case("1 == 'a'", 3, "found no matching overload for '_==_' applied to '(int, string)'")]
#[case("req.n > 0 && true != 'a'", 19, "found no matching overload for '_!=_' applied to '(bool, string)'")]
#[case("1 < 'a'", 3, "found no matching overload for '_<_' applied to '(int, string)'")]
#[case("1 == 1.0", 3, "found no matching overload for '_==_' applied to '(int, double)'")]
#[case("size(req.l) == 'a'", 13, "found no matching overload for '_==_' applied to '(int, string)'")]
#[case(
    "'a/b'.split('/').last() == 'b'",
    25,
    "found no matching overload for '_==_' applied to '(optional_type(string), string)'"
)]
#[case(
    "optional.of('a') == optional.of(1)",
    18,
    "found no matching overload for '_==_' applied to '(optional_type(string), optional_type(int))'"
)]
#[case("'a' != [1]", 5, "found no matching overload for '_!=_' applied to '(string, list(int))'")]
#[case("[1] == ['a']", 5, "found no matching overload for '_==_' applied to '(list(int), list(string))'")]
#[case("[1] < [2]", 5, "found no matching overload for '_<_' applied to '(list(int), list(int))'")]
#[case("req == 'a'", 5, "found no matching overload for '_==_' applied to '(map(string, dyn), string)'")]
#[case("[1, [2]] == req.l", 5, "expected type 'int' but found 'list(int)'")]
#[case("[[1], ['a']] == req.l", 7, "expected type 'list(int)' but found 'list(string)'")]
#[case("[1, 'a'] == req.l", 5, "expected type 'int' but found 'string'")]
#[case("{'a': 1, 'b': 'x'} == req.m", 15, "expected type 'int' but found 'string'")]
#[case("{'a': 1, 2: 1} == req.m", 10, "expected type 'string' but found 'int'")]
fn types_that_do_not_fit(#[case] text: &str, #[case] column: usize, #[case] fault: &str) {
    let dots = ".".repeat(column - 1);
    let expected = format!(
        "failed to parse the CEL expression '{text}': ERROR: <input>:1:{column}: {fault}\n | {text}\n | {dots}^"
    );
    let refused = Expression::compile(text, &["req"], Type::Bool).err().unwrap();
    assert_eq!(refused.to_string(), expected);
}

/// The texts of an event are known when it comes.
#[rstest]
#[case("req.message.reverse()")]
#[case("req.message.lowerAscii() + req.reason")]
#[case("{'dev': 'd', 'prod': 'p'}[req.cluster]")]
#[case("{'a': req.message.trim()}.a")]
fn texts_of_values_that_are_known_later(#[case] text: &str) {
    Expression::compile(text, &["req"], Type::String).unwrap();
}

#[rstest]
#[case("1 < 1.5")]
#[case("size(req.l) >= 2u")]
#[case("req.n == 1 && req.n == 'a'")]
#[case("req.a == null")]
#[case("[1, req.n] == req.l")]
#[case("{'a': 1, 'b': req.n} == req.m")]
#[case("'%s %d'.format(['a', 1]) == req.a")]
#[case("['a'] == req.l || {'a': 1} == req.m")]
#[case("req.l.exists(x, x == 'a') && ['a'].all(x, x == 'a')")]
fn types_that_may_fit(#[case] text: &str) {
    Expression::compile(text, &["req"], Type::Bool).unwrap();
}
