//! The exclusions that hold without any pattern of the source's own (SRC-IGN-1).

use crate::Pattern;

const VERSION_CONTROL: [&str; 4] = [".git/", ".gitignore", ".gitmodules", ".gitattributes"];

const EXTENSIONS: [&str; 8] = ["*.jpg", "*.jpeg", "*.gif", "*.png", "*.wmv", "*.flv", "*.tar.gz", "*.zip"];

const CONTINUOUS_INTEGRATION: [&str; 9] = [
    ".github/",
    ".circleci/",
    ".travis.yml",
    ".gitlab-ci.yml",
    "appveyor.yml",
    ".drone.yml",
    "cloudbuild.yaml",
    "codeship-services.yml",
    "codeship-steps.yml",
];

const EXTRA: [&str; 3] = ["**/.goreleaser.yml", "**/.sops.yaml", "**/.flux.yaml"];

/// Files of version control: left out of every artifact unless a pattern re-includes them.
pub(crate) fn version_control() -> Vec<Pattern> {
    parse(&VERSION_CONTROL).collect()
}

/// Everything else that is left out while the source has no pattern of its own.
pub(crate) fn others() -> Vec<Pattern> {
    parse(&EXTENSIONS).chain(parse(&CONTINUOUS_INTEGRATION)).chain(parse(&EXTRA)).collect()
}

fn parse(patterns: &'static [&'static str]) -> impl Iterator<Item = Pattern> {
    patterns.iter().map(|pattern| Pattern::parse(pattern, &[]))
}
