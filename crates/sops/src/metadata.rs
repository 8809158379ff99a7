//! The metadata of a document: keys, rules, MAC (KS-SOPS-3).

mod flat;
mod write;

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
            last_modified: optional(node, "lastmodified")?,
            mac: optional(node, "mac")?,
            mac_only_encrypted: flag(node, "mac_only_encrypted")?,
            rule: rule(node)?,
            version: optional(node, "version")?,
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
        let text = optional(node, field)?;
        if !text.is_empty() {
            found.push(make(text));
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
    match node.get("key_groups") {
        Some(list) => list.elements().map(group).collect(),
        None => Ok(Vec::new()),
    }
}

/// The keys of one group, in the order in which SOPS reads the lists.
fn group(node: &Node) -> Result<KeyGroup, MetadataError> {
    let mut keys = Vec::new();
    let mut each = |list: &str, read: fn(&Node) -> Result<MasterKey, MetadataError>| {
        for key in node.get(list).into_iter().flat_map(Node::elements) {
            keys.push(read(key)?);
        }
        Ok::<_, MetadataError>(())
    };
    each("kms", |key| {
        Ok(MasterKey::AwsKms {
            arn: needed(key, "arn")?,
            role: optional(key, "role")?,
            context: context(key),
            enc: needed(key, "enc")?,
        })
    })?;
    each("gcp_kms", |key| {
        Ok(MasterKey::GcpKms { resource: needed(key, "resource_id")?, enc: needed(key, "enc")? })
    })?;
    each("hckms", |key| Ok(MasterKey::HuaweiKms { id: needed(key, "key_id")?, enc: needed(key, "enc")? }))?;
    each("azure_kv", |key| {
        Ok(MasterKey::AzureKeyVault {
            vault_url: needed(key, "vault_url")?,
            name: needed(key, "name")?,
            version: optional(key, "version")?,
            enc: needed(key, "enc")?,
        })
    })?;
    each("hc_vault", |key| {
        Ok(MasterKey::Vault {
            address: needed(key, "vault_address")?,
            engine: needed(key, "engine_path")?,
            key: needed(key, "key_name")?,
            enc: needed(key, "enc")?,
        })
    })?;
    each("pgp", |key| Ok(MasterKey::Pgp { fingerprint: optional(key, "fp")?, enc: needed(key, "enc")? }))?;
    each("age", |key| {
        Ok(MasterKey::Age { recipient: optional(key, "recipient")?, enc: needed(key, "enc")? })
    })?;
    Ok(keys)
}

fn context(key: &Node) -> Vec<(String, String)> {
    let entries = key.get("context").into_iter().flat_map(Node::entries);
    entries.filter_map(|(key, value)| Some((key.to_owned(), value.as_text()?.to_owned()))).collect()
}

fn wrong(field: &str) -> MetadataError {
    MetadataError::Field { field: field.to_owned() }
}

/// Text of a field; the empty text when it is missing.
fn optional(node: &Node, field: &str) -> Result<String, MetadataError> {
    match node.get(field) {
        None | Some(Node::Value(Value::Null)) => Ok(String::new()),
        Some(Node::Value(Value::Text(text) | Value::Time(text))) => Ok(text.to_string()),
        Some(_) => Err(wrong(field)),
    }
}

fn needed(node: &Node, field: &str) -> Result<String, MetadataError> {
    Some(optional(node, field)?).filter(|text| !text.is_empty()).ok_or_else(|| wrong(field))
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
        Some(other) => match other.as_text() {
            Some("true" | "True") => Ok(true),
            Some("" | "false" | "False") => Ok(false),
            _ => Err(wrong(field)),
        },
    }
}
