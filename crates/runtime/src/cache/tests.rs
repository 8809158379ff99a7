use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;

use super::watch::Refused;
use super::*;

fn config_map(name: &str, version: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.namespace = Some("apps".into());
    object.metadata.name = Some(name.into());
    object.metadata.resource_version = Some(version.into());
    object
}

#[test]
fn an_older_event_does_not_replace_a_newer_answer() {
    let cache = Cache::default();
    cache.apply(config_map("a", "5"));
    cache.insert(config_map("a", "7"));
    cache.apply(config_map("a", "6"));
    let held = cache.get(&ObjectKey::new("apps", "a")).unwrap();
    assert_eq!(held.metadata.resource_version.as_deref(), Some("7"));
}

/// Objects that are known are not decoded again.
#[test]
fn only_newer_and_other_objects_say_something_new() {
    let cache = Cache::default();
    cache.apply(config_map("a", "7"));
    // An answer that comes late may be of an object that was deleted and made again since.
    let mut other = config_map("a", "6");
    other.metadata.uid = Some("1".into());
    let objects =
        [config_map("a", "6"), config_map("a", "7"), config_map("a", "8"), config_map("b", "7"), other];
    let known = objects.map(|object| cache.knows(&ObjectKey::of(&object), &object.metadata));
    assert_eq!(known, [true, true, false, false, true]);
}

#[test]
fn held_objects_have_no_room_to_grow() {
    let cache = Cache::default();
    let mut object = config_map("a", "1");
    let mut finalizers = Vec::with_capacity(4);
    finalizers.push("one".to_owned());
    object.metadata.finalizers = Some(finalizers);
    cache.apply(object);
    let held = cache.get(&ObjectKey::new("apps", "a")).unwrap();
    assert_eq!(held.metadata.finalizers.as_ref().unwrap().capacity(), 1);
}

#[test]
fn an_answer_does_not_bring_a_deleted_object_back() {
    let cache = Cache::default();
    cache.apply(config_map("a", "5"));
    cache.delete(&ObjectKey::new("apps", "a"));
    cache.insert(config_map("a", "6"));
    assert!(cache.is_empty());
}

#[test]
fn listeners_hear_of_what_is_there_and_of_what_comes_and_goes() {
    let cache = Cache::default();
    cache.apply(config_map("a", "1"));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = heard.clone();
    cache.on_change(move |change: &Change<ConfigMap>| {
        ear.lock().push((change.old.is_some(), change.new.is_some()));
    });
    cache.apply(config_map("a", "2"));
    cache.delete(&ObjectKey::new("apps", "a"));
    assert_eq!(*heard.lock(), [(false, true), (true, true), (true, false)]);
}

#[test]
fn a_new_list_drops_what_it_does_not_name() {
    let cache = Cache::default();
    cache.apply(config_map("a", "1"));
    cache.apply(config_map("b", "2"));
    cache.retain(&[ObjectKey::new("apps", "b")].into());
    assert_eq!(cache.len(), 1);
}

#[test]
fn without_its_crd_a_kind_has_no_objects() {
    let cache = Cache::default();
    cache.apply(config_map("a", "1"));
    cache.inner.knowledge.send_replace(Knowledge::Objects);
    cache.refused(Refused::NotServed);
    assert!(cache.is_empty() && cache.is_whole());
}

#[test]
fn objects_stay_when_the_right_to_list_them_goes() {
    let cache = Cache::default();
    cache.apply(config_map("a", "1"));
    cache.inner.knowledge.send_replace(Knowledge::Objects);
    cache.refused(Refused::Forbidden);
    assert!(cache.len() == 1 && cache.is_whole());
}

#[test]
fn a_kind_that_was_never_shown_may_have_objects() {
    let cache = Cache::<ConfigMap>::default();
    cache.refused(Refused::Forbidden);
    assert!(cache.is_empty() && !cache.is_whole());
}

fn aside(cache: &Cache<ConfigMap>, name: &str, version: &str) {
    let object = config_map(name, version);
    let object = Unreadable { meta: object.metadata, ..Unreadable::default() };
    cache.set_aside(ObjectKey::new("apps", name), object);
}

/// DEP-K8S-4: the state before is not worked on, and nobody takes the object for gone.
#[test]
fn an_object_that_does_not_fit_any_more_is_no_longer_held() {
    let cache = Cache::default();
    let key = ObjectKey::new("apps", "a");
    cache.apply(config_map("a", "1"));
    cache.inner.knowledge.send_replace(Knowledge::Objects);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (of_changes, of_unreadable) = (heard.clone(), heard.clone());
    cache.on_change(move |change: &Change<ConfigMap>| of_changes.lock().push(change.new.is_some()));
    cache.on_unreadable(move |_| of_unreadable.lock().push(false));
    aside(&cache, "a", "2");
    assert!(cache.get(&key).is_none() && cache.unreadable(&key).is_some() && cache.knows_of(&key));
    assert!(cache.knows(&key, &config_map("a", "2").metadata), "it is logged once");
    cache.insert(config_map("a", "1"));
    aside(&cache, "a", "1");
    assert_eq!(cache.unreadable(&key).unwrap().meta.resource_version.as_deref(), Some("2"));
    cache.apply(config_map("a", "3"));
    assert!(cache.get(&key).is_some() && cache.unreadable(&key).is_none() && cache.knows_of(&key));
    assert_eq!(*heard.lock(), [true, false, false, true]);
}

#[test]
fn an_object_that_does_not_fit_is_gone_when_it_is_deleted_or_not_listed() {
    let cache = Cache::<ConfigMap>::default();
    cache.inner.knowledge.send_replace(Knowledge::Objects);
    aside(&cache, "a", "1");
    aside(&cache, "b", "2");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = heard.clone();
    cache.on_unreadable(move |key| ear.lock().push(key.name.clone()));
    heard.lock().sort();
    assert_eq!(*heard.lock(), ["a", "b"], "those that are there");
    cache.delete(&ObjectKey::new("apps", "a"));
    let knows = |name| cache.knows_of(&ObjectKey::new("apps", name));
    let mut odd = config_map("c", "3");
    odd.metadata.uid = Some("u".into());
    cache.set_aside(ObjectKey::new("apps", "c"), Unreadable { meta: odd.metadata, ..Unreadable::default() });
    assert!(cache.knows_uid("u") && !cache.knows_uid("v"));
    assert!(!knows("a") && knows("b"));
    cache.retain(&std::collections::HashSet::new());
    assert!(!knows("b"));
}
