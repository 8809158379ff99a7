//! Metadata as a tree, in the order in which SOPS writes it.

use crate::master_key::MasterKey;
use crate::metadata::{KeyGroup, Metadata};
use crate::scope::ScopeRule;
use crate::tree::{Element, Member, Node, Value};

/// Returns the node of the key `sops`.
pub(crate) fn to_node(metadata: &Metadata) -> Node {
    let mut members = Vec::new();
    if metadata.shamir_threshold > 0 {
        let threshold = i64::try_from(metadata.shamir_threshold).unwrap_or(i64::MAX);
        members.push(Member::Entry("shamir_threshold".to_owned(), Node::Value(Value::Int(threshold))));
    }
    match metadata.groups.as_slice() {
        [only] => members.extend(lists(only, &metadata.last_modified)),
        several => {
            let groups = several.iter().map(|group| lists(group, &metadata.last_modified));
            let groups = groups.map(|lists| Element::Node(Node::Map(lists))).collect();
            members.push(Member::Entry("key_groups".to_owned(), Node::List(groups)));
        }
    }
    members.push(text("lastmodified", &metadata.last_modified));
    members.push(text("mac", &metadata.mac));
    members.extend(rule(&metadata.rule));
    if metadata.mac_only_encrypted {
        members.push(Member::Entry("mac_only_encrypted".to_owned(), Node::Value(Value::Bool(true))));
    }
    members.push(text("version", &metadata.version));
    Node::Map(members)
}

fn text(key: &str, text: &str) -> Member {
    Member::Entry(key.to_owned(), Node::Value(Value::text(text)))
}

fn rule(rule: &ScopeRule) -> Option<Member> {
    Some(match rule {
        ScopeRule::All => return None,
        ScopeRule::UnencryptedSuffix(suffix) => text("unencrypted_suffix", suffix),
        ScopeRule::EncryptedSuffix(suffix) => text("encrypted_suffix", suffix),
        ScopeRule::UnencryptedRegex(regex) => text("unencrypted_regex", regex),
        ScopeRule::EncryptedRegex(regex) => text("encrypted_regex", regex),
        ScopeRule::UnencryptedCommentRegex(regex) => text("unencrypted_comment_regex", regex),
        ScopeRule::EncryptedCommentRegex(regex) => text("encrypted_comment_regex", regex),
    })
}

/// The lists of a group's keys, all of which were `made` at the same time.
fn lists(group: &KeyGroup, made: &str) -> Vec<Member> {
    let mut lists: Vec<(&str, Vec<Element>)> = Vec::new();
    for key in group {
        let (list, mut fields) = fields(key);
        if !matches!(key, MasterKey::Age { .. }) {
            fields.push(text("created_at", made));
        }
        let element = Element::Node(Node::Map(fields));
        match lists.iter_mut().find(|(name, _)| *name == list) {
            Some((_, elements)) => elements.push(element),
            None => lists.push((list, vec![element])),
        }
    }
    lists.into_iter().map(|(name, elements)| Member::Entry(name.to_owned(), Node::List(elements))).collect()
}

/// The list of a key, and the key's fields.
fn fields(key: &MasterKey) -> (&'static str, Vec<Member>) {
    match key {
        MasterKey::Age { recipient, enc } => ("age", vec![text("recipient", recipient), text("enc", enc)]),
        MasterKey::Pgp { fingerprint, enc } => ("pgp", vec![text("enc", enc), text("fp", fingerprint)]),
        MasterKey::AwsKms { arn, role, context, enc } => {
            let context = context.iter().map(|(key, value)| text(key, value)).collect();
            let context = Member::Entry("context".to_owned(), Node::Map(context));
            ("kms", vec![text("arn", arn), text("role", role), context, text("enc", enc)])
        }
        MasterKey::GcpKms { resource, enc } => {
            ("gcp_kms", vec![text("resource_id", resource), text("enc", enc)])
        }
        MasterKey::AzureKeyVault { vault_url, name, version, enc } => (
            "azure_kv",
            vec![
                text("vault_url", vault_url),
                text("name", name),
                text("version", version),
                text("enc", enc),
            ],
        ),
        MasterKey::Vault { address, engine, key, enc } => (
            "hc_vault",
            vec![
                text("vault_address", address),
                text("engine_path", engine),
                text("key_name", key),
                text("enc", enc),
            ],
        ),
        MasterKey::HuaweiKms { id, enc } => ("hckms", vec![text("key_id", id), text("enc", enc)]),
    }
}
