//! Templates of commit messages are tenants' text: they render the same text twice, within the caps, or are refused.
#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use weir_setters::{Change, Image, ObjectId, PolicyName, Setters, Update};
use weir_template::{Engine, MAX_OUTPUT, Message, MessageData};

static UPDATE: LazyLock<Update> = LazyLock::new(|| {
    let policy = PolicyName { namespace: "flux-system".to_owned(), name: "web".to_owned() };
    let digest = Some(format!("sha256:{}", "a".repeat(64)));
    let mut setters = Setters::default();
    setters.insert(policy, Image { name: "ghcr.io/acme/web".to_owned(), tag: "1.1.0".to_owned(), digest });
    let change = |old: &str, new: &str, setter: &str| Change {
        old: old.to_owned(),
        new: new.to_owned(),
        setter: setter.to_owned(),
    };
    let object = |kind: &str| ObjectId {
        api_version: "apps/v1".to_owned(),
        kind: kind.to_owned(),
        name: "web".to_owned(),
        namespace: "shop".to_owned(),
    };
    let whole = change("ghcr.io/acme/web:1.0.0", "ghcr.io/acme/web:1.1.0", "flux-system:web");
    let tag = change("1.0.0", "1.1.0", "flux-system:web:tag");
    let mut update = Update::default();
    update.record(
        "apps/web.yaml",
        vec![(object("Deployment"), whole), (object("CronJob"), tag.clone())],
        &setters,
    );
    update.record("releases/web.yaml", vec![(ObjectId::default(), tag)], &setters);
    update
});

fuzz_target!(|template: &str| {
    let values =
        BTreeMap::from([("cluster".to_owned(), "prod".to_owned()), ("empty".to_owned(), String::new())]);
    let data = MessageData { namespace: "flux-system", name: "apps", update: &UPDATE, values: &values };
    for engine in [None, Some(Engine::Go), Some(Engine::Handlebars)] {
        let Ok(message) = Message::parse(template, engine) else { continue };
        let rendered = message.render(&data, &|| Duration::ZERO);
        assert_eq!(message.render(&data, &|| Duration::ZERO), rendered);
        assert!(rendered.map_or(0, |text| text.len()) <= MAX_OUTPUT);
    }
});
