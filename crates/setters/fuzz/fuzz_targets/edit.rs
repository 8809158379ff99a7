//! Files of a repository are tenants' text: what is edited differs in values only, and editing it again changes nothing.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use weir_setters::{Image, PolicyName, Setters, edit};

/// A value for every way of quoting: plain, with a colon, one that reads as a number, none.
static SETTERS: LazyLock<Setters> = LazyLock::new(|| {
    let mut setters = Setters::default();
    for (name, image, tag, digest) in [
        ("a", "ghcr.io/org/app", "v1.2", Some("sha256:ab")),
        ("b", "app", "1.10", None),
        ("c", "~", "null", None),
    ] {
        let policy = PolicyName { namespace: "n".to_owned(), name: name.to_owned() };
        let image = Image { name: image.to_owned(), tag: tag.to_owned(), digest: digest.map(str::to_owned) };
        setters.insert(policy, image);
    }
    setters
});

fuzz_target!(|text: &str| {
    let Ok(Some(edited)) = edit(text, &SETTERS) else { return };
    assert!(!edited.changes.is_empty());
    assert!(edited.changes.iter().all(|(_, change)| SETTERS.value(&change.setter) == Some(&change.new)));
    assert_eq!(edit(&edited.text, &SETTERS), Ok(None), "editing twice is editing once");
});
