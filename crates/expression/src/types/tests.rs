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
#[case(
    "req.m[?'a'].orValue('c') == 1",
    26,
    "found no matching overload for '_==_' applied to '(string, int)'"
)]
#[case(
    "req.a.first() == 'x'",
    15,
    "found no matching overload for '_==_' applied to '(optional_type(dyn), string)'"
)]
#[case(
    "optional.of('a').orValue(1) == req.x",
    25,
    "found no matching overload for 'orValue' applied to 'optional_type(string).(int)'"
)]
#[case(
    "'a'.orValue('b') == 'a'",
    12,
    "found no matching overload for 'orValue' applied to 'string.(string)'"
)]
#[case("true && 1", 9, "expected type 'bool' but found 'int'")]
#[case("1 || req.x", 1, "expected type 'bool' but found 'int'")]
#[case("req.a.or('x') == req.b", 9, "found no matching overload for 'or' applied to 'dyn.(string)'")]
fn types_that_do_not_fit(#[case] text: &str, #[case] column: usize, #[case] fault: &str) {
    let dots = ".".repeat(column - 1);
    let expected = format!(
        "failed to parse the CEL expression '{text}': ERROR: <input>:1:{column}: {fault}\n | {text}\n | {dots}^"
    );
    let refused = Expression::compile(text, &["req"], Type::Bool).err().unwrap();
    assert_eq!(refused.to_string(), expected);
}

/// Methods and operators take values of certain types.
#[rstest]
#[case(
    "req.p.split('/').last().split(':') == req.x",
    30,
    "'split' applied to 'optional_type(string).(string)'"
)]
#[case("req.x.split('/').lowerAscii() == 'a'", 28, "'lowerAscii' applied to 'list(string).()'")]
#[case("['a'].contains('a')", 15, "'contains' applied to 'list(string).(string)'")]
#[case("req.y.contains(1)", 15, "'contains' applied to 'dyn.(int)'")]
#[case("'a'.startsWith(['a'])", 15, "'startsWith' applied to 'string.(list(string))'")]
#[case("req.lowerAscii() == 'a'", 15, "'lowerAscii' applied to 'map(string, dyn).()'")]
#[case("'a'.replace('a') == 'a'", 12, "'replace' applied to 'string.(string)'")]
#[case("'a'.substring('b') == 'a'", 14, "'substring' applied to 'string.(string)'")]
#[case("'a'.split(1) == ['a']", 10, "'split' applied to 'string.(int)'")]
#[case("'a'.join('-') == 'a'", 9, "'join' applied to 'string.(string)'")]
#[case("['a'].join(1) == 'a'", 11, "'join' applied to 'list(string).(int)'")]
#[case("'a'.first() == req.x", 10, "'first' applied to 'string.()'")]
#[case("'a'.value() == 'x'", 10, "'value' applied to 'string.()'")]
#[case("['a'].hasValue()", 15, "'hasValue' applied to 'list(string).()'")]
#[case("[1].reverse() == [1]", 12, "'reverse' applied to 'list(int).()'")]
#[case("size(1) == 1", 5, "'size' applied to '(int)'")]
#[case("'a' + 1 == 'b'", 5, "'_+_' applied to '(string, int)'")]
#[case("has(req.x) + 1 == 2", 12, "'_+_' applied to '(bool, int)'")]
#[case("true + true == req.x", 6, "'_+_' applied to '(bool, bool)'")]
#[case("[1] + ['a'] == [1]", 5, "'_+_' applied to '(list(int), list(string))'")]
#[case("req + req == req", 5, "'_+_' applied to '(map(string, dyn), map(string, dyn))'")]
#[case("optional.of('a') + 'b' == 'c'", 18, "'_+_' applied to '(optional_type(string), string)'")]
#[case("'a' - 'b' == 'c'", 5, "'_-_' applied to '(string, string)'")]
#[case("1 * 2.0 == 2.0", 3, "'_*_' applied to '(int, double)'")]
#[case("1.5 % 2.0 == 1.0", 5, "'_%_' applied to '(double, double)'")]
#[case("!'a'", 1, "'!_' applied to '(string)'")]
#[case("-'a' == 'b'", 1, "'-_' applied to '(string)'")]
#[case("'a' ? true : false", 5, "'_?_:_' applied to '(string, bool, bool)'")]
fn functions_that_types_do_not_have(#[case] text: &str, #[case] column: usize, #[case] fault: &str) {
    types_that_do_not_fit(text, column, &format!("found no matching overload for {fault}"));
}

/// The texts of an event are known when it comes.
#[rstest]
#[case("req.message.reverse()")]
#[case("req.message.lowerAscii() + req.reason")]
#[case("{'dev': 'd', 'prod': 'p'}[req.cluster]")]
#[case("{'a': req.message.trim()}.a")]
#[case("req.m[?'a'].orValue('x')")]
#[case("req.m[?'a'].or(req.m[?'b']).orValue('x')")]
#[case("req.m[?'a'].or(optional.of('b')).orValue('x')")]
#[case("req.m[?'a'].optMap(v, v).orValue('x')")]
#[case("req.m.?a.optMap(v, v + 'b').orValue('x')")]
#[case("req.m.?a.optFlatMap(v, optional.of('b')).orValue('x')")]
#[case("req.l.first().orValue('x')")]
#[case("req.l.first().optMap(i, i.name + '').orValue('x')")]
#[case("req.l.map(i, i.x + 'y').first().orValue('x')")]
#[case("req.a.orValue('x')")]
#[case("optional.none().orValue('x')")]
#[case("optional.none().or(optional.of('a')).orValue('x')")]
#[case("optional.of('a').or(optional.none()).orValue('x')")]
#[case("{'a': 'b'}[?'a'].orValue('x')")]
#[case("{'a': 'b'}.?a.orValue('x')")]
#[case("['a'][?0].orValue('x')")]
#[case("req.a.value().reverse()")]
#[case("req.a.value() + 'x'")]
#[case("req.?a.?b.orValue('x') + 'y'")]
fn texts_of_values_that_are_known_later(#[case] text: &str) {
    Expression::compile(text, &["req"], Type::String).unwrap();
}

/// Values that an optional selection yields are as unknown as those of other selections, whatever stands in for them.
#[rstest]
#[case("req.m.?a.orValue('x')", "dyn")]
#[case("req.?m.a.orValue('x')", "dyn")]
#[case("req.?m['a'].orValue('x')", "dyn")]
#[case("req[?'a'].orValue('x')", "dyn")]
#[case("req.?a.or(req.?b).orValue('x')", "dyn")]
#[case("req.m[?'a'].or(req.m.?b).orValue('x')", "dyn")]
#[case("req.m[?'a'].orValue(req.x)", "dyn")]
#[case("req.m[?'a'].value()", "dyn")]
#[case("req.m.?a.optMap(v, v).orValue('x')", "dyn")]
#[case("req.l[?0].optFlatMap(i, i.?name).orValue('x')", "dyn")]
#[case("req.l.first().optMap(i, i.name).orValue('x')", "dyn")]
#[case("req.l.filter(i, i.x == 'y').first().orValue('x')", "dyn")]
#[case("[req.x].first().orValue('x')", "dyn")]
#[case("optional.of(req.x).orValue('x')", "dyn")]
#[case("optional.of('x').orValue(req.x)", "dyn")]
#[case("req.m.first()", "optional_type(dyn)")]
#[case("req[?'a']", "optional_type(dyn)")]
#[case("optional.none()", "optional_type(dyn)")]
#[case("req.a ? optional.none() : optional.of('a')", "optional_type(string)")]
#[case("req.m[?'a'].optMap(v, v == 'a').orValue(false)", "bool")]
fn types_of_optionals(#[case] text: &str, #[case] got: &str) {
    let refused = Expression::compile(text, &["req"], Type::String).err().unwrap();
    assert_eq!(
        refused.to_string(),
        format!("CEL expression output type mismatch: expected string, got {got}")
    );
}

#[rstest]
#[case("1 < 1.5")]
#[case("'abc'.size() + 1 == 4 && [1].size() == 1 && req.size() > 0 && b'a'.size() == 1")]
#[case("'a-b'.split('-', 2).join('+').replace('a', 'b', 1).substring(0, 1).charAt(0) == 'b'")]
#[case("req.a.contains(req.b) && req.c.split('/')[0].trim().startsWith('x') && req.d.matches('x')")]
#[case("[1, 2].filter(n, n > 1).map(n, n * 2).exists_one(n, n == 4) && -1 + 2 == 1 && 5 % 2 == 1")]
#[case("timestamp(req.t) - duration('1h') < timestamp('2026-01-01T00:00:00Z')")]
#[case("[1] + [2] == [1, 2] && b'a' + b'b' == b'ab' && 1u + 2u == 3u && null == req.x")]
#[case("(req.a ? req.b : 1) == 1 && !req.c && (req.d || true)")]
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
