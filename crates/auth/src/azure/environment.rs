//! The application that the environment describes, as Azure's libraries read it (SRC-BKT-11).

use std::fs::File;
use std::io::Read;

use secrecy::{SecretSlice, SecretString};

use super::application::{Application, Proof};
use super::certificate::ClientCertificate;
use crate::certificate_error::MAX_FILE;
use crate::error::ProviderError;

/// Names the file with the application's certificate and its key.
const CERTIFICATE: &str = "AZURE_CLIENT_CERTIFICATE_PATH";
/// Names the file with the token of a workload identity.
pub(super) const FEDERATED_TOKEN: &str = "AZURE_FEDERATED_TOKEN_FILE";

/// Returns the application that the variables describe, with its secret or else its certificate; none when they describe none. A
/// certificate that cannot be used, such as a left-over path, counts for nothing beside a workload identity.
///
/// # Errors
/// Fails when the certificate cannot be used and there is no workload identity.
pub(super) async fn application(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Application>, ProviderError> {
    let Some((tenant, client)) = variable("AZURE_TENANT_ID").zip(variable("AZURE_CLIENT_ID")) else {
        return Ok(None);
    };
    let proof = match (variable("AZURE_CLIENT_SECRET"), variable(CERTIFICATE)) {
        (Some(secret), _) => Proof::Secret(secret.into()),
        (None, Some(path)) => {
            let password = variable("AZURE_CLIENT_CERTIFICATE_PASSWORD").unwrap_or_default().into();
            let file = match certificate(&path, &password).await {
                Err(error) if variable(FEDERATED_TOKEN).is_some() => {
                    tracing::warn!(%error, "using the workload identity instead of the client certificate");
                    return Ok(None);
                }
                file => file?,
            };
            let send_chain = variable("AZURE_CLIENT_SEND_CERTIFICATE_CHAIN")
                .is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true"));
            Proof::Certificate { file, password, send_chain }
        }
        (None, None) => return Ok(None),
    };
    Ok(Some(Application { tenant, client, authority: variable("AZURE_AUTHORITY_HOST"), proof }))
}

/// Returns the content of the file, which is a certificate with its key.
async fn certificate(path: &str, password: &SecretString) -> Result<SecretSlice<u8>, ProviderError> {
    let file = read(path)?;
    ClientCertificate::open(&file, password).await?;
    Ok(file)
}

/// Reads the file; one byte more than a certificate may have, so that a larger file is refused as such.
fn read(path: &str) -> Result<SecretSlice<u8>, ProviderError> {
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
mod tests {
    use secrecy::ExposeSecret;
    use weir_testkit::Folder;

    use super::*;

    const IDS: [(&str, &str); 3] =
        [("AZURE_TENANT_ID", "t"), ("AZURE_CLIENT_ID", "c"), ("AZURE_AUTHORITY_HOST", "https://a")];
    const USABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/openssl3.p12");
    const PASSWORD: (&str, &str) = ("AZURE_CLIENT_CERTIFICATE_PASSWORD", "hunter2");

    async fn of(variables: &[(&str, &str)]) -> Result<Option<Application>, ProviderError> {
        let all = [IDS.as_slice(), variables].concat();
        application(|name| all.iter().find(|(found, _)| *found == name).map(|(_, value)| (*value).to_owned()))
            .await
    }

    #[tokio::test]
    async fn a_certificate_where_there_is_no_secret() {
        let variables =
            [(CERTIFICATE, USABLE), PASSWORD, ("AZURE_CLIENT_SEND_CERTIFICATE_CHAIN", "True")].as_slice();
        let found = of(variables).await.unwrap().unwrap();
        assert_eq!((found.tenant.as_str(), found.authority.as_deref()), ("t", Some("https://a")));
        let Proof::Certificate { file, send_chain: true, .. } = found.proof else { panic!("a certificate") };
        assert_eq!(file.expose_secret(), std::fs::read(USABLE).unwrap());
        let secret = [("AZURE_CLIENT_SECRET", "s")];
        let found = of(&[variables, &secret].concat()).await.unwrap().unwrap();
        assert!(matches!(found.proof, Proof::Secret(_)));
        assert!(of(&[]).await.unwrap().is_none(), "ids alone are those of a workload identity");
        let no_ids = application(|name| (name == CERTIFICATE).then(|| USABLE.to_owned())).await;
        assert!(no_ids.unwrap().is_none());
    }

    #[tokio::test]
    async fn an_unusable_certificate_gives_way_to_a_workload_identity() {
        let folder = Folder::new("certificate").unwrap();
        let broken = folder.write("client.pem", "no certificate").unwrap().display().to_string();
        let workload = (FEDERATED_TOKEN, "/var/run/secrets/azure/tokens/azure-identity-token");
        for path in ["/nowhere/client.pem", &broken] {
            assert!(of(&[(CERTIFICATE, path)]).await.is_err(), "{path}");
            assert!(of(&[(CERTIFICATE, path), workload]).await.unwrap().is_none(), "{path}");
        }
        let missing = of(&[(CERTIFICATE, "/nowhere/client.pem")]).await.unwrap_err().to_string();
        assert!(missing.contains("failed to read '/nowhere/client.pem'"), "{missing}");
        let usable = of(&[(CERTIFICATE, USABLE), PASSWORD, workload]).await.unwrap();
        assert!(usable.is_some(), "a certificate that is good comes first");
    }
}
