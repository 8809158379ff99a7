//! Notation's signatures of artifacts in a real registry (SRC-OCI-26, C2).

use serde_json::{Value, json};
use weir_testkit::{NotationCertificate, NotationSigner, Registry, condition};

use crate::world::World;

const OCI: &str = "OCIRepository";
const SIGNATURE: &str = "application/vnd.cncf.notary.signature";
const JWS: &str = "application/jose+json";

fn policy(level: &str) -> String {
    json!({"version": "1.0", "trustPolicies": [{
        "name": "test", "registryScopes": ["*"], "signatureVerification": {"level": level},
        "trustStores": ["ca:test"], "trustedIdentities": ["x509.subject: C=US, ST=WA, O=weir"],
    }]})
    .to_string()
}

async fn signed(registry: &Registry, repository: &str, signers: &[&NotationSigner]) -> String {
    let digest = registry.push_artifact(repository, "latest", &[("a.yaml", repository)]).await.unwrap();
    for signer in signers {
        let signature = signer.sign(&digest, &json!({})).unwrap();
        registry.attach(repository, &digest, SIGNATURE, JWS, &signature).await.unwrap();
    }
    digest
}

fn by(secret: &str) -> Value {
    json!({"verify": {"provider": "notation", "secretRef": {"name": secret}}})
}

#[tokio::test]
async fn signers_of_a_trust_policy() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let signer = NotationSigner::create(NotationCertificate::Good).unwrap();
    let stranger = NotationSigner::create(NotationCertificate::Good).unwrap();
    let digest = signed(&registry, "app", &[&stranger, &signer]).await;
    signed(&registry, "theirs", &[&stranger]).await;
    let unsigned = signed(&registry, "unsigned", &[]).await;
    signed(&registry, "many", &[&stranger, &stranger, &stranger, &signer]).await;
    for level in ["strict", "audit", "skip"] {
        let data = json!({"trustpolicy.json": policy(level), "ca.crt": signer.trusted_pem()});
        world.secret(level, "Opaque", data).await;
    }
    world.oci("app", &registry.url("app"), by("strict")).await;
    for name in ["theirs", "unsigned", "many"] {
        world.oci(name, &registry.url(name), by("strict")).await;
    }
    world.oci("audit", &registry.url("theirs"), by("audit")).await;
    world.oci("skip", &registry.url("unsigned"), by("skip")).await;
    world.ready(OCI, "app").await;
    let object = world.api(OCI).await.get("app").await.unwrap();
    let verified = condition(&object, "SourceVerified").unwrap();
    let expected = format!("verified signature of revision latest@{digest}");
    assert_eq!((verified.status.as_str(), verified.message), ("True", expected));
    for name in ["audit", "skip"] {
        world.ready(OCI, name).await;
        let object = world.api(OCI).await.get(name).await.unwrap();
        assert!(condition(&object, "SourceVerified").is_none(), "{name}: nothing is verified");
    }
    let prefix = "failed to verify the signature using provider 'notation': ";
    let address = registry.address();
    let none = format!(
        "no signature is associated with \"{address}/unsigned@{unsigned}\", make sure the artifact was signed \
                        successfully"
    );
    let stopped =
        "signature evaluation stopped. The configured limit of 3 signatures to verify per artifact exceeded";
    for (name, message) in [("unsigned", none.as_str()), ("many", stopped)] {
        let expected = ("VerificationError".to_owned(), format!("{prefix}{message}"));
        assert_eq!(world.failure(OCI, name).await, expected);
        assert!(world.api(OCI).await.get(name).await.unwrap().data["status"]["artifact"].is_null());
    }
    let (_, message) = world.failure(OCI, "theirs").await;
    let each = "signature verification failed\nfailed to verify signature with digest sha256:";
    let reason = ", the signature's certificate chain does not contain any trusted certificate";
    assert!(message.starts_with(&format!("{prefix}{each}")) && message.ends_with(reason), "{message}");
}

#[tokio::test]
async fn secrets_that_do_not_say_whom_to_trust() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let digest = signed(&registry, "app", &[]).await;
    let certificate = NotationSigner::create(NotationCertificate::Good).unwrap().trusted_pem();
    world.secret("nopolicy", "Opaque", json!({"ca.crt": certificate})).await;
    world.secret("nocert", "Opaque", json!({"trustpolicy.json": policy("strict")})).await;
    world.secret("junk", "Opaque", json!({"trustpolicy.json": "junk", "ca.crt": certificate})).await;
    for name in ["nopolicy", "nocert", "junk"] {
        world.oci(name, &registry.url("app"), by(name)).await;
    }
    world.oci("nosecret", &registry.url("app"), json!({"verify": {"provider": "notation"}})).await;
    let prefix = "failed to verify the signature using provider 'notation': ";
    let place = &world.namespace;
    for (name, part) in [
        ("nosecret", format!("verification secret cannot be empty: '{}/app@{digest}'", registry.address())),
        ("nopolicy", format!("'trustpolicy.json' not found in secret '{place}/nopolicy'")),
        ("nocert", format!("no certificates found in secret '{place}/nocert'")),
        ("junk", "error occurred while parsing trustpolicy.json: ".to_owned()),
    ] {
        let (reason, message) = world.failure(OCI, name).await;
        assert_eq!(reason, "VerificationError");
        assert!(message.starts_with(&format!("{prefix}{part}")), "{message}");
    }
}
