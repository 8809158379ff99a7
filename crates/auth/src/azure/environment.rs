//! The application that the environment describes, as Azure's libraries read it (SRC-BKT-11).

use std::fs::File;
use std::io::Read;

use secrecy::SecretSlice;

use super::application::{Application, Proof};
use crate::certificate_error::MAX_FILE;
use crate::error::ProviderError;

/// Names the file with the application's certificate and its key.
const CERTIFICATE: &str = "AZURE_CLIENT_CERTIFICATE_PATH";

/// The application that the variables describe, with its secret or else its certificate; nothing when they describe none.
pub(super) fn application(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Application>, ProviderError> {
    let Some((tenant, client)) = variable("AZURE_TENANT_ID").zip(variable("AZURE_CLIENT_ID")) else {
        return Ok(None);
    };
    let proof = match (variable("AZURE_CLIENT_SECRET"), variable(CERTIFICATE)) {
        (Some(secret), _) => Proof::Secret(secret.into()),
        (None, Some(path)) => Proof::Certificate {
            file: certificate(&path)?,
            password: variable("AZURE_CLIENT_CERTIFICATE_PASSWORD").unwrap_or_default().into(),
            send_chain: variable("AZURE_CLIENT_SEND_CERTIFICATE_CHAIN")
                .is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true")),
        },
        (None, None) => return Ok(None),
    };
    Ok(Some(Application { tenant, client, authority: variable("AZURE_AUTHORITY_HOST"), proof }))
}

/// Reads the file; one byte more than a certificate may have, so that a larger file is refused as such.
fn certificate(path: &str) -> Result<SecretSlice<u8>, ProviderError> {
    let unusable = |error: std::io::Error| ProviderError::Unusable {
        what: CERTIFICATE,
        reason: format!("failed to read '{path}': {error}"),
    };
    let mut content = Vec::new();
    let file = File::open(path).map_err(unusable)?;
    file.take(MAX_FILE as u64 + 1).read_to_end(&mut content).map_err(unusable)?;
    Ok(content.into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use secrecy::ExposeSecret;
    use weir_testkit::Folder;

    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Option<Application>, ProviderError> {
        application(|name| {
            variables.iter().find(|(found, _)| *found == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_certificate_where_there_is_no_secret() {
        let folder = Folder::new("certificate").unwrap();
        let path = folder.write("client.pem", "a certificate").unwrap().display().to_string();
        let ids = [("AZURE_TENANT_ID", "t"), ("AZURE_CLIENT_ID", "c"), ("AZURE_AUTHORITY_HOST", "https://a")];
        let certificate = [(CERTIFICATE, path.as_str()), ("AZURE_CLIENT_SEND_CERTIFICATE_CHAIN", "True")];
        let found = of(&[ids.as_slice(), &certificate].concat()).unwrap().unwrap();
        assert_eq!((found.tenant.as_str(), found.authority.as_deref()), ("t", Some("https://a")));
        let Proof::Certificate { file, send_chain: true, .. } = found.proof else { panic!("a certificate") };
        assert_eq!(file.expose_secret(), b"a certificate");
        let secret = [("AZURE_CLIENT_SECRET", "s")];
        let found = of(&[ids.as_slice(), &certificate, &secret].concat()).unwrap().unwrap();
        assert!(matches!(found.proof, Proof::Secret(_)));
        assert!(of(&ids).unwrap().is_none(), "ids alone are those of a workload identity");
        assert!(of(&certificate).unwrap().is_none());
        let missing = [(CERTIFICATE, "/nowhere/client.pem")];
        let missing = of(&[ids.as_slice(), &missing].concat()).unwrap_err().to_string();
        assert!(missing.contains("failed to read '/nowhere/client.pem'"), "{missing}");
    }
}
