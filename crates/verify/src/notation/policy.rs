//! Trust policies (`trustpolicy.json`), by the rules and in the words of the Notary Project's specification.

mod scope;
mod syntax;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::identity::Identities;

/// The one version that there is.
const VERSION: &str = "1.0";
const ANY: &str = "*";
const STORES: [&str; 3] = ["ca", "signingAuthority", "tsa"];

/// Errors that make a trust policy unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// It is no JSON of this form.
    #[error("error occurred while parsing trustpolicy.json: {reason}")]
    Malformed {
        /// The fault found.
        reason: String,
    },
    /// It breaks a rule.
    #[error("{0}")]
    Invalid(String),
    /// None of its statements is about the artifact.
    #[error(
        "artifact \"{reference}\" has no applicable trust policy statement. Trust policy applicability for a given artifact \
         is determined by registryScopes. To create a trust policy, see: \
         https://notaryproject.dev/docs/quickstart/#create-a-trust-policy"
    )]
    NotApplicable {
        /// The artifact.
        reference: String,
    },
}

/// The action on a check that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The signature is refused.
    Enforce,
    /// The fault is logged.
    Log,
    /// The check is not made.
    Skip,
}

/// The cases in which a countersignature proves the time for which certificates must be valid, if the policy has a
/// store of timestamping authorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VerifyTimestamp {
    Always,
    /// When a certificate is over.
    AfterCertExpiry,
}

/// The action for each check. Integrity, that the signature is over the artifact, is always enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Actions {
    pub(super) authenticity: Action,
    pub(super) authentic_timestamp: Action,
    pub(super) expiry: Action,
    pub(super) revocation: Action,
}

/// A trust policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustPolicy {
    statements: Vec<Statement>,
    /// Warnings for the user, such as settings that have no effect.
    pub warnings: Vec<String>,
}

/// The rules for some repositories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    name: String,
    scopes: Vec<String>,
    /// Nothing when signatures are not looked at.
    actions: Option<Actions>,
    stores: Vec<String>,
    identities: Identities,
    timestamp: VerifyTimestamp,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenPolicy {
    #[serde(default)]
    version: String,
    #[serde(default)]
    trust_policies: Vec<WrittenStatement>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenStatement {
    #[serde(default)]
    name: String,
    #[serde(default)]
    registry_scopes: Vec<String>,
    #[serde(default)]
    signature_verification: Verification,
    #[serde(default)]
    trust_stores: Vec<String>,
    #[serde(default)]
    trusted_identities: Vec<String>,
}

#[derive(Deserialize, Default)]
struct Verification {
    #[serde(default)]
    level: String,
    #[serde(default, rename = "override")]
    overrides: BTreeMap<String, String>,
    #[serde(default, rename = "verifyTimestamp")]
    timestamp: String,
}

impl TrustPolicy {
    /// Reads a policy. Stores and identities of a statement that skips verification have no effect and give a
    /// warning.
    ///
    /// # Errors
    /// When it is malformed or breaks a rule.
    pub fn parse(json: &[u8]) -> Result<Self, PolicyError> {
        let written: WrittenPolicy = serde_json::from_slice(json)
            .map_err(|error| PolicyError::Malformed { reason: syntax::fault(json, &error) })?;
        let invalid = |message: String| Err(PolicyError::Invalid(message));
        match written.version.as_str() {
            VERSION => {}
            "" => {
                return invalid("trust policy document has empty version, version must be specified".into());
            }
            other => return invalid(format!("trust policy document uses unsupported version \"{other}\"")),
        }
        if written.trust_policies.is_empty() {
            return invalid("trust policy document can not have zero trust policy statements".into());
        }
        let mut names = BTreeSet::new();
        let mut policy = Self { statements: Vec::new(), warnings: Vec::new() };
        for statement in &written.trust_policies {
            let name = &statement.name;
            if !names.insert(name) {
                return invalid(format!(
                    "multiple trust policy statements use the same name \"{name}\", statement names must be unique"
                ));
            }
            let read = Statement::new(statement, &mut policy.warnings);
            policy
                .statements
                .push(read.map_err(|fault| PolicyError::Invalid(format!("trust policy: {fault}")))?);
        }
        let scopes = written.trust_policies.iter();
        let scopes = scopes.map(|statement| (&*statement.name, &*statement.registry_scopes));
        scope::check(scopes).map_err(PolicyError::Invalid)?;
        Ok(policy)
    }

    /// The statement for an artifact: that of its repository (`host/path`), else the one for all.
    ///
    /// # Errors
    /// When there is none.
    pub fn statement(&self, repository: &str, reference: &str) -> Result<&Statement, PolicyError> {
        let has = |wanted: &str| {
            self.statements.iter().find(|statement| statement.scopes.iter().any(|scope| scope == wanted))
        };
        let statement = has(repository).or_else(|| has(ANY));
        statement.ok_or_else(|| PolicyError::NotApplicable { reference: reference.to_owned() })
    }
}

/// Refuses the name of a trust store that has not the form of one.
fn check_store(store: &str) -> Result<(), String> {
    let Some((kind, name)) = store.split_once(':') else {
        return Err(format!(
            "has malformed trust store value \"{store}\". The required format is <TrustStoreType>:<TrustStoreName>"
        ));
    };
    if !STORES.contains(&kind) {
        return Err(format!(
            "uses an unsupported trust store type \"{kind}\" in trust store value \"{store}\""
        ));
    }
    if name.is_empty() || !name.chars().all(|one| one.is_ascii_alphanumeric() || "_.-".contains(one)) {
        return Err(format!(
            "uses an unsupported trust store name \"{name}\" in trust store value \"{store}\". Named store name \
             needs to follow [a-zA-Z0-9_.-]+ format"
        ));
    }
    Ok(())
}

impl Statement {
    fn new(written: &WrittenStatement, warnings: &mut Vec<String>) -> Result<Self, String> {
        let WrittenStatement { name, registry_scopes, trust_stores, trusted_identities, .. } = written;
        if name.is_empty() {
            return Err("a trust policy statement is missing a name, every statement requires a name".into());
        }
        let invalid = |message: String| format!("trust policy statement \"{name}\" {message}");
        let malformed = |error: String| invalid(format!("has invalid signatureVerification: {error}"));
        let actions = written.signature_verification.actions().map_err(malformed)?;
        let timestamp = written.signature_verification.timestamp().map_err(malformed)?;
        let (scopes, name) = (registry_scopes.clone(), name.clone());
        if actions.is_none() {
            if !trust_stores.is_empty() || !trusted_identities.is_empty() {
                warnings.push(format!(
                    "trust policy statement '{name}' is set to skip signature verification but configured with trust stores \
                     and/or trusted identities. Ignoring trust stores and trusted identities"
                ));
            }
            let identities = Identities::Named(Vec::new());
            return Ok(Self { name, scopes, actions, stores: Vec::new(), identities, timestamp });
        }
        if trust_stores.is_empty() || trusted_identities.is_empty() {
            return Err(invalid(
                "is either missing trust stores or trusted identities, both must be specified".into(),
            ));
        }
        trust_stores.iter().try_for_each(|store| check_store(store)).map_err(invalid)?;
        let identities = Identities::parse(trusted_identities).map_err(invalid)?;
        Ok(Self { name, scopes, actions, stores: trust_stores.clone(), identities, timestamp })
    }

    /// Returns true when signatures are not looked at.
    #[must_use]
    pub fn skips(&self) -> bool {
        self.actions.is_none()
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn actions(&self) -> Actions {
        self.actions.unwrap_or(STRICT)
    }

    pub(super) fn has_store(&self, kind: &str) -> bool {
        self.stores.iter().any(|store| store.split_once(':').is_some_and(|(found, _)| found == kind))
    }

    /// Returns true when a countersignature must say when it was signed. `is_over` tells whether a certificate is not
    /// valid any more.
    pub(super) fn needs_timestamp(&self, is_over: bool) -> bool {
        self.has_store("tsa") && (is_over || self.timestamp == VerifyTimestamp::Always)
    }

    pub(super) fn identities(&self) -> &Identities {
        &self.identities
    }
}

const STRICT: Actions = all(Action::Enforce);

const fn all(action: Action) -> Actions {
    Actions { authenticity: action, authentic_timestamp: action, expiry: action, revocation: action }
}

impl Action {
    fn parse(written: &str) -> Result<Self, String> {
        match written {
            "enforce" => Ok(Self::Enforce),
            "log" => Ok(Self::Log),
            "skip" => Ok(Self::Skip),
            other => Err(format!(
                "verification action \"{other}\" in custom signature verification is not supported, supported values are \
                 [\"enforce\" \"log\" \"skip\"]"
            )),
        }
    }
}

impl Verification {
    /// Returns the action of the level, with its exceptions, for each check; none when it skips all of them.
    fn actions(&self) -> Result<Option<Actions>, String> {
        let mut actions = match self.level.as_str() {
            "strict" => STRICT,
            "permissive" => Actions { authenticity: Action::Enforce, ..all(Action::Log) },
            "audit" => all(Action::Log),
            "skip" if self.overrides.is_empty() => return Ok(None),
            "skip" => {
                return Err(
                    "signature verification level \"skip\" can't be used to customize signature verification"
                        .into(),
                );
            }
            "" => {
                return Err(
                    "signature verification level is empty or missing in the trust policy statement".into()
                );
            }
            other => return Err(format!("invalid signature verification level \"{other}\"")),
        };
        for (check, action) in &self.overrides {
            let place = match check.as_str() {
                "authenticity" => Some(&mut actions.authenticity),
                "authenticTimestamp" => Some(&mut actions.authentic_timestamp),
                "expiry" => Some(&mut actions.expiry),
                "revocation" => Some(&mut actions.revocation),
                "integrity" => None,
                other => {
                    return Err(format!(
                        "verification type \"{other}\" in custom signature verification is not supported, supported values \
                         are [\"integrity\" \"authenticity\" \"authenticTimestamp\" \"expiry\" \"revocation\"]"
                    ));
                }
            };
            let action = Action::parse(action)?;
            let refused = |what| {
                Err(format!("\"{check}\" verification can not be {what} in custom signature verification"))
            };
            match place {
                None => return refused("overridden"),
                Some(_) if action == Action::Skip && check != "revocation" => return refused("skipped"),
                Some(place) => *place = action,
            }
        }
        Ok(Some(actions))
    }

    fn timestamp(&self) -> Result<VerifyTimestamp, String> {
        match self.timestamp.as_str() {
            "" | "always" => Ok(VerifyTimestamp::Always),
            "afterCertExpiry" => Ok(VerifyTimestamp::AfterCertExpiry),
            other => {
                Err(format!("verifyTimestamp must be \"always\" or \"afterCertExpiry\", but got \"{other}\""))
            }
        }
    }
}
