//! The objects as the stream has sent them so far. A stream that begins anew is compared with them: an object that went
//! meanwhile is shown as gone, and an unchanged one is not shown again.

use std::collections::{HashMap, HashSet};

use weir_proto::status::v1::{ChangeType, ObjectStatus, WatchResponse};

/// Kind, namespace and name.
type Key = (String, String, String);

/// The objects that exist, as the stream has sent them; bounded by the number that the services hold.
#[derive(Debug, Default)]
pub(super) struct Mirror {
    objects: HashMap<Key, ObjectStatus>,
    /// While a stream that has begun anew sends existing objects: those known before that have not come yet.
    missing: Option<HashSet<Key>>,
    version: String,
}

impl Mirror {
    /// Position from which the stream is resumed; empty when it can only begin anew.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// The next stream begins with what is there.
    pub(super) fn begin_anew(&mut self) {
        self.version.clear();
        self.missing = Some(self.objects.keys().cloned().collect());
    }

    /// Takes a response in; returns what of it is news, and at the end of a beginning what has gone meanwhile.
    pub(super) fn take(&mut self, change: WatchResponse) -> Vec<WatchResponse> {
        self.version.clone_from(&change.resource_version);
        let mut news = Vec::new();
        if change.r#type() == ChangeType::Synced {
            let missing = self.missing.take().unwrap_or_default();
            let mut gone: Vec<_> = missing.iter().filter_map(|key| self.objects.remove(key)).collect();
            gone.sort_by_key(key);
            let deleted = |object| WatchResponse {
                r#type: ChangeType::Deleted.into(),
                object: Some(object),
                resource_version: String::new(),
            };
            news.extend(gone.into_iter().map(deleted));
        }
        let is_news = match &change.object {
            None => true,
            Some(object) if change.r#type() == ChangeType::Deleted => {
                self.objects.remove(&key(object)).is_some()
            }
            Some(object) => {
                let key = key(object);
                if let Some(missing) = &mut self.missing {
                    missing.remove(&key);
                }
                self.objects.insert(key, object.clone()).as_ref() != Some(object)
            }
        };
        news.extend(is_news.then_some(change));
        news
    }
}

fn key(object: &ObjectStatus) -> Key {
    (object.kind.clone(), object.namespace.clone(), object.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(type_: ChangeType, name: &str, generation: i64, version: &str) -> WatchResponse {
        let object = ObjectStatus { name: name.into(), generation, ..ObjectStatus::default() };
        WatchResponse {
            r#type: type_.into(),
            object: (type_ != ChangeType::Synced).then_some(object),
            resource_version: version.into(),
        }
    }

    fn told(mirror: &mut Mirror, changes: &[WatchResponse]) -> Vec<String> {
        let news = changes.iter().flat_map(|change| mirror.take(change.clone()));
        news.map(|change| {
            let name = change.object.as_ref().map_or("synced", |object| &object.name);
            if change.r#type() == ChangeType::Deleted { format!("-{name}") } else { name.to_owned() }
        })
        .collect()
    }

    #[test]
    fn a_stream_that_begins_anew_tells_what_is_new_and_what_has_gone() {
        use ChangeType::{Applied, Deleted, Synced};
        let mut mirror = Mirror::default();
        mirror.begin_anew();
        let first = ["a", "b", "c", "d"]
            .map(|name| change(Applied, name, 1, ""))
            .into_iter()
            .chain([change(Synced, "", 0, "x-4")]);
        assert_eq!(told(&mut mirror, &first.collect::<Vec<_>>()), ["a", "b", "c", "d", "synced"]);
        assert_eq!(told(&mut mirror, &[change(Deleted, "d", 1, "x-5")]), ["-d"]);
        assert_eq!(mirror.version(), "x-5");

        mirror.begin_anew();
        assert_eq!(mirror.version(), "", "half a beginning is nothing to resume from");
        assert_eq!(told(&mut mirror, &[change(Applied, "a", 1, "")]), Vec::<String>::new());
        mirror.begin_anew();
        let second = [change(Applied, "c", 2, ""), change(Applied, "e", 1, ""), change(Synced, "", 0, "y-9")];
        assert_eq!(told(&mut mirror, &second), ["c", "e", "-a", "-b", "synced"]);
        assert_eq!(mirror.version(), "y-9");
    }
}
