//! The golden messages of TP-6 to TP-10 and the complaints of TP-4.

use std::collections::BTreeMap;
use std::time::Duration;

use rstest::rstest;
use weir_setters::{Change, Image, ObjectId, PolicyName, Setters, Update};

use super::{Engine, Message, MessageData, UnknownEngine};

fn object(api_version: &str, kind: &str, name: &str) -> ObjectId {
    ObjectId {
        api_version: api_version.into(),
        kind: kind.into(),
        name: name.into(),
        namespace: "shop".into(),
    }
}

fn change(old: &str, new: &str, setter: &str) -> Change {
    Change { old: old.into(), new: new.into(), setter: setter.into() }
}

/// Data set G of the specification.
fn update() -> Update {
    let mut setters = Setters::default();
    for (name, image, tag) in [("web", "ghcr.io/acme/web", "1.1.0"), ("api", "acme/api", "2.1.0")] {
        let policy = PolicyName { namespace: "flux-system".into(), name: name.into() };
        setters.insert(policy, Image { name: image.into(), tag: tag.into(), digest: None });
    }
    let web = change("ghcr.io/acme/web:1.0.0", "ghcr.io/acme/web:1.1.0", "flux-system:web");
    let api = change("2.0.0", "2.1.0", "flux-system:api:tag");
    let mut update = Update::default();
    let changes = vec![
        (object("apps/v1", "Deployment", "web"), web.clone()),
        (object("batch/v1", "CronJob", "web-jobs"), web),
    ];
    update.record("apps/web.yaml", changes, &setters);
    let changes = vec![(object("helm.toolkit.fluxcd.io/v2", "HelmRelease", "api"), api)];
    update.record("releases/api.yaml", changes, &setters);
    update
}

fn render(template: &str) -> Result<String, String> {
    render_in(template, None)
}

fn render_in(template: &str, engine: Option<Engine>) -> Result<String, String> {
    let values = BTreeMap::from([("cluster".to_owned(), "prod".to_owned())]);
    let update = update();
    let data = MessageData { namespace: "flux-system", name: "apps", update: &update, values: &values };
    let message = Message::parse(template, engine).map_err(|error| error.to_string())?;
    message.render(&data, &|| Duration::ZERO).map_err(|error| error.to_string())
}

/// TP-7: files and objects come in their order, whatever it is in the tree or a file.
#[test]
fn files_and_objects_are_in_order() {
    let mut setters = Setters::default();
    let policy = PolicyName { namespace: "shop".into(), name: "web".into() };
    setters.insert(policy, Image { name: "acme/web".into(), tag: "2".into(), digest: None });
    let mut update = Update::default();
    for file in ["b.yaml", "a.yaml"] {
        let of = |kind: &str, name: &str| {
            (object("v1", kind, name), change("acme/web:1", "acme/web:2", "shop:web"))
        };
        update.record(file, vec![of("Pod", "z"), of("Job", "y"), of("Pod", "x")], &setters);
    }
    let template = "{{ range $f, $os := .Changed.FileChanges }}{{ $f }}:\
                    {{ range $o, $_ := $os }} {{ $o.Kind }}/{{ $o.Name }}{{ end }}\n{{ end }}";
    let data = MessageData { namespace: "shop", name: "apps", update: &update, values: &BTreeMap::new() };
    let message = Message::parse(template, None).unwrap().render(&data, &|| Duration::ZERO).unwrap();
    assert_eq!(message.trim(), "a.yaml: Job/y Pod/x Pod/z\nb.yaml: Job/y Pod/x Pod/z");
}

const TEMPLATE_8: &str = "Files:
{{ range $f, $_ := .Changed.FileChanges -}}
- {{ $f }}
{{ end -}}

Objects:
{{ range $o, $cs := .Changed.Objects -}}
- {{ $o.Kind | lower }} {{ $o.Name }}
  Changes:
{{- range $_, $c := $cs }}
    - {{ $c.OldValue }} -> {{ $c.NewValue }}
{{ end -}}
{{ end -}}
";

const MESSAGE_8: &str = "Files:
- apps/web.yaml
- releases/api.yaml
Objects:
- deployment web
  Changes:
    - ghcr.io/acme/web:1.0.0 -> ghcr.io/acme/web:1.1.0
- cronjob web-jobs
  Changes:
    - ghcr.io/acme/web:1.0.0 -> ghcr.io/acme/web:1.1.0
- helmrelease api
  Changes:
    - 2.0.0 -> 2.1.0
";

const TEMPLATE_9: &str = "Objects:
{{ range $r, $_ := .Updated.Objects -}}
{{ if eq $r.Kind \"Deployment\" -}}
- {{ $r.Kind | lower }} {{ $r.Name | lower }}
{{ else -}}
- {{ $r.Kind }} {{ $r.Name }}
{{ end -}}
{{ end -}}

Images:
{{ range .Updated.Images -}}
- {{.}} ({{.Policy.Name}})
{{ end -}}
";

const MESSAGE_9: &str = "Objects:
- deployment web
- CronJob web-jobs
- HelmRelease api
Images:
- ghcr.io/acme/web:1.1.0 (web)
- acme/api:2.1.0 (api)
";

const CHANGE_ID: &str = r#"{{- $id := .AutomationObject -}}{{- $id = printf "%s%s" $id ( .Changed.FileChanges | toString ) -}}{{- $id = printf "%s%s" $id ( .Changed.Objects | toString ) -}}{{- $id = printf "%s%s" $id ( .Changed.Changes | toString ) }}Change-Id: {{ printf "I%s" ( sha256sum $id | trunc 40 ) }}"#;

#[rstest]
#[case::default("", "Update from image update automation")]
#[case::white_space("   \n\t", "   \n\t")]
#[case::changes(
    "{{range .Changed.Changes}}{{print .OldValue}} -> {{println .NewValue}}{{end}}",
    "ghcr.io/acme/web:1.0.0 -> ghcr.io/acme/web:1.1.0\n2.0.0 -> 2.1.0\n"
)]
#[case::images("{{range .Updated.Images}}{{println .}}{{end}}", "ghcr.io/acme/web:1.1.0\nacme/api:2.1.0\n")]
#[case::values(
    "for {{ .Values.cluster }}/{{ index .Values \"cluster\" }}[{{ .Values.x }}]",
    "for prod/prod[<no value>]"
)]
#[case::image_parts(
    "{{ range .Updated.Images }}{{ .Registry }} {{ .Repository }} {{ .Identifier }} {{ .Policy }};{{ end }}",
    "ghcr.io acme/web 1.1.0 flux-system/web;index.docker.io acme/api 2.1.0 flux-system/api;"
)]
#[case::chain(
    "{{ (index .Changed.Changes 0).NewValue }} {{ len .Changed.Changes }} {{ $.AutomationObject.Name }}",
    "ghcr.io/acme/web:1.1.0 2 apps"
)]
#[case::printed(
    "{{ .Changed.Changes | toString }}",
    "[{ghcr.io/acme/web:1.0.0 ghcr.io/acme/web:1.1.0 flux-system:web} {2.0.0 2.1.0 flux-system:api:tag}]"
)]
#[case::files(TEMPLATE_8, MESSAGE_8)]
#[case::legacy(TEMPLATE_9, MESSAGE_9)]
#[case::change_id(CHANGE_ID, "Change-Id: I12fb02fa06bd5b05c02932d8d492a5335a1976c5")]
#[case::legacy_result(
    "{{ range .Changed.ImageResult.Images }}{{ . }} {{ end }}",
    "ghcr.io/acme/web:1.1.0 acme/api:2.1.0 "
)]
#[case::legacy_files(
    "{{ range $f, $r := .Updated.Files }}{{ $f }}:{{ range $o, $i := $r.Objects }}{{ $o.Name }}={{ $i }} {{ end }}{{ end }}",
    "apps/web.yaml:web=[ghcr.io/acme/web:1.1.0] web-jobs=[ghcr.io/acme/web:1.1.0] releases/api.yaml:api=[acme/api:2.1.0] "
)]
#[case::objects_print(
    "{{ range $o, $c := .Changed.Objects }}{{ $o }} {{ end }}",
    "{{{apps/v1 Deployment} {web shop}}} {{{batch/v1 CronJob} {web-jobs shop}}} \
     {{{helm.toolkit.fluxcd.io/v2 HelmRelease} {api shop}}} "
)]
#[case::all(
    "{{ . }}",
    "{flux-system/apps {map[apps/web.yaml:map[{{{apps/v1 Deployment} {web shop}}}:[{ghcr.io/acme/web:1.0.0 \
     ghcr.io/acme/web:1.1.0 flux-system:web}] {{{batch/v1 CronJob} {web-jobs shop}}}:[{ghcr.io/acme/web:1.0.0 \
     ghcr.io/acme/web:1.1.0 flux-system:web}]] releases/api.yaml:map[{{{helm.toolkit.fluxcd.io/v2 HelmRelease} {api shop}}}:\
     [{2.0.0 2.1.0 flux-system:api:tag}]]]} map[cluster:prod]}"
)]
#[case::result("{{ printf \"%.28s\" (print .Changed) }}", "{map[apps/web.yaml:map[{{{ap")]
#[case::name_as_json("{{ .AutomationObject | toJson }}", "{\"Namespace\":\"flux-system\",\"Name\":\"apps\"}")]
#[case::method_of_the_name("{{ .AutomationObject.String }}", "flux-system/apps")]
#[case::version_with_metadata(
    "{{ semver \"1.2.3-rc.1+b\" }} {{ (semver \"1.2+b\").Metadata }}",
    "1.2.3-rc.1+b b"
)]
#[case::nothing_below_nothing("{{ .Values.none.deeper }}", "<no value>")]
fn templates_give_the_known_message(#[case] template: &str, #[case] message: &str) {
    assert_eq!(render(template).as_deref(), Ok(message));
}

#[rstest]
#[case("{{ .AutomationObject", "1: unclosed action")]
#[case("{{ nope }}", r#"1: function "nope" not defined"#)]
#[case("{{ env \"HOME\" }}", r#"1: function "env" not defined"#)]
#[case("{{ now }}", r#"1: function "now" not defined"#)]
#[case(
    "{{ automation.name }}",
    r#"1: function "automation" not defined (a Handlebars template begins with `{{!}}`)"#
)]
#[case("{{ end }}", "1: unexpected {{end}}")]
fn a_template_that_does_not_parse_says_why(#[case] template: &str, #[case] text: &str) {
    let text = format!("unable to create commit message template from spec: template: commit message:{text}");
    assert_eq!(render(template), Err(text));
}

#[rstest]
#[case("{{ .Nope }}", "1:3", ".Nope", "can't evaluate field Nope in type source.TemplateData")]
#[case(
    "{{ .Changed.Objects.X }}",
    "1:11",
    ".Changed.Objects.X",
    "can't evaluate field X in type update.ObjectChanges"
)]
#[case("{{ .Changed.Nope }}", "1:11", ".Changed.Nope", "can't evaluate field Nope in type update.Result")]
#[case(
    "{{ index .Values 3 }}",
    "1:3",
    "index .Values 3",
    "error calling index: value has type int; should be string"
)]
#[case("{{ fail \"stop\" }}", "1:3", "fail \"stop\"", "error calling fail: stop")]
#[case(
    "{{ .AutomationObject.Name.X }}",
    "1:20",
    ".AutomationObject.Name.X",
    "can't evaluate field X in type string"
)]
fn a_template_that_fails_says_where_and_why(
    #[case] template: &str,
    #[case] place: &str,
    #[case] piece: &str,
    #[case] text: &str,
) {
    let text = format!(
        "failed to run template from spec: template: commit message:{place}: executing \"commit message\" at <{piece}>: {text}"
    );
    assert_eq!(render(template), Err(text));
}

/// TP-11, TP-13
#[rstest]
#[case::changes(
    "{{! weir }}{{#each changes}}{{oldValue}} -> {{newValue}}\n{{/each}}",
    "ghcr.io/acme/web:1.0.0 -> ghcr.io/acme/web:1.1.0\n2.0.0 -> 2.1.0\n"
)]
#[case::no_comment("{{#each images}}{{ref}}\n{{/each}}", "ghcr.io/acme/web:1.1.0\nacme/api:2.1.0\n")]
#[case::images(
    "{{#each images}}{{name}} {{registry}} {{repository}} {{tag}}{{digest}} {{identifier}} {{policy.namespace}}/{{policy.name}};{{/each}}",
    "ghcr.io/acme/web:1.1.0 ghcr.io acme/web 1.1.0 1.1.0 flux-system/web;\
     index.docker.io/acme/api:2.1.0 index.docker.io acme/api 2.1.0 2.1.0 flux-system/api;"
)]
#[case::files(
    "{{#each files}}{{path}}:{{#each objects}} {{lower kind}} {{namespace}}/{{name}} {{#each changes}}{{setter}}{{/each}}{{/each}}\n{{/each}}",
    "apps/web.yaml: deployment shop/web flux-system:web cronjob shop/web-jobs flux-system:web\n\
     releases/api.yaml: helmrelease shop/api flux-system:api:tag\n"
)]
#[case::of_the_page(
    "{{! weir }}Update images in {{values.cluster}}\n\n{{#each changes}}\n- {{oldValue}} -> {{newValue}}\n{{/each}}\n",
    "Update images in prod\n\n- ghcr.io/acme/web:1.0.0 -> ghcr.io/acme/web:1.1.0\n- 2.0.0 -> 2.1.0\n"
)]
#[case::objects("{{#each objects}}{{apiVersion}} {{/each}}", "apps/v1 batch/v1 helm.toolkit.fluxcd.io/v2 ")]
#[case::the_rest(
    "{{! }}{{automation.namespace}}/{{automation.name}} {{values.cluster}}",
    "flux-system/apps prod"
)]
fn handlebars_templates_give_the_known_message(#[case] template: &str, #[case] message: &str) {
    assert_eq!(render(template).as_deref(), Ok(message));
}

/// TP-2: the first rule that applies.
#[rstest]
#[case::asked_for("{{automation.name}}", Some(Engine::Handlebars), Ok("apps"))]
#[case::asked_against(
    "{{! c }}",
    Some(Engine::Go),
    Err(
        "unable to create commit message template from spec: template: commit message:1: unexpected \"!\" in command"
    )
)]
#[case::a_comment_first("\n {{!}}{{len changes}}", None, Ok("\n 2"))]
#[case::go_first("{{ \"{{#\" }}", None, Ok("{{#"))]
#[case::text("a } b", Some(Engine::Handlebars), Ok("a } b"))]
#[case::broken(
    "{{#each changes}}",
    None,
    Err(
        "unable to create commit message template from spec: template: commit message:1:18: no Handlebars from here on, or a block is not closed"
    )
)]
#[case::failing(
    "{{#each changes}}{{nope}}{{/each}}",
    None,
    Err("failed to run template from spec: template: commit message:1:18: \"nope\" is not in the data")
)]
fn the_engine_is_chosen(
    #[case] template: &str,
    #[case] engine: Option<Engine>,
    #[case] expected: Result<&str, &str>,
) {
    assert_eq!(render_in(template, engine).as_deref().map_err(String::as_str), expected);
}

#[rstest]
#[case("go", Ok(Engine::Go))]
#[case("handlebars", Ok(Engine::Handlebars))]
#[case("Go", Err(UnknownEngine))]
#[case("", Err(UnknownEngine))]
fn engines_have_names(#[case] name: &str, #[case] expected: Result<Engine, UnknownEngine>) {
    assert_eq!(name.parse(), expected);
}

#[test]
fn digests_show_in_images() {
    let policy = PolicyName { namespace: "ns".into(), name: "app".into() };
    let image = Image { name: "docker.io/nginx".into(), tag: "1.2".into(), digest: Some("sha256:0f".into()) };
    let mut setters = Setters::default();
    setters.insert(policy, image);
    let mut update = Update::default();
    let changes = vec![(ObjectId::default(), change("a", "sha256:0f", "ns:app:digest"))];
    update.record("a.yaml", changes, &setters);
    let values = BTreeMap::new();
    let data = MessageData { namespace: "ns", name: "x", update: &update, values: &values };
    let template = "{{ range .Updated.Images }}{{ . }} {{ .Name }} {{ .Identifier }}{{ end }}";
    let message = Message::parse(template, None).unwrap().render(&data, &|| Duration::ZERO).unwrap();
    assert_eq!(message, "docker.io/nginx:1.2@sha256:0f index.docker.io/library/nginx@sha256:0f sha256:0f");
}
