//! The namespace that a request is about (CLI-G01, CLI-G03).

use crate::error::Error;
use crate::output::progress;

/// Default namespace of an installation.
pub(crate) const DEFAULT: &str = "flux-system";

/// Longest DNS label (RFC 1123).
const MAX_LABEL: usize = 63;

/// The namespaces named by flag, context and environment.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    /// `--namespace`.
    pub(super) flag: Option<String>,
    /// The kubeconfig's context, if it is to be followed.
    pub(super) of_context: Option<String>,
    /// The variable of the environment that names one, and its value.
    pub(super) of_environment: Option<(String, String)>,
}

impl Wishes {
    /// Warns of a name in the environment that [`choose`] will ignore.
    pub(super) fn warn(&self) {
        if let Some((variable, name)) = &self.of_environment
            && !name.is_empty()
            && !is_dns_label(name)
        {
            // As in Flux, with a second blank.
            progress::warning(&format!(" ignoring invalid {variable}: \"{name}\""));
        }
    }
}

/// Chooses the namespace: the flag goes before the context, that before the environment. A name that cannot be a
/// namespace is refused; in the environment it is ignored.
pub(super) fn choose(wishes: Wishes) -> Result<String, Error> {
    let of_environment = wishes.of_environment.map(|(_, name)| name).filter(|name| is_dns_label(name));
    let default = of_environment.unwrap_or_else(|| DEFAULT.to_owned());
    let namespace = wishes.flag.or(wishes.of_context).unwrap_or(default);
    if is_dns_label(&namespace) { Ok(namespace) } else { Err(Error::Namespace(namespace)) }
}

fn is_dns_label(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let ends_well = |byte: Option<&u8>| byte.is_some_and(|byte| *byte != b'-');
    let bytes = name.as_bytes();
    bytes.len() <= MAX_LABEL
        && bytes.iter().copied().all(inner)
        && ends_well(bytes.first())
        && ends_well(bytes.last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(None, None, None, "flux-system")]
    #[case(None, None, Some("gitops"), "gitops")]
    #[case(None, None, Some("Not A Label"), "flux-system")]
    #[case(None, Some("dev"), Some("gitops"), "dev")]
    #[case(Some("apps"), Some("dev"), Some("gitops"), "apps")]
    fn the_nearest_wish_counts(
        #[case] flag: Option<&str>,
        #[case] context: Option<&str>,
        #[case] environment: Option<&str>,
        #[case] expected: &str,
    ) {
        let owned = |wish: Option<&str>| wish.map(str::to_owned);
        let of_environment = environment.map(|name| ("FLUX_SYSTEM_NAMESPACE".to_owned(), name.to_owned()));
        let wishes = Wishes { flag: owned(flag), of_context: owned(context), of_environment };
        assert_eq!(choose(wishes).unwrap(), expected);
    }

    #[rstest::rstest]
    #[case("")]
    #[case("-a")]
    #[case("a.b")]
    #[case("A")]
    #[case(&"a".repeat(64))]
    fn what_is_no_label_is_refused(#[case] name: &str) {
        let refused = choose(Wishes { flag: Some(name.to_owned()), ..Wishes::default() }).unwrap_err();
        assert_eq!(refused.to_string(), format!("namespace must be a valid DNS label: \"{name}\""));
    }
}
