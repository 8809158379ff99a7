use rstest::rstest;
use weir_yaml::emit;

use super::merge;
use crate::input::parse_one;
use crate::schema::Schema;

fn merged(target: &str, patch: &str) -> String {
    let node = merge(parse_one(target), &parse_one(patch), Schema::built_in()).unwrap();
    let mut out = String::new();
    if let Some(node) = node {
        emit(&node, &mut out).unwrap();
    }
    out
}

/// Merges inside the spec of a Pod and prints the spec.
fn pod(target: &str, patch: &str) -> String {
    let wrap = |spec: &str| format!("{{apiVersion: v1, kind: Pod, spec: {spec}}}");
    let out = merged(&wrap(target), &wrap(patch));
    out.strip_prefix("apiVersion: v1\nkind: Pod\nspec:\n").unwrap_or(&out).to_owned()
}

#[test]
fn scalars_keep_the_style_of_the_target() {
    let out = merged(
        "{a: \"1\", b: 1, c: 'true', e: x, g: null, i: }",
        "{a: 2, b: \"2\", c: false, e: 5, n: null}",
    );
    assert_eq!(out, "a: \"2\"\nb: \"2\"\nc: \"false\"\ne: 5\ng: null\n");
}

#[rstest]
#[case(
    "{containers: [{name: a}, {name: b}, {name: c}]}",
    "{containers: [{name: c, image: c2}, {name: z}]}",
    "  containers:\n  - image: c2\n    name: c\n  - name: z\n  - name: a\n  - name: b\n"
)]
#[case("{tolerations: [{key: a}]}", "{tolerations: [{key: b}]}", "  tolerations:\n  - key: b\n")]
#[case(
    "{containers: [{name: a}, {name: b}]}",
    "{containers: [{name: a, $patch: delete}]}",
    "  containers:\n  - name: b\n"
)]
#[case("{volumes: [{name: v}]}", "{volumes: [{$patch: delete}]}", "  {}\n")]
#[case(
    "{volumes: [{name: v, emptyDir: {}}]}",
    "{volumes: [{name: v, emptyDir: null, gcePersistentDisk: {pdName: v}}]}",
    "  volumes:\n  - gcePersistentDisk:\n      pdName: v\n    name: v\n"
)]
#[case(
    "{containers: [{name: a, image: x}]}",
    "{containers: [{name: a, $patch: replace, image: y}]}",
    "  containers:\n  - image: x\n    name: a\n"
)]
#[case(
    "{containers: [{name: a}]}",
    "{containers: [{$patch: replace}, {name: b}]}",
    "  containers:\n  - name: b\n"
)]
#[case("{containers: [{name: a}]}", "{containers: [{image: q}]}", "  containers: []\n")]
#[case(
    "{containers: [{name: a, args: [x, y]}]}",
    "{containers: [{name: a, args: [z]}]}",
    "  containers:\n  - args:\n    - z\n    name: a\n"
)]
#[case("{a: {b: {c: 1}}}", "{a: {b: {$patch: delete}}}", "  a: {}\n")]
#[case("{a: {b: 1}}", "{a: {$patch: replace, c: 2}}", "  a:\n    c: 2\n")]
fn pods_merge_by_their_schema(#[case] target: &str, #[case] patch: &str, #[case] wanted: &str) {
    assert_eq!(
        pod(target, patch).replace("spec: {}", "  {}").replace("apiVersion: v1\nkind: Pod\n", ""),
        wanted
    );
}

#[rstest]
#[case("[a, b]", "[b, c]", "b c a")]
#[case("[a, a]", "[]", "a")]
fn lists_of_scalars_put_the_patch_first(#[case] target: &str, #[case] patch: &str, #[case] wanted: &str) {
    let wrap = |list: &str| format!("{{apiVersion: v1, kind: Pod, metadata: {{finalizers: {list}}}}}");
    let out = merged(&wrap(target), &wrap(patch));
    let items: Vec<&str> = out.lines().filter_map(|line| line.trim().strip_prefix("- ")).collect();
    assert_eq!(items.join(" "), wanted);
}

fn ports(target: &str, patch: &str) -> String {
    let wrap = |ports: &str| format!("{{containers: [{{name: c, ports: {ports}}}]}}");
    let out = pod(&wrap(target), &wrap(patch));
    let json = parse_one(&format!("spec:\n{out}")).to_json().unwrap();
    json["spec"]["containers"][0]["ports"].to_string()
}

#[test]
fn lists_with_two_keys_merge_as_the_reference_does() {
    let out = ports(
        "[{containerPort: 80, name: tcp}, {containerPort: 80, protocol: UDP, name: udp}, \
         {containerPort: 443, protocol: TCP}]",
        "[{containerPort: 80, protocol: TCP, hostPort: 1}, {containerPort: 443, hostPort: 2}, {containerPort: 9}]",
    );
    let wanted = r#"[{"containerPort":9},{"containerPort":80,"name":"tcp"},{"containerPort":80,"name":"udp","protocol":"UDP"},{"containerPort":443,"protocol":"TCP"}]"#;
    assert_eq!(out, wanted);
    let out = ports(
        "[{containerPort: 80, name: http}, {containerPort: 81, protocol: UDP}]",
        "[{containerPort: 80, hostPort: 8080}]",
    );
    assert_eq!(
        out,
        r#"[{"containerPort":80,"hostPort":8080,"name":"http"},{"containerPort":81,"protocol":"UDP"}]"#
    );
}

#[test]
fn what_the_target_lacks_is_taken_with_its_directives_obeyed() {
    let out = pod("{}", "{a: {b: null, c: {$patch: delete}, d: 1}, containers: [{name: x, env: null}]}");
    assert_eq!(out, "  a:\n    d: 1\n  containers:\n  - name: x\n");
}

#[test]
fn shapes_and_directives_that_do_not_fit_are_errors() {
    let fail = |target: &str, patch: &str| {
        merge(parse_one(target), &parse_one(patch), Schema::built_in()).unwrap_err().to_string()
    };
    let error = fail("a: {b: 1}", "a: [b]");
    assert_eq!(error, "wrong node kind: expected MappingNode but got SequenceNode: node contents:\n- b\n");
    assert_eq!(fail("a: {b: 1}", "a: {$patch: explode}"), "unknown patch strategy 'explode'");
}

#[test]
fn a_patch_can_delete_the_whole_resource() {
    assert_eq!(merged("{kind: A, b: 1}", "{kind: A, $patch: delete}"), "");
}
