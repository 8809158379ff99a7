//! The kinds, one row each: what they are called on the command line, what `get` shows of them, what the verbs say.

mod column;
mod object;
mod reference;
mod table;

use kube::api::{ApiResource, DynamicObject};
use serde_json::Value;

pub(crate) use self::column::Column;
pub(crate) use self::object::{
    condition, first_of, is_suspended, last_handled, ready, reason, revision_of, text, transition_time,
};
pub(crate) use self::reference::{Reference, Role, references};
pub(crate) use self::table::KINDS;
use crate::cluster::nearest;
use crate::error::Error;

/// One kind.
#[derive(Debug)]
pub(crate) struct Kind {
    /// Kind, such as `GitRepository`.
    pub(crate) name: &'static str,
    /// Name for people, such as `source git`.
    pub(crate) human: &'static str,
    /// API group.
    pub(crate) group: &'static str,
    /// Version the command reads and writes.
    pub(crate) version: &'static str,
    /// Plural name in addresses.
    pub(crate) plural: &'static str,
    /// Its words on the command line.
    pub(crate) words: Words,
    /// Columns that `get` shows, after the namespace.
    pub(crate) columns: &'static [Column],
    /// True when revisions and messages show hashes, which are cut (CLI-G14).
    pub(crate) shortens: bool,
    /// Message that `get` shows for an object that nothing reconciles: it is ready as soon as it exists (CLI-G23).
    pub(crate) static_message: fn(&DynamicObject) -> Option<&'static str>,
    /// False for kinds that nothing reconciles: their objects are ready, and nothing else.
    pub(crate) has_conditions: bool,
    /// The verbs that there are for the kind.
    pub(crate) verbs: Verbs,
    /// The kinds that `reconcile --with-source` reconciles first; empty for kinds without that flag (CLI-REC03).
    pub(crate) sources: &'static [&'static str],
    /// Message after a successful reconciliation (CLI-REC02).
    pub(crate) success: fn(&DynamicObject) -> String,
    /// Reads an object and writes it as the API's types do, so that `1m` becomes `1m0s`.
    pub(crate) normalized: fn(Value) -> serde_json::Result<Value>,
}

/// The verbs that apply to a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verbs {
    /// All there is.
    All,
    /// All but `reconcile`: no object of the kind is reconciled.
    AllButReconcile,
    /// It is only shown: somebody else writes it.
    Get,
}

/// The words for a kind behind a verb.
#[derive(Debug)]
pub(crate) struct Words {
    /// Word before its own, such as `source` in `source git`.
    pub(crate) group: Option<Group>,
    /// After verbs that take one object.
    pub(crate) one: &'static str,
    /// After `get`.
    pub(crate) many: &'static str,
    /// Short forms, as kubectl knows them.
    pub(crate) short: &'static [&'static str],
}

/// A word that several kinds stand behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// `source`, `sources`.
    Source,
    /// `image`, `images`.
    Image,
    /// `artifact`, `artifacts`.
    Artifact,
}

impl Group {
    /// The groups, in the order of the help texts.
    pub(crate) const ALL: [Self; 3] = [Self::Source, Self::Image, Self::Artifact];

    /// The word after verbs that take one object, and after `get`.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Source => ("source", "sources"),
            Self::Image => ("image", "images"),
            Self::Artifact => ("artifact", "artifacts"),
        }
    }

    /// Returns the description of the group's kinds, for help texts.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Source => "sources",
            Self::Image => "image automation objects",
            Self::Artifact => "artifact generators",
        }
    }

    /// Returns true when `get <group> all` and `get all` show the kinds of the group (CLI-GET06).
    pub(crate) fn has_all(self) -> bool {
        self != Self::Artifact
    }
}

impl Kind {
    /// The kind in the API: group, version and plural.
    pub(crate) fn api_resource(&self) -> ApiResource {
        ApiResource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            api_version: format!("{}/{}", self.group, self.version),
            kind: self.name.to_owned(),
            plural: self.plural.to_owned(),
        }
    }

    /// The kind of a name that the program itself knows.
    pub(crate) fn named(name: &str) -> Result<&'static Self, Error> {
        let unknown = || Error::UnknownKind { word: name.to_owned(), known: String::new() };
        KINDS.iter().find(|kind| kind.name == name).ok_or_else(unknown)
    }

    /// The words behind a verb that takes one object.
    pub(crate) fn path(&self) -> String {
        let group = self.words.group.map_or("", |group| group.words().0);
        format!("{group} {}", self.words.one).trim_start().to_owned()
    }

    /// The words behind `get`.
    pub(crate) fn plural_path(&self) -> String {
        let group = self.words.group.map_or("", |group| group.words().1);
        format!("{group} {}", self.words.many).trim_start().to_owned()
    }

    /// The kind that a word names: its kind, plural or a short form, in any case; its group may follow, as `-o name` prints it.
    pub(crate) fn find(word: &str) -> Option<&'static Self> {
        let word = word.to_lowercase();
        let (word, group) =
            word.split_once('.').map_or((word.as_str(), None), |(word, group)| (word, Some(group)));
        let in_group = |kind: &&Self| group.is_none_or(|group| group == kind.group);
        KINDS.iter().filter(in_group).find(|kind| kind.own_words().iter().any(|own| own == word))
    }

    /// Returns a line that names the kind which was perhaps meant by a word; nothing when none is like it.
    pub(crate) fn similar(word: &str) -> String {
        let words: Vec<String> = KINDS.iter().flat_map(Self::own_words).collect();
        let meant = nearest(&word.to_lowercase(), &words);
        meant.map_or_else(String::new, |meant| format!("\n  did you mean '{meant}'?"))
    }

    /// The words for the kind, in lower case.
    fn own_words(&self) -> Vec<String> {
        let words = [self.plural, self.words.one].into_iter().chain(self.words.short.iter().copied());
        std::iter::once(self.name.to_lowercase()).chain(words.map(str::to_owned)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("ks", Some("Kustomization"))]
    #[case("Kustomization.kustomize.toolkit.fluxcd.io", Some("Kustomization"))]
    #[case("kustomization.example.com", None)]
    #[case("nothing", None)]
    fn kinds_are_found_by_their_words(#[case] word: &str, #[case] expected: Option<&str>) {
        assert_eq!(Kind::find(word).map(|kind| kind.name), expected);
    }

    #[test]
    fn a_kind_may_be_meant_by_a_word_like_it() {
        assert_eq!(Kind::similar("Kustomizaton"), "\n  did you mean 'kustomization'?");
        assert_eq!(Kind::similar("nothing"), "");
    }
}
