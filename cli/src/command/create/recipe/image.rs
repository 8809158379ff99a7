//! Image repositories, policies and automations (CLI-CRE10, CLI-CRE11).

use weir_oci::Repository;
use weir_policy::go_regex;

use super::super::flag::{Flags, duration, text};
use super::{INTERVAL, Recipe, Spec, refuse};
use crate::error::Error;
use crate::output::manifest::put;

pub(super) static REPOSITORY: Recipe = Recipe {
    kind: "ImageRepository",
    example: "podinfo --image ghcr.io/stefanprodan/podinfo --interval 5m --export",
    flags: &[
        INTERVAL,
        &[
            text("image", "/image", "Image, without tag"),
            text("secret-ref", "/secretRef/name", "Name of the pull Secret"),
            text("cert-ref", "/certSecretRef/name", "Name of the Secret with TLS certificates"),
            duration("scan-timeout", "/timeout", "Longest time of one scan"),
        ],
    ],
    complete: |flags, _| check_image(flags.required("image", "an image repository (--image) is required")?),
};

/// Refuses names of images that the services refuse, in their words.
fn check_image(image: &str) -> Result<(), Error> {
    if let Some((scheme, _)) = image.split_once("://") {
        return refuse(format!(
            "unable to parse image value: image '{image}' should not include URL scheme; remove '{scheme}://'"
        ));
    }
    match Repository::parse(image) {
        Ok(_) => Ok(()),
        Err(error) => refuse(format!("unable to parse image value: {error}")),
    }
}

pub(super) static POLICY: Recipe = Recipe {
    kind: "ImagePolicy",
    example: "podinfo --image-ref podinfo --select-semver 1.0.x --export",
    flags: &[&[
        duration("interval", "/interval", "Time between looks for new digests"),
        text("image-ref", "/imageRepositoryRef/name", "Name of the image repository"),
        text("select-semver", "/policy/semver/range", "Range of versions"),
        text("select-alpha", "/policy/alphabetical/order", "Alphabetical order, asc or desc"),
        text("select-numeric", "/policy/numerical/order", "Numerical order, asc or desc"),
        text("filter-regex", "/filterTags/pattern", "Regular expression that tags have to match"),
        text("filter-extract", "/filterTags/extract", "Part of a tag to order by, made of groups"),
        text("reflect-digest", "/digestReflectionPolicy", "Never, IfNotPresent or Always"),
    ]],
    complete: policy,
};

fn policy(flags: &Flags<'_>, spec: &mut Spec) -> Result<(), Error> {
    flags
        .required("image-ref", "the name of an ImageRepository in the namespace is required (--image-ref)")?;
    let selectors = ["select-semver", "select-alpha", "select-numeric"];
    match selectors.iter().filter(|name| flags.text(name).is_some()).count() {
        0 => return refuse("a policy must be provided with either --select-semver or --select-alpha"),
        1 => {}
        _ => {
            return refuse(
                "only one of --select-semver, --select-alpha or --select-numeric can be specified",
            );
        }
    }
    for name in ["select-alpha", "select-numeric"] {
        if flags.text(name).is_some_and(|order| !matches!(order, "asc" | "desc")) {
            return refuse(format!("--{name} must be one of [\"asc\", \"desc\"]"));
        }
    }
    filter(flags)?;
    if flags.text("filter-regex").is_some() {
        // Written by Flux in any case.
        put(spec, "/filterTags/extract", "");
    }
    let reflection = flags.text("reflect-digest");
    if reflection.is_some_and(|policy| !matches!(policy, "Never" | "IfNotPresent" | "Always")) {
        return refuse(
            "invalid value for --reflect-digest, must be one of 'Never', 'IfNotPresent', 'Always'",
        );
    }
    if flags.duration("interval").is_some_and(|it| !it.is_zero()) && reflection != Some("Always") {
        return refuse(
            "the --interval flag can only be used with the 'Always' digest reflection policy, use --reflect-digest=Always",
        );
    }
    Ok(())
}

/// Checks that the filter compiles and has the groups that the extract names.
fn filter(flags: &Flags<'_>) -> Result<(), Error> {
    let Some(pattern) = flags.text("filter-regex") else {
        return match flags.text("filter-extract") {
            Some(_) => refuse("cannot specify --filter-extract without specifying --filter-regex"),
            None => Ok(()),
        };
    };
    let Ok(regex) = go_regex::compile(pattern) else {
        return refuse("--filter-regex is an invalid regex pattern");
    };
    for name in groups(flags.text("filter-extract").unwrap_or_default())? {
        let is_there = match name.parse::<usize>() {
            Ok(number) => number < regex.captures_len(),
            Err(_) => regex.capture_names().flatten().any(|known| known == name),
        };
        if !is_there {
            return refuse(format!(
                "capture group ${name} used in --filter-extract not found in --filter-regex"
            ));
        }
    }
    Ok(())
}

/// The names of the groups in a template: `$name` and `${name}`; `$$` is a dollar.
fn groups(template: &str) -> Result<Vec<&str>, Error> {
    let malformed = || Error::Flags("--filter-extract is malformed".to_owned());
    let mut names = Vec::new();
    let mut rest = template;
    while let Some((_, after)) = rest.split_once('$') {
        if let Some(after) = after.strip_prefix('$') {
            rest = after;
            continue;
        }
        let (name, left) = match after.strip_prefix('{') {
            Some(braced) => braced.split_once('}').ok_or_else(malformed)?,
            None => {
                let end =
                    after.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(after.len());
                after.split_at(end)
            }
        };
        if name.is_empty() {
            return Err(malformed());
        }
        names.push(name);
        rest = left;
    }
    Ok(names)
}

pub(super) static UPDATE: Recipe = Recipe {
    kind: "ImageUpdateAutomation",
    example: "apps --git-repo-ref flux-system --git-repo-path ./clusters/prod --checkout-branch main \
              --author-name bot --author-email bot@example.com --export",
    flags: &[
        INTERVAL,
        &[
            text("git-repo-ref", "/sourceRef/name", "Name of the GitRepository"),
            text("git-repo-namespace", "/sourceRef/namespace", "Namespace of the GitRepository"),
            text("git-repo-path", "/update/path", "Directory to update"),
            text("checkout-branch", "/git/checkout/ref/branch", "Branch to read"),
            text("push-branch", "/git/push/branch", "Branch to push to"),
            text("author-name", "/git/commit/author/name", "Name of the commits' author"),
            text("author-email", "/git/commit/author/email", "Email address of the commits' author"),
            text("commit-template", "/git/commit/messageTemplate", "Template of the commit message"),
            text(
                "signing-key-secret",
                "/git/commit/signingKey/secretRef/name",
                "Secret with the signing key",
            ),
            text("signing-key-type", "/git/commit/signingKey/type", "gpg or ssh"),
        ],
    ],
    complete: |flags, spec| {
        flags.required("git-repo-ref", "a reference to a GitRepository is required (--git-repo-ref)")?;
        flags.required("checkout-branch", "the Git repository branch is required (--checkout-branch)")?;
        flags.required("author-name", "the author name is required (--author-name)")?;
        flags.required("author-email", "the author email is required (--author-email)")?;
        let key_type = flags.text("signing-key-type");
        if key_type.is_some() && flags.text("signing-key-secret").is_none() {
            return refuse("--signing-key-type requires --signing-key-secret");
        }
        if key_type.is_some_and(|it| !matches!(it, "gpg" | "ssh")) {
            return refuse("--signing-key-type must be one of: gpg, ssh");
        }
        put(spec, "/sourceRef/kind", "GitRepository");
        if flags.text("git-repo-path").is_some() {
            put(spec, "/update/strategy", "Setters");
        }
        Ok(())
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_what_to_take_away() {
        assert!(check_image("ghcr.io/org/app").is_ok());
        let refused = check_image("https://ghcr.io/org/app").unwrap_err().to_string();
        let expected = "unable to parse image value: image 'https://ghcr.io/org/app' should not include URL scheme; remove 'https://'";
        assert_eq!(refused, expected);
    }

    #[rstest::rstest]
    #[case("", &[])]
    #[case("$ts", &["ts"])]
    #[case("v${ts}-$1.$$x", &["ts", "1"])]
    fn groups_are_found_in_templates(#[case] template: &str, #[case] expected: &[&str]) {
        assert_eq!(groups(template).unwrap(), expected);
    }

    #[rstest::rstest]
    #[case("${ts")]
    #[case("a$-")]
    fn a_bad_template_is_refused(#[case] template: &str) {
        assert!(groups(template).is_err());
    }
}
