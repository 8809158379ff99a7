//! The configuration files of AWS that a Pod may read. A person's profiles run programs and hold single sign-ons, which no service
//! has to follow.

use aws_config::profile::{ProfileSet, load};
use aws_runtime::env_config::file::{EnvConfigFileKind as Kind, EnvConfigFiles as ProfileFiles};
use aws_types::os_shim_internal::{Env, Fs};

/// Fields of a profile whose keys come from a program, or from a person's login.
const OF_PEOPLE: [&str; 4] = ["credential_process", "login_session", "sso_session", "sso_start_url"];

/// Field with the name of the profile whose keys a profile takes.
const SOURCE: &str = "source_profile";

/// Profiles in a row, each of which takes keys of the next; a ring of them never ends.
const MAX_PROFILES: usize = 32;

/// Returns the files that the environment names; empty ones in their place where a profile is a person's.
pub(super) async fn of_pod() -> ProfileFiles {
    let files = ProfileFiles::default();
    match load(&Fs::real(), &Env::real(), &files, None).await {
        Ok(profiles) if is_of_people(&profiles) => {
            tracing::warn!(
                "passing over the configuration files of AWS: services run no credential_process, and know no SSO and no login_session"
            );
            let empty = ProfileFiles::builder().with_contents(Kind::Config, "");
            empty.with_contents(Kind::Credentials, "").build()
        }
        // Those that cannot be read are refused by the SDK.
        _ => files,
    }
}

/// Judges the profile that the environment selects, and those whose keys it takes.
fn is_of_people(profiles: &ProfileSet) -> bool {
    let mut name = profiles.selected_profile();
    for _ in 0..MAX_PROFILES {
        let Some(profile) = profiles.get_profile(name) else { return false };
        if OF_PEOPLE.iter().any(|field| profile.get(field).is_some()) {
            return true;
        }
        match profile.get(SOURCE) {
            Some(next) if next != name => name = next,
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("[default]\ncredential_process = /bin/keys\n", true)]
    #[case("[default]\nlogin_session = arn:aws:iam::1:user/me\n", true)]
    #[case("[default]\nsso_session = s\n[sso-session s]\nsso_region = r\n", true)]
    #[case(
        "[default]\nsource_profile = a\n[profile a]\nsource_profile = b\n[profile b]\ncredential_process = /bin/keys\n",
        true
    )]
    #[case("[default]\nsource_profile = a\n[profile a]\nsource_profile = default\n", true)]
    #[case("[default]\nregion = r\n[profile a]\ncredential_process = /bin/keys\n", false)]
    #[case("[default]\nrole_arn = arn:aws:iam::1:role/r\ncredential_source = Environment\n", false)]
    #[case("", false)]
    #[tokio::test]
    async fn profiles_of_people(#[case] config: &str, #[case] expected: bool) {
        let files = ProfileFiles::builder().with_contents(Kind::Config, config);
        let files = files.with_contents(Kind::Credentials, "").build();
        let profiles = load(&Fs::from_slice(&[]), &Env::from_slice(&[]), &files, None).await.unwrap();
        assert_eq!(is_of_people(&profiles), expected);
    }
}
