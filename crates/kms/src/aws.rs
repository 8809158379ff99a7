//! AWS KMS.

use aws_sdk_kms::primitives::Blob;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret;
use weir_auth::{Credentials, Operation};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::keys::Keys;

pub(crate) async fn decrypt(
    keys: &Keys,
    arn: &str,
    role: &str,
    context: &[(String, String)],
    enc: &str,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let region = region(arn).ok_or_else(|| Error::Arn(arn.to_owned()))?;
    let ciphertext = STANDARD.decode(enc.trim()).map_err(|_| Error::Ciphertext)?;
    let credentials = credentials(keys, region, role).await?;
    let config = weir_auth::sdk_config(&keys.client()?, region, &credentials).await;
    let mut request = aws_sdk_kms::Client::new(&config).decrypt().key_id(arn);
    request = request.ciphertext_blob(Blob::new(ciphertext));
    for (name, value) in context {
        request = request.encryption_context(name, value);
    }
    let answer = request.send().await.map_err(|error| Error::Aws(weir_auth::api_words(&error)))?;
    Ok(Zeroizing::new(answer.plaintext.ok_or(Error::Answer)?.into_inner()))
}

/// The keys of the Secret, else the owner's; those of the entry's role, if it has one.
async fn credentials(keys: &Keys, region: &str, role: &str) -> Result<Credentials, Error> {
    let (logins, caller) = (keys.logins(Operation::DecryptWithAws), keys.caller());
    let own = match &keys.held.aws {
        Some(Credentials::Aws { access_key_id, secret_access_key, .. })
            if access_key_id.is_empty() || secret_access_key.expose_secret().is_empty() =>
        {
            return Err(Error::EmptyKeys);
        }
        Some(held) => held.clone(),
        None => logins.aws(&caller, Some(region), None).await?.credentials.clone(),
    };
    if role.is_empty() {
        return Ok(own);
    }
    Ok(logins.aws_role(&caller, &own, region, role).await?.credentials.clone())
}

/// The region of `arn:aws[\w-]*:kms:<region>:<digits>:(key|alias)/<name>` (KS-DEC-10). It becomes part of a host name.
fn region(arn: &str) -> Option<&str> {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let ["arn", partition, "kms", region, account, key] = parts.as_slice() else { return None };
    let is_word = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    let name = key.strip_prefix("key/").or_else(|| key.strip_prefix("alias/"))?;
    let is_valid = partition.starts_with("aws")
        && is_word(partition)
        && is_word(region)
        && is_word(account)
        && account.bytes().all(|byte| byte.is_ascii_digit())
        && !name.is_empty();
    is_valid.then_some(*region)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("arn:aws:kms:us-west-2:107501996527:key/612d5f0p", Some("us-west-2"))]
    #[case("arn:aws-cn:kms:cn-north-1:1:alias/a/b", Some("cn-north-1"))]
    #[case("arn:aws:kms:evil.example/:1:key/x", None)]
    #[case("arn:aws:kms:us-west-2:x:key/x", None)]
    #[case("arn:aws:kms:us-west-2:1:other/x", None)]
    #[case("arn:aws:s3:us-west-2:1:key/x", None)]
    #[case("", None)]
    fn regions(#[case] arn: &str, #[case] expected: Option<&str>) {
        assert_eq!(super::region(arn), expected);
    }
}
