//! Names changed; references to them follow (§10).

mod candidates;
pub(crate) mod error;
mod referrers;

use weir_yaml::{Node, Tag, Value};

use self::candidates::{Candidate, Candidates, Compared, Referrer};
use self::error::ReferenceError;
use self::referrers::{Lookup, Referrers};
use crate::config::Config;
use crate::error::Context;
use crate::fieldspec::{Creation, set_scalar};
use crate::id::NO_NAMESPACE;
use crate::resmap::ResMap;
use crate::resource::Resource;
use crate::schema::Schema;
use crate::{Error, Stop};

/// Fixes every reference that the configuration knows.
///
/// # Errors
/// A reference is ambiguous, or a path runs into something unexpected.
pub(crate) fn fix(
    resources: &mut ResMap,
    config: &Config,
    schema: &Schema,
    stop: &Stop,
) -> Result<(), Error> {
    let candidates = Candidates::new(resources, schema);
    let kinds = resources.iter().map(|resource| resource.original_id().gvk.kind.to_owned()).collect();
    let referrers = Referrers::new(config, &kinds);
    for resource in resources.contents_mut() {
        stop.check()?;
        let lookups = referrers.lookups_of(resource.original_id().gvk);
        if lookups.is_empty() {
            continue;
        }
        let fixer = Fixer { candidates: &candidates, referrer: Referrer::new(resource, schema)? };
        for lookup in lookups {
            let id = resource.id().to_string();
            lookup.path.apply(resource, Creation::Never, &mut |node| fixer.fix(node, lookup)).context(
                || format!("updating name reference in '{}' field of '{id}'", lookup.path.as_str()),
            )?;
        }
    }
    Ok(())
}

/// Follows references of one resource.
struct Fixer<'f> {
    candidates: &'f Candidates,
    referrer: Referrer,
}

impl Fixer<'_> {
    fn fix(&self, node: &mut Node, lookup: &Lookup) -> Result<(), Error> {
        match node {
            node if node.is_null() => Ok(()),
            Node::Scalar(_) => self.fix_scalar(node, lookup),
            Node::Map(_) => self.fix_mapping(node, lookup),
            Node::Seq(items) => items.iter_mut().try_for_each(|item| match item {
                Node::Scalar(_) => self.fix_scalar(item, lookup),
                item => self.fix_mapping(item, lookup),
            }),
        }
    }

    fn fix_scalar(&self, node: &mut Node, lookup: &Lookup) -> Result<(), Error> {
        let old = node.text().unwrap_or_default();
        let named = self.candidates.named(old);
        match self.select(named.collect(), lookup, Compared::Names)? {
            Some(target) if target.name != *old => set_scalar(node, &target.name, Tag::Unset),
            _ => Ok(()),
        }
    }

    fn fix_mapping(&self, node: &mut Node, lookup: &Lookup) -> Result<(), Error> {
        let Some(map) = node.as_map_mut() else { return Err(Error::wrong_kind("MappingNode", node)) };
        let Some(name) = map.get("name") else { return Err(ReferenceError::NoName.into()) };
        let old = name.text().unwrap_or_default().to_owned();
        let mut named: Vec<&Candidate> = self.candidates.named(&old).collect();
        if let Some(namespace) = map.get("namespace") {
            let namespace = namespace.text().unwrap_or_default();
            // Resources that were there before count first, whatever their names.
            if self.candidates.has_original_namespace(namespace, &self.referrer) {
                named.retain(|candidate| candidate.original_namespace == namespace);
            } else {
                named.retain(|candidate| {
                    candidate.effective_namespace == namespace && namespace != NO_NAMESPACE
                });
            }
        }
        let Some(target) = self.select(named, lookup, Compared::NamesAndNamespaces)? else { return Ok(()) };
        if target.name == old && target.namespace.is_empty() {
            return Ok(());
        }
        for (key, value) in [("name", &target.name), ("namespace", &target.namespace)] {
            if !value.is_empty() {
                set_field(map, key, value)?;
            }
        }
        Ok(())
    }

    /// Narrows candidates down to the one that is meant (KZ-1004).
    fn select<'c>(
        &self,
        candidates: Vec<&'c Candidate>,
        lookup: &Lookup,
        compared: Compared,
    ) -> Result<Option<&'c Candidate>, Error> {
        let mut left = candidates;
        left.retain(|candidate| {
            self.referrer.may_refer_to(candidate)
                && candidate.was_selected_by(lookup.target())
                && self.referrer.role_allows(lookup, candidate)
                && self.referrer.shares_namespace_with(candidate)
        });
        if let [only] = left.as_slice() {
            return Ok(Some(only));
        }
        left.retain(|candidate| self.referrer.has_compatible_affixes(candidate, true));
        if left.len() > 1 {
            left.retain(|candidate| self.referrer.has_compatible_affixes(candidate, false));
        }
        match left.as_slice() {
            [] => Ok(None),
            [first, others @ ..] if others.iter().all(|other| compared.are_equal(first, other)) => {
                Ok(Some(first))
            }
            several => {
                let ids: Vec<&str> = several.iter().map(|candidate| candidate.id.as_str()).collect();
                Err(ReferenceError::Ambiguous(ids.join(", ")).into())
            }
        }
    }
}

fn set_field(map: &mut weir_yaml::Map, key: &str, value: &str) -> Result<(), Error> {
    match map.get_mut(key) {
        Some(node) => set_scalar(node, value, Tag::Unset),
        None => {
            map.set(key, Node::string(value));
            Ok(())
        }
    }
}

/// Namespaces that the subjects of a role binding live in.
fn subject_namespaces(resource: &Resource) -> Result<Vec<String>, Error> {
    if resource.kind() != "RoleBinding" {
        return Ok(Vec::new());
    }
    let subjects = resource.node.get("subjects").and_then(Node::as_seq).unwrap_or_default();
    let mut namespaces = Vec::new();
    for subject in subjects {
        let Node::Map(subject) = subject else { return Err(Error::wrong_kind("MappingNode", subject)) };
        let (Some(namespace), Some(kind)) = (subject.get("namespace"), subject.get("kind")) else { continue };
        match (string(kind).as_deref(), string(namespace)) {
            (Some("ServiceAccount"), Some(namespace)) => namespaces.push(namespace),
            (Some("ServiceAccount"), None) => {
                return Err(ReferenceError::BlankNamespace(resource.id().to_string()).into());
            }
            (Some(_), _) => {}
            (None, _) => return Err(ReferenceError::NoKind(resource.id().to_string()).into()),
        }
    }
    Ok(namespaces)
}

/// The text of a string.
fn string(node: &Node) -> Option<String> {
    match node.as_scalar()?.value() {
        Ok(Value::Str(text)) => Some(text.into_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
