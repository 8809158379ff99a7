//! The language as messages have it: TP-12, TP-5, and what is refused.

use std::time::Duration;

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::Template;
use crate::limit::{MAX_DEPTH, MAX_OUTPUT, MAX_SOURCE, MAX_STEPS};

fn data() -> Value {
    json!({
        "automation": {"namespace": "flux-system", "name": "apps"},
        "changes": [
            {"oldValue": "1.0.0", "newValue": "1.1.0 <&>"},
            {"oldValue": "2.0.0", "newValue": "2.1.0"},
        ],
        "values": {"cluster": "Prod", "empty": ""},
        "names": ["a", "b"],
        "many": vec![0; 1000],
    })
}

fn render(template: &str) -> Result<String, String> {
    let template = Template::parse("m", template).map_err(|error| error.to_string())?;
    template.render(&data(), &|| Duration::ZERO).map_err(|error| error.to_string())
}

#[rstest]
#[case::text_is_not_escaped(
    "{{#each changes}}{{newValue}} {{{newValue}}};{{/each}}",
    "1.1.0 <&> 1.1.0 <&>;2.1.0 2.1.0;"
)]
#[case::whole_lines_of_blocks(
    "a\n{{#each changes}}\n- {{oldValue}}\n{{/each}}\nb\n",
    "a\n- 1.0.0\n- 2.0.0\nb\n"
)]
#[case::outer_names(
    "{{#each names}}{{@index}}{{this}}{{../automation.name}}{{#unless @last}},{{/unless}}{{/each}}",
    "0aapps,1bapps"
)]
#[case::conditions("{{#if values.empty}}x{{else if (eq values.cluster \"Prod\")}}y{{else}}z{{/if}}", "y")]
#[case::with("{{#with automation as |a|}}{{a.namespace}}/{{a.name}}{{/with}}", "flux-system/apps")]
#[case::lookup("{{lookup (lookup changes 1) \"oldValue\"}} {{len changes}}", "2.0.0 2")]
#[case::logic("{{#if (and (not values.empty) (or (ne 1 1) true))}}yes{{/if}}", "yes")]
#[case::letters("{{lower values.cluster}} {{upper values.cluster}}", "prod PROD")]
#[case::trunc("{{trunc 2 values.cluster}} {{trunc -2 values.cluster}}", "Pr od")]
#[case::contains("{{#if (contains \"ro\" values.cluster)}}yes{{else}}no{{/if}}", "yes")]
#[case::replace("{{replace \"P\" \"p\" values.cluster}}", "prod")]
#[case::join("{{join \", \" names}}", "a, b")]
#[case::sha256("{{trunc 8 (sha256 \"a\")}}", "ca978112")]
#[case::default(
    "{{default \"none\" values.empty}} {{default \"none\" values.x}} {{default \"none\" values.cluster}}",
    "none none Prod"
)]
#[case::comments("{{! a }}{{!-- b }} --}}c", "c")]
#[case::if_of_nothing("{{#if values.x}}x{{else}}none{{/if}}", "none")]
fn templates(#[case] template: &str, #[case] message: &str) {
    assert_eq!(render(template).as_deref(), Ok(message));
}

#[rstest]
#[case("{{nope}}", "template: m:1:1: \"nope\" is not in the data")]
#[case("a\n {{values.x}}", "template: m:2:2: \"values.x\" is not in the data")]
#[case("{{lower values.x}}", "template: m:1:1: \"values.x\" is not in the data")]
#[case("{{nope 1}}", "template: m:1:1: there is no helper \"nope\"")]
#[case("{{log \"a\"}}", "template: m:1:1: there is no helper \"log\"")]
#[case("{{lower changes}}", "template: m:1:1: lower: value 1 is no text")]
#[case("{{replace values.cluster}}", "template: m:1:1: replace takes 3 values, not 1")]
#[case("{{#each changes}}", "template: m:1:18: no Handlebars from here on, or a block is not closed")]
#[case("a\n{{#if true}}{{/each}}", "template: m:2:13: helper \"if\" was opened, but \"each\" is closing")]
#[case(
    "{{> part}}",
    "template: m: partials and decorators (`{{> …}}`, `{{#> …}}`, `{{* …}}`) are not available"
)]
#[case(
    "{{#*inline \"a\"}}{{> a}}{{/inline}}{{> a}}",
    "template: m: partials and decorators (`{{> …}}`, `{{#> …}}`, `{{* …}}`) are not available"
)]
fn faults(#[case] template: &str, #[case] text: &str) {
    assert_eq!(render(template), Err(text.to_owned()));
}

/// TP-5
#[test]
fn time_is_limited() {
    let template = Template::parse("m", "{{#each names}}{{/each}}").unwrap();
    let error = template.render(&data(), &|| Duration::from_secs(61)).unwrap_err().to_string();
    assert!(error.ends_with("the template takes more than 60 seconds"), "{error}");
}

#[test]
fn what_a_template_takes_is_bounded() {
    let long = "a".repeat(MAX_SOURCE + 1);
    assert_eq!(render(&long), Err(format!("template: m: source is longer than {MAX_SOURCE} bytes")));
    let loops = "{{#each many}}{{#each ../many}}{{#each ../../many}}{{/each}}{{/each}}{{/each}}";
    let error = render(loops).unwrap_err();
    assert!(error.ends_with(&format!("the template takes more than {MAX_STEPS} steps")), "{error}");
    let output = format!("{{{{#each many}}}}{}{{{{/each}}}}", "a".repeat(1024));
    let error = render(&output).unwrap_err();
    assert!(error.ends_with(&format!("output is longer than {MAX_OUTPUT} bytes")), "{error}");
    let text = format!("{{{{replace \"\" \"{0}\" \"{0}\"}}}}", "a".repeat(1024));
    let error = render(&text).unwrap_err();
    assert!(error.ends_with(&format!("replace: string is longer than {MAX_OUTPUT} bytes")), "{error}");
}

/// The library calls itself for what stands in each other, also where something looks as if it was closed.
#[rstest]
#[case::blocks("", "{{#if true}}", "{{/if}}")]
#[case::chains("{{#if false}}", "", "{{else if false}}")]
#[case::parentheses("{{", "(not ", "true)")]
#[case::lists("{{len ", "[", "]")]
#[case::objects("{{len ", "{\"a\":", "}")]
#[case::closed_in_texts("{{a ", "(a')'", ")")]
#[case::opened_in_texts("{{a ", "(a\"{{\"", ")")]
#[case::closed_in_comments("", "{{#if 1}}{{!{{/}}", "{{/if}}")]
#[case::spaces("", "{{~ # if 1}}", "{{/if}}")]
fn nesting_is_bounded(#[case] start: &str, #[case] open: &str, #[case] close: &str) {
    let nested = |depth: usize| format!("{start}{}{}", open.repeat(depth), close.repeat(depth));
    let error = format!("template: m: more than {MAX_DEPTH} blocks and `else` parts, or opening brackets");
    assert_eq!(render(&nested(MAX_DEPTH + 1)), Err(error.clone()));
    assert_eq!(render(&nested(MAX_SOURCE / (open.len() + close.len() + 1))), Err(error.clone()));
    assert_ne!(render(&nested(MAX_DEPTH - 2)), Err(error));
}

/// Pieces of templates, of which any sequence must be rendered or refused.
const PIECES: [&str; 44] = [
    "{{",
    "}}",
    "{{{",
    "}}}",
    "{{~",
    "~}}",
    "{{#each changes}}",
    "{{#each changes as |a b|}}",
    "{{/each}}",
    "{{else}}",
    "{{#if ",
    "{{/if}}",
    "{{^}}",
    "{{else if ",
    "{{#with ",
    "{{/with}}",
    "{{{{raw}}}}",
    "{{{{/raw}}}}",
    "{{!",
    "{{!--",
    "--}}",
    "\\{{",
    "{{&",
    "this",
    "../",
    "@index",
    "@root",
    ".",
    "/",
    "[0]",
    "(",
    ")",
    "lookup ",
    "lower ",
    "default ",
    "changes",
    "values",
    "\"x\"",
    " ",
    "\n",
    "=1",
    "null",
    "[1,",
    "é",
];

proptest! {
    #[test]
    fn any_text_is_rendered_or_refused(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..14)) {
        let template = pieces.concat();
        prop_assert_eq!(render(&template), render(&template));
    }
}
