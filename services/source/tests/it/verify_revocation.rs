//! Certificates of signers that were taken back: OpenSSL's responder and a server with a list say so (SRC-OCI-26, C2).

use std::process::Command;

use axum::Router;
use axum::http::HeaderMap;
use axum::routing::get;
use rcgen::{
    CertificateRevocationListParams, CrlDistributionPoint, KeyIdMethod, RevokedCertParams, SerialNumber,
    date_time_ymd,
};
use serde_json::{Value, json};
use weir_testkit::{
    Folder, NotationAuthority, NotationSigner, Process, Registry, Server, condition, eventually, free_port,
    ocsp_servers,
};

use crate::world::{DEADLINE, World};

const OCI: &str = "OCIRepository";
const SIGNATURE: &str = "application/vnd.cncf.notary.signature";
const JWS: &str = "application/jose+json";

fn policy(verification: Value) -> String {
    json!({"version": "1.0", "trustPolicies": [{
        "name": "test", "registryScopes": ["*"], "signatureVerification": verification,
        "trustStores": ["ca:test"], "trustedIdentities": ["*"],
    }]})
    .to_string()
}

/// `openssl ocsp`, which knows the serial numbers 1, good, and 2, revoked.
struct Responder {
    address: String,
    _process: Process,
    _folder: Folder,
}

impl Responder {
    async fn start(authority: &NotationAuthority) -> Self {
        let folder = Folder::new("ocsp").unwrap();
        folder.write("ca.pem", authority.certificate().pem()).unwrap();
        folder.write("ca.key", authority.key_pem()).unwrap();
        let index =
            "V\t391231235959Z\t\t01\tunknown\t/CN=a\nR\t391231235959Z\t220101000000Z\t02\tunknown\t/CN=b\n";
        folder.write("index.txt", index).unwrap();
        let port = free_port().unwrap();
        let mut command = Command::new("openssl");
        command.current_dir(folder.path()).args([
            "ocsp",
            "-index",
            "index.txt",
            "-CA",
            "ca.pem",
            "-rsigner",
            "ca.pem",
        ]);
        command.args(["-rkey", "ca.key", "-ndays", "1", "-ignore_err", "-port", &port.to_string()]);
        let process = Process::start("openssl ocsp", &mut command, &folder.join("log")).unwrap();
        // A connection without a question would keep it from all others.
        let log = folder.join("log");
        eventually("openssl ocsp to listen", DEADLINE, || async {
            std::fs::read_to_string(&log)
                .ok()
                .filter(|log| log.contains("waiting for OCSP client connections"))
        })
        .await
        .unwrap();
        Self { address: format!("http://127.0.0.1:{port}"), _process: process, _folder: folder }
    }
}

/// A server with a list that has the serial number 4.
async fn list(authority: &NotationAuthority) -> Server {
    let revoked = RevokedCertParams {
        serial_number: SerialNumber::from(4),
        revocation_time: date_time_ymd(2022, 1, 1),
        reason_code: None,
        invalidity_date: None,
    };
    let list = CertificateRevocationListParams {
        this_update: date_time_ymd(2022, 1, 1),
        next_update: date_time_ymd(2039, 1, 1),
        crl_number: SerialNumber::from(1),
        issuing_distribution_point: None,
        revoked_certs: vec![revoked],
        key_identifier_method: KeyIdMethod::Sha256,
    };
    let list = list.signed_by(authority.issuer()).unwrap().der().to_vec();
    let answer = |headers: HeaderMap| async move {
        assert!(!headers.contains_key("authorization"), "{headers:?}");
        list
    };
    Server::start(Router::new().route("/list", get(answer)), None).await.unwrap()
}

async fn signed(registry: &Registry, repository: &str, signer: &NotationSigner) {
    let digest = registry.push_artifact(repository, "latest", &[("a.yaml", repository)]).await.unwrap();
    let signature = signer.sign(&digest, &json!({})).unwrap();
    registry.attach(repository, &digest, SIGNATURE, JWS, &signature).await.unwrap();
}

#[tokio::test]
async fn signers_that_were_taken_back() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let authority = NotationAuthority::create(|_| {}).unwrap();
    let (responder, lists) = (Responder::start(&authority).await, list(&authority).await);
    let (server, list) = (responder.address.as_str(), format!("http://{}/list", lists.address()));
    let nobody = format!("http://127.0.0.1:{}", free_port().unwrap());
    let login = format!("http://user:word@{}/list", lists.address());
    let missing = format!("http://{}/missing", lists.address());
    // The revocation sources in the signer's certificate, and true when the signature counts under `strict`.
    let signers = [
        ("good", 1, Some(server), None, true),
        ("revoked", 2, Some(server), None, false),
        ("unknown", 3, Some(server), None, false),
        ("nobody", 1, Some(nobody.as_str()), None, false),
        ("unlisted", 1, None, Some(list.as_str()), true),
        ("listed", 4, None, Some(list.as_str()), false),
        ("login", 1, None, Some(login.as_str()), true),
        ("missing", 1, None, Some(missing.as_str()), false),
        ("instead", 1, Some(nobody.as_str()), Some(list.as_str()), true),
        ("listed-instead", 4, Some(nobody.as_str()), Some(list.as_str()), false),
    ];
    for (level, verification) in [
        ("strict", json!({"level": "strict"})),
        ("permissive", json!({"level": "permissive"})),
        ("skip", json!({"level": "strict", "override": {"revocation": "skip"}})),
    ] {
        let data = json!({"trustpolicy.json": policy(verification), "ca.crt": authority.certificate().pem()});
        world.secret(level, "Opaque", data).await;
    }
    for (name, serial, server, list, _) in signers {
        let signer = authority.signer(|params| {
            params.serial_number = Some(SerialNumber::from(serial));
            params.custom_extensions.extend(server.map(|server| ocsp_servers(&[server])));
            let points = list.map(|list| CrlDistributionPoint { uris: vec![list.to_owned()] });
            params.crl_distribution_points.extend(points);
        });
        signed(&registry, name, &signer.unwrap()).await;
        for level in ["strict", "permissive", "skip"] {
            let verify = json!({"verify": {"provider": "notation", "secretRef": {"name": level}}});
            world.oci(&format!("{name}-{level}"), &registry.url(name), verify).await;
        }
    }
    for (name, .., counts) in signers {
        for level in ["strict", "permissive", "skip"] {
            let object = format!("{name}-{level}");
            if counts || level != "strict" {
                world.ready(OCI, &object).await;
                let object = world.api(OCI).await.get(&object).await.unwrap();
                assert_eq!(condition(&object, "SourceVerified").unwrap().status, "True", "{name} {level}");
                continue;
            }
            let (reason, message) = world.failure(OCI, &object).await;
            assert_eq!(reason, "VerificationError", "{name}: {message}");
            assert!(
                message.contains(
                    "signature verification failed\nfailed to verify signature with digest sha256:"
                ),
                "{message}"
            );
            let object = world.api(OCI).await.get(&object).await.unwrap();
            assert!(object.data["status"]["artifact"].is_null(), "{name}");
        }
    }
}
