//! CEL: types, texts of errors, bounds.

use rstest::rstest;
use serde_json::json;

use super::*;

fn error(text: &str, output: Type) -> String {
    Expression::compile(text, &["req", "res", "event"], output)
        .err()
        .map(|e| e.to_string())
        .unwrap_or_default()
}

#[rstest]
#[case("req.flag == true", "")]
#[case("req.flag", "CEL expression output type mismatch: expected bool, got dyn")]
#[case("has(req.flag) && req.tags.exists(t, t == 'x')", "")]
#[case("req.tags.all(t, t.startsWith('v')) || !(req.a in ['x', 'y'])", "")]
#[case("req.tags.filter(t, t == 'x')", "CEL expression output type mismatch: expected bool, got list(dyn)")]
#[case("req.a ? true : false", "")]
#[case("req.a ? req.b : false", "CEL expression output type mismatch: expected bool, got dyn")]
#[case("'x'", "CEL expression output type mismatch: expected bool, got string")]
#[case("size(req.tags) > 1 && req.?a.orValue('') == 'x' && req.a.matches('^v')", "")]
#[case("base64.decode(req.data) == b'x' && type(req.a) == string", "")]
#[case("req.tags.exists_one(t, t == 'x') && req.tags.map(t, t + 'x')[0] == 'yx'", "")]
fn conditions_are_checked_for_their_type(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(error(text, Type::Bool), expected);
}

#[rstest]
#[case("event.involvedObject.kind + '/' + event.x", "")]
#[case("(event.kind + '/' + event.name).lowerAscii()", "")]
#[case("event.uid.split('-').first().value() + ''", "")]
#[case("event.nope", "CEL expression output type mismatch: expected string, got dyn")]
#[case("event.uid.split('-')[0]", "")]
#[case("event.uid.split('-').first().value()", "")]
#[case("event.uid.split('-').last().orValue('none')", "")]
#[case("event.uid.split('-').filter(part, part != 'a')[0]", "")]
#[case("event.tags.map(tag, string(tag))[0]", "")]
#[case("(event.x ? [] : ['a', 'b'])[1]", "")]
#[case("['a'][0] + optional.of('b').value()", "")]
#[case("[1, dyn('a')][1]", "CEL expression output type mismatch: expected string, got dyn")]
#[case("event.tags.first().value()", "CEL expression output type mismatch: expected string, got dyn")]
#[case("[0, 1, 2][0]", "CEL expression output type mismatch: expected string, got int")]
#[case("event.uid.split('-')", "CEL expression output type mismatch: expected string, got list(string)")]
#[case(
    "event.uid.split('-').first()",
    "CEL expression output type mismatch: expected string, got optional_type(string)"
)]
fn texts_are_checked_for_their_type(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(error(text, Type::String), expected);
}

#[test]
fn unknown_names_are_pointed_at() {
    assert_eq!(
        error("nope == 1", Type::Bool),
        "failed to parse the CEL expression 'nope == 1': ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n | nope == 1\n | ^"
    );
    assert_eq!(
        error("true &&\n  req.x == claims.y", Type::Bool),
        "failed to parse the CEL expression 'true &&\n  req.x == claims.y': ERROR: <input>:2:12: undeclared reference to 'claims' (in container '')\n |   req.x == claims.y\n | ...........^"
    );
}

#[test]
fn syntax_errors_read_as_in_go() {
    assert_eq!(
        error("req.x ==", Type::Bool),
        "failed to parse the CEL expression 'req.x ==': ERROR: <input>:1:9: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | req.x ==\n | ........^"
    );
}

#[rstest]
#[case("req.n == 1", true)]
#[case("req.n > 0 && req.n < 1.5", true)]
#[case("req.tags.exists(t, t == 'b')", true)]
#[case("req.?nope.orValue('x') == 'x'", true)]
#[case("req.name.lowerAscii().startsWith('web')", true)]
#[case("req.tags.last().value() == 'b'", true)]
#[case("sets.contains(['a', 'b', 'c'], req.tags)", true)]
#[case("sets.intersects(req.tags, ['x'])", false)]
#[case("sets.equivalent(req.tags, ['b', 'a', 'b'])", true)]
#[case("has(req.nope)", false)]
fn conditions_are_evaluated(#[case] text: &str, #[case] expected: bool) {
    let req = json!({"n": 1, "tags": ["a", "b"], "name": "WEB-1"});
    let expression = Expression::compile(text, &["req"], Type::Bool).unwrap();
    assert_eq!(expression.is_true(&[("req", &req)], || true), Ok(expected));
}

#[test]
fn a_missing_key_is_an_error_and_not_false() {
    let expression = Expression::compile("res.metadata.annotations.x == 'y'", &["res"], Type::Bool).unwrap();
    let error = expression.is_true(&[("res", &json!({"metadata": {}}))], || true).unwrap_err();
    assert!(error.to_string().contains("no such key: annotations"), "{error}");
}

#[test]
fn the_default_example_of_a_status_name_evaluates() {
    let text = "(event.kind + '/' + event.metadata.env + '/' + provider.uid.split('-').first().value()).lowerAscii()";
    let expression = Expression::compile(text, &["event", "provider"], Type::String).unwrap();
    let event = json!({"kind": "Kustomization", "metadata": {"env": "Prod"}});
    let name = expression
        .to_text(&[("event", &event), ("provider", &json!({"uid": "0c9c2e41-1"}))], || true)
        .unwrap();
    assert_eq!(name, "kustomization/prod/0c9c2e41");
}

#[rstest]
#[case::long(format!("'{}' == ''", "x".repeat(5000)))]
#[case::parentheses(format!("{}true{}", "(".repeat(200), ")".repeat(200)))]
#[case::lists(format!("{}1{} == []", "[".repeat(200), "]".repeat(200)))]
#[case::ternaries(format!("{}true", "true ? true : ".repeat(200)))]
#[case::sums(format!("{}1 == 1", "1+".repeat(1900)))]
#[case::selects(format!("req{} == 1", ".a".repeat(1900)))]
#[case::negations(format!("{}true", "!".repeat(4000)))]
#[case::raw(format!("r'\\' == '' || {}true{}", "(".repeat(200), ")".repeat(200)))]
#[case::raw_bytes(format!("Rb\"\\\" == b'' || {}true{}", "(".repeat(200), ")".repeat(200)))]
#[case::triple(format!("'''it's''' == '' || {}true{}", "(".repeat(200), ")".repeat(200)))]
#[case::comment(format!("true || // it's\n {}true{}", "(".repeat(200), ")".repeat(200)))]
#[case::quoted_name(format!("req.`it's` || {}true{}", "(".repeat(200), ")".repeat(200)))]
#[case::loops("req.a.all(a, req.a.all(b, req.a.all(c, a == b && b == c)))".to_owned())]
fn security_expressions_that_cost_too_much_are_refused(#[case] text: String) {
    assert!(Expression::compile(&text, &["req"], Type::Bool).is_err());
}

/// KS-DEP-10
#[rstest]
#[case::all("req.all(a, a > 0)")]
#[case::exists("req.exists(a, a > 9)")]
#[case::exists_one("req.exists_one(a, a > 0)")]
#[case::map("req.map(a, a + 1) == req")]
#[case::map_some("req.map(a, a > 0, a + 1) == req")]
#[case::filter("req.filter(a, a > 0) == req")]
#[case::in_a_part("true && {'a': [req].map(b, size(b.filter(c, c > 0)))}['a'] == [4]")]
#[case::absorbed("req.all(a, a > 0) || true")]
#[case::inner("[1].all(a, req.exists(b, b > 9) || true)")]
fn security_each_turn_of_a_loop_looks_at_the_time(#[case] text: &str) {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let expression = Expression::parse(text).unwrap().over(Numbers::Integers);
    let req = json!([1, 2, 3, 4]);
    let turns = AtomicUsize::new(0);
    let evaluate = |limit| {
        turns.store(0, Ordering::SeqCst);
        expression.evaluate(&[("req", &req)], None, || turns.fetch_add(1, Ordering::SeqCst) < limit)
    };
    evaluate(usize::MAX).unwrap();
    let all = turns.load(Ordering::SeqCst);
    assert!(all >= 4, "{all}");
    for limit in 0..all {
        let failed = format!("failed to evaluate the CEL expression '{text}': it was given up");
        assert_eq!(evaluate(limit).unwrap_err().to_string(), failed);
        // Whatever is around the loop does not go on either.
        assert_eq!(turns.load(Ordering::SeqCst), limit + 1);
    }
}

/// Brackets in texts and comments are no nesting.
#[rstest]
#[case("'''it's {}''' == ''")]
#[case("\"\"\"a \"{}\" \\\"\"\"\" == ''")]
#[case("r'\\' == '{}'")]
#[case("'\\'{}' == ''")]
#[case("true // {}")]
fn texts_are_not_counted(#[case] text: &str) {
    let text = text.replace("{}", &"((".repeat(100));
    assert_eq!(error(&text, Type::Bool), "");
}

#[rstest]
#[case::sums(format!("{}1 == 1", "1+".repeat(254)))]
#[case::selects(format!("req{} == 1", ".a".repeat(254)))]
#[case::negations(format!("{}true", "!".repeat(256)))]
#[case::ands(format!("{}true", "true&&".repeat(128)))]
#[case::parentheses(format!("{}{}true{}", "!".repeat(256), "(".repeat(32), ")".repeat(32)))]
#[case::ternaries(format!("{}true", "true ? true : ".repeat(32)))]
fn security_chains_as_long_as_admitted_do_not_overflow_the_stack(#[case] text: String) {
    let expression = Expression::compile(&text, &["req"], Type::Bool);
    assert_ne!(
        expression.map(|it| it.is_true(&[("req", &json!({}))], || true)).err().map(|e| e.to_string()),
        Some(String::new())
    );
}

#[rstest]
#[case("metadata.generation + 1 == 3", Ok(true))]
#[case("metadata.generation == 2.0", Ok(true))]
#[case("status.conditions.exists(c, c.type == 'Ready')", Err("no such attribute(s): status.conditions"))]
#[case("has(status.x)", Err("no such attribute(s): status.x"))]
#[case("status.?phase.orValue('') == 'Running'", Err("no such attribute(s): status.phase"))]
#[case("metadata.labels.v == '1'", Err("no such key: labels"))]
fn objects_of_kubernetes_have_integers_and_may_lack_fields(
    #[case] text: &str,
    #[case] expected: Result<bool, &str>,
) {
    let expression = Expression::parse(text).unwrap().over(Numbers::Integers);
    let result = expression.is_true(&[("metadata", &json!({"generation": 2}))], || true);
    let failed = |reason| format!("failed to evaluate the CEL expression '{text}': {reason}");
    assert_eq!(result.map_err(|error| error.to_string()), expected.map_err(failed));
}

/// The words are those that cel-go prints for the same expression, without the values that it repeats.
#[rstest]
#[case("s + 1 == 1", "no such overload")]
#[case("s - s == s", "no such overload")]
#[case("-s == s", "no such overload")]
#[case("!s", "no such overload")]
#[case("s && true", "no such overload")]
#[case("s ? true : false", "no such overload")]
#[case("s < l", "no such overload")]
#[case("l[s] == s", "no such overload")]
#[case("l[1.5] == s", "no such overload")]
#[case("nope(s)", "no such overload: nope")]
#[case("s.nope()", "no such overload: nope")]
#[case("pin / n == 0", "division by zero")]
#[case("pin % n == 0", "modulus by zero")]
#[case("9223372036854775807 + pin == 0", "integer overflow")]
#[case("l[5] == s", "index out of bounds: 5")]
#[case("l[pin] == s", "index out of bounds")]
#[case("m.x == s", "no such key: x")]
#[case("m[s] == s", "no such key")]
#[case("m[pin] == s", "no such key")]
#[case("int(s) == 1", "type conversion error from 'string' to 'int'")]
#[case("bool(s)", "type conversion error from 'string' to 'bool'")]
#[case("duration(s) == duration(s)", "type conversion error from 'string' to 'google.protobuf.Duration'")]
#[case("timestamp(s) == timestamp(s)", "type conversion error from 'string' to 'google.protobuf.Timestamp'")]
#[case("'a'.matches('(' + s)", "error parsing regexp")]
#[case("base64.decode(s + '!') == b''", "illegal base64 data")]
#[case("s.charAt(99) == s", "index out of range: 99")]
#[case("s.charAt(pin) == s", "index out of range")]
#[case("'%d'.format([s]) == s", "error during formatting")]
#[case("s.substring(pin, n) == s", "substring failed")]
#[case("optional.none().value() == s", "optional.none() dereference")]
#[case("s.all(x, true)", "expected iterable type")]
#[case("{s: 1, s + '': 2} == m", "insert failed: key already exists")]
fn security_errors_show_no_values(#[case] text: &str, #[case] reason: &str) {
    let expression = Expression::parse(text).unwrap().over(Numbers::Integers);
    let (s, pin, n, l, m) =
        (json!("hunter2"), json!(4711), json!(0), json!(["hunter2"]), json!({"k": "hunter2"}));
    let error = expression
        .is_true(&[("s", &s), ("pin", &pin), ("n", &n), ("l", &l), ("m", &m)], || true)
        .unwrap_err();
    let expected = format!("failed to evaluate the CEL expression '{text}': {reason}");
    assert_eq!(error.to_string(), expected);
}
