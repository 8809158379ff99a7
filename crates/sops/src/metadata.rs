//! The metadata of a document: keys, rules, MAC (KS-SOPS-3).

mod flat;
mod write;

use jiff::Timestamp;

pub(crate) use self::flat::{flatten, unflatten};
pub(crate) use self::write::to_node;
use crate::error::MetadataError;
use crate::master_key::MasterKey;
use crate::scope::ScopeRule;
use crate::tree::{Node, Value};

/// Name of the key, or prefix of the keys, that hold the metadata.
pub(crate) const KEY: &str = "sops";
/// Suffix of keys whose values are not encrypted unless a document has another rule.
const DEFAULT_UNENCRYPTED_SUFFIX: &str = "_unencrypted";
/// List of the keys of age.
const AGE: &str = "age";
/// Keys of a document; each costs the work of a decryption, or a request. Large companies have some dozens.
const MAX_KEYS: usize = 1000;

/// Keys of which one is enough.
pub type KeyGroup = Vec<MasterKey>;

/// The metadata of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Metadata {
    /// Groups of keys. One group holds the data key; of several, each holds a share.
    pub groups: Vec<KeyGroup>,
    /// Shares that are needed; 0 is all that there are.
    pub shamir_threshold: usize,
    /// RFC 3339, as the file has it: it authenticates the MAC.
    pub last_modified: String,
    /// The encrypted MAC; empty is none.
    pub mac: String,
    /// True when the MAC counts encrypted values only.
    pub mac_only_encrypted: bool,
    /// The leaves that are encrypted.
    pub rule: ScopeRule,
    /// Version of SOPS that wrote the file.
    pub version: String,
}

impl Metadata {
    /// Reads the metadata from the node of the key `sops`.
    pub(crate) fn read(node: &Node) -> Result<Self, MetadataError> {
        if !matches!(node, Node::Map(_)) {
            return Err(MetadataError::NotFound);
        }
        let groups = groups(node)?;
        let count: usize = groups.iter().map(Vec::len).sum();
        if count > MAX_KEYS {
            return Err(MetadataError::TooManyKeys { limit: MAX_KEYS });
        }
        if count == 0 {
            return Err(MetadataError::NoKeys);
        }
        Ok(Self {
            groups,
            shamir_threshold: number(node, "shamir_threshold")?,
            last_modified: time(node, "lastmodified")?,
            mac: text(node, "mac")?,
            mac_only_encrypted: flag(node, "mac_only_encrypted")?,
            rule: rule(node)?,
            version: text(node, "version")?,
        })
    }
}

fn rule(node: &Node) -> Result<ScopeRule, MetadataError> {
    type Make = fn(String) -> ScopeRule;
    let kinds: [(&str, Make); 6] = [
        ("unencrypted_suffix", ScopeRule::UnencryptedSuffix),
        ("encrypted_suffix", ScopeRule::EncryptedSuffix),
        ("unencrypted_regex", ScopeRule::UnencryptedRegex),
        ("encrypted_regex", ScopeRule::EncryptedRegex),
        ("unencrypted_comment_regex", ScopeRule::UnencryptedCommentRegex),
        ("encrypted_comment_regex", ScopeRule::EncryptedCommentRegex),
    ];
    let mut found = Vec::new();
    for (field, make) in kinds {
        let pattern = text(node, field)?;
        if !pattern.is_empty() {
            found.push(make(pattern));
        }
    }
    match found.len() {
        0 => Ok(ScopeRule::UnencryptedSuffix(DEFAULT_UNENCRYPTED_SUFFIX.to_owned())),
        1 => found.pop().ok_or(MetadataError::Rules),
        _ => Err(MetadataError::Rules),
    }
}

fn groups(node: &Node) -> Result<Vec<KeyGroup>, MetadataError> {
    let own = group(node)?;
    if !own.is_empty() {
        return Ok(vec![own]);
    }
    listed(node, "key_groups")?.into_iter().map(group).collect()
}

/// Returns the maps of a list; one that stands alone is a list of one, as for SOPS.
fn listed<'n>(node: &'n Node, list: &str) -> Result<Vec<&'n Node>, MetadataError> {
    let elements: Vec<&Node> = match node.get(list) {
        None | Some(Node::Value(Value::Null)) => Vec::new(),
        Some(elements @ Node::List(_)) => elements.elements().collect(),
        Some(only) => Vec::from([only]),
    };
    let are_maps = elements.iter().all(|element| matches!(element, Node::Map(_)));
    if are_maps { Ok(elements) } else { Err(wrong(list)) }
}

/// The keys of one group, in the order in which SOPS reads the lists.
fn group(node: &Node) -> Result<KeyGroup, MetadataError> {
    let mut keys = Vec::new();
    let mut each = |list: &str, read: fn(&Node) -> Result<MasterKey, MetadataError>| {
        for key in listed(node, list)? {
            // SOPS notes of all others when they were added.
            if list != AGE {
                time(key, "created_at")?;
            }
            keys.push(read(key)?);
        }
        Ok::<_, MetadataError>(())
    };
    each("kms", |key| {
        Ok(MasterKey::AwsKms {
            arn: text(key, "arn")?,
            role: text(key, "role")?,
            context: context(key),
            enc: text(key, "enc")?,
        })
    })?;
    each("gcp_kms", |key| {
        Ok(MasterKey::GcpKms { resource: text(key, "resource_id")?, enc: text(key, "enc")? })
    })?;
    each("hckms", |key| Ok(MasterKey::HuaweiKms { id: text(key, "key_id")?, enc: text(key, "enc")? }))?;
    each("azure_kv", |key| {
        Ok(MasterKey::AzureKeyVault {
            vault_url: text(key, "vault_url")?,
            name: text(key, "name")?,
            version: text(key, "version")?,
            enc: text(key, "enc")?,
        })
    })?;
    each("hc_vault", |key| {
        Ok(MasterKey::Vault {
            address: text(key, "vault_address")?,
            engine: text(key, "engine_path")?,
            key: text(key, "key_name")?,
            enc: text(key, "enc")?,
        })
    })?;
    each("pgp", |key| Ok(MasterKey::Pgp { fingerprint: text(key, "fp")?, enc: text(key, "enc")? }))?;
    each(AGE, |key| Ok(MasterKey::Age { recipient: text(key, "recipient")?, enc: text(key, "enc")? }))?;
    Ok(keys)
}

fn context(key: &Node) -> Vec<(String, String)> {
    let entries = key.get("context").into_iter().flat_map(Node::entries);
    entries.filter_map(|(key, value)| Some((key.to_owned(), value.as_text()?.to_owned()))).collect()
}

fn wrong(field: &str) -> MetadataError {
    MetadataError::Field { field: field.to_owned() }
}

/// Returns the text of a field, which is empty when it is missing. A number or flag is text too, as for SOPS.
fn text(node: &Node, field: &str) -> Result<String, MetadataError> {
    let Some(found) = node.get(field) else { return Ok(String::new()) };
    let Node::Value(value) = found else { return Err(wrong(field)) };
    match value {
        Value::Null => Ok(String::new()),
        Value::Text(text) | Value::Time(text) => Ok(text.to_string()),
        Value::Int(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(u8::from(*flag).to_string()),
        Value::Bytes(_) => Err(wrong(field)),
    }
}

/// Returns the text of a time, which SOPS requires to be there and to be one.
fn time(node: &Node, field: &str) -> Result<String, MetadataError> {
    let text = text(node, field)?;
    if text.parse::<Timestamp>().is_ok() { Ok(text) } else { Err(wrong(field)) }
}

/// Formats without types have numbers and flags as text.
fn number(node: &Node, field: &str) -> Result<usize, MetadataError> {
    match node.get(field) {
        None | Some(Node::Value(Value::Null)) => Ok(0),
        Some(Node::Value(Value::Int(number))) => usize::try_from(*number).map_err(|_| wrong(field)),
        Some(other) => {
            let text = other.as_text().ok_or_else(|| wrong(field))?;
            if text.is_empty() { Ok(0) } else { text.parse().map_err(|_| wrong(field)) }
        }
    }
}

fn flag(node: &Node, field: &str) -> Result<bool, MetadataError> {
    match node.get(field) {
        None | Some(Node::Value(Value::Null)) => Ok(false),
        Some(Node::Value(Value::Bool(flag))) => Ok(*flag),
        Some(Node::Value(Value::Int(number))) => Ok(*number != 0),
        Some(other) => match other.as_text() {
            Some("1" | "t" | "T" | "true" | "True" | "TRUE") => Ok(true),
            Some("" | "0" | "f" | "F" | "false" | "False" | "FALSE") => Ok(false),
            _ => Err(wrong(field)),
        },
    }
}
