//! The plan of a checkout, and the destination of commits (IU-9, IU-10, IU-12).

use std::collections::BTreeMap;

use weir_api::{GitRepository, image::GitSpec};
use weir_git::Reference;

/// Longest branch or reference name taken; file systems of Git servers take no longer path parts.
const MAX_REF: usize = 255;

/// Everything about Git that a run needs to know beforehand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitPlan {
    /// Reference to check out.
    pub(crate) checkout: Reference,
    /// The branch that commits go to.
    pub(crate) push_branch: String,
    /// True when that is another branch than the one checked out.
    pub(crate) switches: bool,
    /// A second push.
    pub(crate) refspec: Option<Refspec>,
    /// Options of every push, `key=value`.
    pub(crate) options: Vec<String>,
}

/// A second push: what goes where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refspec {
    /// As it was written.
    pub(crate) text: String,
    pub(crate) source: String,
    pub(crate) destination: String,
    /// True when a destination that is not an ancestor may be overwritten, under a lease.
    pub(crate) forces: bool,
}

/// Errors that leave a run without a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PlanError {
    /// Commits would go nowhere.
    #[error(
        "push spec not provided, and cannot be inferred from .spec.git.checkout.ref or GitRepository .spec.ref"
    )]
    NoPushBranch,
    /// A name is no name of a reference.
    #[error("could not checkout to branch '{0}': invalid reference name")]
    Name(String),
    /// A refspec would delete a reference (IU-15), or is none.
    #[error("invalid refspec '{0}'")]
    Refspec(String),
}

impl GitPlan {
    /// Makes the plan of an automation's Git section and its repository.
    pub(crate) fn of(git: &GitSpec, repository: &GitRepository) -> Result<Self, PlanError> {
        let reference = git.checkout.as_ref().map(|checkout| &checkout.reference);
        let reference = reference.or(repository.spec.reference.as_ref());
        let push = git.push.as_ref();
        let given = push.and_then(|push| push.branch.as_deref()).filter(|branch| !branch.is_empty());
        let own = reference.and_then(|reference| reference.branch.as_deref());
        let push_branch = given.or(own).filter(|branch| !branch.is_empty());
        let push_branch = push_branch.ok_or(PlanError::NoPushBranch)?.to_owned();
        let checkout = weir_access::reference(reference);
        for name in [Some(&push_branch), full_name(&checkout).as_ref()].into_iter().flatten() {
            check_name(name)?;
        }
        let refspec = push.and_then(|push| push.refspec.as_deref()).filter(|refspec| !refspec.is_empty());
        let no_options = BTreeMap::new();
        let options = push.map_or(&no_options, |push| &push.options);
        Ok(Self {
            switches: full_name(&checkout).as_deref() != Some(&branch_name(&push_branch)),
            refspec: refspec.map(Refspec::parse).transpose()?,
            options: options.iter().map(|(key, value)| format!("{key}={value}")).collect(),
            checkout,
            push_branch,
        })
    }

    /// The full name of the branch that commits go to.
    pub(crate) fn push_ref(&self) -> String {
        branch_name(&self.push_branch)
    }

    /// The full name of what is checked out, if it is a reference that commits can go to.
    pub(crate) fn checkout_ref(&self) -> Option<String> {
        full_name(&self.checkout)
    }

    /// Returns true when the next run checks out what this one pushes, by the text of the spec: a `name` counts as another place, as in
    /// Flux, even if it is the push branch.
    pub(crate) fn follows_push(&self) -> bool {
        !self.switches && !matches!(self.checkout, Reference::Name(_))
    }

    /// Returns true when the commit of the checkout alone shows that the remote has moved (IU-6).
    pub(crate) fn can_compare(&self) -> bool {
        matches!(self.checkout, Reference::Branch(_) | Reference::Tag(_))
    }
}

impl Refspec {
    fn parse(text: &str) -> Result<Self, PlanError> {
        let refused = || PlanError::Refspec(text.to_owned());
        let (plain, forces) = text.strip_prefix('+').map_or((text, false), |plain| (plain, true));
        let (source, destination) = plain.split_once(':').unwrap_or((plain, plain));
        if source.is_empty() || destination.is_empty() || plain.contains('*') {
            return Err(refused());
        }
        let full = |name: &str| if name.starts_with("refs/") { name.to_owned() } else { branch_name(name) };
        let destination = full(destination);
        check_name(&destination).map_err(|_| refused())?;
        let source = if source == "HEAD" { source.to_owned() } else { full(source) };
        Ok(Self { text: text.to_owned(), source, destination, forces })
    }
}

fn branch_name(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

fn full_name(reference: &Reference) -> Option<String> {
    match reference {
        Reference::Branch(branch) => Some(branch_name(branch)),
        Reference::Name(name) => Some(name.clone()),
        _ => None,
    }
}

/// Git's rules for names of references (SEC-9).
fn check_name(name: &str) -> Result<(), PlanError> {
    let has_bad_part =
        name.split('/').any(|part| part.is_empty() || part.starts_with('.') || part.ends_with(".lock"));
    let has_bad_character = name.chars().any(|c| c.is_control() || " ~^:?*[\\".contains(c));
    let is_bad = has_bad_part
        || has_bad_character
        || name.len() > MAX_REF
        || name.contains("..")
        || name.contains("@{")
        || name.ends_with('.')
        || name.starts_with('-');
    if is_bad { Err(PlanError::Name(name.to_owned())) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};
    use weir_git::Reference;

    use super::{GitPlan, PlanError};

    fn plan(git: Value, reference: Value) -> Result<GitPlan, PlanError> {
        let mut git = git;
        git["commit"] = json!({"author": {"email": "a@b"}});
        let repository = json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "r"},
            "spec": {"url": "https://h/r", "interval": "1m", "ref": reference},
        });
        GitPlan::of(&serde_json::from_value(git).unwrap(), &serde_json::from_value(repository).unwrap())
    }

    #[rstest]
    #[case(json!({"push": {"branch": "master"}}), json!(null), Reference::Branch("master".into()), "master", false)]
    #[case(json!({}), json!({"branch": "main"}), Reference::Branch("main".into()), "main", false)]
    #[case(json!({"checkout": {"ref": {"branch": "dev"}}}), json!({"branch": "main"}), Reference::Branch("dev".into()), "dev", false)]
    #[case(json!({"push": {"branch": "main"}}), json!({"branch": "main"}), Reference::Branch("main".into()), "main", false)]
    #[case(json!({"push": {"branch": "auto"}}), json!({"branch": "main"}), Reference::Branch("main".into()), "auto", true)]
    #[case(json!({"push": {"branch": "main"}}), json!({"name": "refs/heads/main"}), Reference::Name("refs/heads/main".into()), "main", false)]
    #[case(json!({"push": {"branch": "main"}}), json!({"tag": "v1", "branch": "main"}), Reference::Tag("v1".into()), "main", true)]
    #[case(json!({}), json!({"semver": "1.x", "branch": "main"}), Reference::Semver("1.x".into()), "main", true)]
    fn checkout_and_push_follow_the_table(
        #[case] git: Value,
        #[case] reference: Value,
        #[case] checkout: Reference,
        #[case] push_branch: &str,
        #[case] switches: bool,
    ) {
        let plan = plan(git, reference).unwrap();
        assert_eq!(
            (plan.checkout, plan.push_branch.as_str(), plan.switches),
            (checkout, push_branch, switches)
        );
    }

    #[rstest]
    #[case(json!({}), json!({"branch": "main"}), true)]
    #[case(json!({"push": {"branch": "auto"}}), json!({"branch": "main"}), false)]
    #[case(json!({"push": {"branch": "main"}}), json!({"name": "refs/heads/main"}), false)]
    fn the_next_checkout_is_this_push(#[case] git: Value, #[case] reference: Value, #[case] expected: bool) {
        assert_eq!(plan(git, reference).unwrap().follows_push(), expected);
    }

    #[rstest]
    #[case(json!({}), json!({"tag": "v1"}), PlanError::NoPushBranch)]
    #[case(json!({}), json!(null), PlanError::NoPushBranch)]
    #[case(json!({"push": {"branch": "a..b"}}), json!(null), PlanError::Name("a..b".into()))]
    #[case(json!({"push": {"branch": "a b"}}), json!(null), PlanError::Name("a b".into()))]
    #[case(json!({"push": {"refspec": ":refs/heads/main"}}), json!({"branch": "main"}), PlanError::Refspec(":refs/heads/main".into()))]
    #[case(json!({"push": {"refspec": "refs/heads/*:refs/heads/*"}}), json!({"branch": "main"}), PlanError::Refspec("refs/heads/*:refs/heads/*".into()))]
    fn what_cannot_be_pushed_is_refused(
        #[case] git: Value,
        #[case] reference: Value,
        #[case] error: PlanError,
    ) {
        assert_eq!(plan(git, reference), Err(error));
    }

    #[test]
    fn refspecs_and_options_are_read() {
        let git = json!({"push": {"refspec": "+main:refs/for/main", "options": {"b": "2", "a": "1"}}});
        let plan = plan(git, json!({"branch": "main"})).unwrap();
        let refspec = plan.refspec.unwrap();
        assert_eq!(
            (refspec.source.as_str(), refspec.destination.as_str()),
            ("refs/heads/main", "refs/for/main")
        );
        assert!(refspec.forces);
        assert_eq!(plan.options, ["a=1", "b=2"]);
    }
}
