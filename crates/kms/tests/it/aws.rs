//! AWS KMS, which is moto here (KS-SOPS-5, KS-DEC-10).

use std::net::SocketAddr;

use serde_json::{Value, json};
use weir_auth::Credentials;
use weir_http::Profile;
use weir_kms::Held;
use weir_sops::{DataKey, MasterKey};
use weir_testkit::{BucketProgram, BucketServer, Identity, Proxied, Proxy, TlsFront};

use crate::world::{account, data_key, document, keys, refusal, standard};

const REGION: &str = "eu-west-1";
const HOSTS: [&str; 2] = ["kms.eu-west-1.amazonaws.com", "sts.eu-west-1.amazonaws.com"];
const ROLE: &str = "arn:aws:iam::123456789012:role/weir";

/// moto under the host names of Amazon.
struct Amazon {
    moto: BucketServer,
    proxy: Proxy,
    profile: Profile,
    _front: TlsFront,
}

impl Amazon {
    async fn start() -> Option<Self> {
        let moto = BucketServer::start(BucketProgram::Moto).await.unwrap()?;
        let identity = Identity::for_names(&HOSTS).unwrap();
        let address: SocketAddr = moto.address().parse().unwrap();
        let front = TlsFront::start(&identity, address).await.unwrap();
        let places = HOSTS.map(|host| format!("{host}:443"));
        let routes: Vec<_> = places.iter().map(|place| (place.as_str(), front.address())).collect();
        let proxy = Proxy::start(&routes).await.unwrap();
        let profile = Profile {
            ca: Some(identity.ca_pem.into()),
            proxy: Some(weir_http::Proxy {
                address: format!("http://{}", proxy.address()).parse().unwrap(),
                credentials: None,
            }),
            ..Profile::default()
        };
        Some(Self { moto, proxy, profile, _front: front })
    }

    /// Asks moto itself.
    async fn ask(&self, action: &str, body: Value) -> Value {
        let credential = format!("AKID/20260101/{REGION}/kms/aws4_request");
        let request = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = request
            .post(format!("http://{}/", self.moto.address()))
            .header(
                "authorization",
                format!("AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=x"),
            )
            .header("x-amz-target", format!("TrentService.{action}"))
            .header("content-type", "application/x-amz-json-1.1");
        let answer = request.body(body.to_string()).send().await.unwrap();
        let bytes = weir_http::read_capped(answer, 1 << 20).await.unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    /// A new key, by its ARN.
    async fn key(&self) -> String {
        let made = self.ask("CreateKey", json!({})).await;
        made["KeyMetadata"]["Arn"].as_str().unwrap().to_owned()
    }

    /// An entry of a document for a key.
    async fn master(&self, arn: &str, context: &[(&str, &str)], role: &str, key: &DataKey) -> MasterKey {
        let map: serde_json::Map<_, _> = context.iter().map(|(k, v)| ((*k).to_owned(), json!(v))).collect();
        let body = json!({"KeyId": arn, "Plaintext": standard(key.bytes()), "EncryptionContext": map});
        let made = self.ask("Encrypt", body).await;
        MasterKey::AwsKms {
            arn: arn.to_owned(),
            role: role.to_owned(),
            context: context.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            enc: made["CiphertextBlob"].as_str().unwrap().to_owned(),
        }
    }

    fn hosts(&self) -> Vec<String> {
        self.proxy.requests().into_iter().map(|Proxied { target, .. }| target).collect()
    }
}

fn held() -> Held {
    let entry = b"aws_access_key_id: AKIAKEY\naws_secret_access_key: hunter2\n";
    Held { aws: Some(Credentials::aws(entry).unwrap()), ..Held::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_secret_holds_keys() {
    let Some(amazon) = Amazon::start().await else { return };
    let (key, arn) = (DataKey::generate(), amazon.key().await);
    let context = [("app", "weir"), ("environment", "test")];
    let master = amazon.master(&arn, &context, "", &key).await;
    let encrypted = document(vec![vec![master.clone()]], &key);
    let found = data_key(&encrypted, keys(amazon.profile.clone(), None, held()).await).await.unwrap();
    assert_eq!(found.bytes(), key.bytes());
    assert_eq!(amazon.hosts(), ["kms.eu-west-1.amazonaws.com:443"], "the region is that of the ARN");
    // Without its encryption context the same ciphertext is refused.
    let mut other = master;
    if let MasterKey::AwsKms { context, .. } = &mut other {
        context.pop();
    }
    let error =
        refusal(&document(vec![vec![other]], &key), keys(amazon.profile.clone(), None, held()).await).await;
    assert!(error.contains(&format!("{arn}|app:weir: FAILED")), "{error}");
    let expected = "failed to decrypt sops data key with AWS KMS: api error InvalidCiphertextException";
    assert!(error.contains(expected) && !error.contains("hunter2"), "{error}");
}

/// The entry names a role, which the Secret's keys assume.
#[tokio::test(flavor = "multi_thread")]
async fn a_role_is_assumed() {
    let Some(amazon) = Amazon::start().await else { return };
    let (key, arn) = (DataKey::generate(), amazon.key().await);
    let encrypted = document(vec![vec![amazon.master(&arn, &[], ROLE, &key).await]], &key);
    let found = data_key(&encrypted, keys(amazon.profile.clone(), None, held()).await).await.unwrap();
    assert_eq!(found.bytes(), key.bytes());
    assert_eq!(amazon.hosts(), ["sts.eu-west-1.amazonaws.com:443", "kms.eu-west-1.amazonaws.com:443"]);
}

/// KS-DEC-10, KS-DEC-11: without an entry in the Secret, the ServiceAccount's role is asked for.
#[tokio::test(flavor = "multi_thread")]
async fn the_owner_has_an_identity() {
    let Some(amazon) = Amazon::start().await else { return };
    let (key, arn) = (DataKey::generate(), amazon.key().await);
    account("kms-aws", json!({"eks.amazonaws.com/role-arn": ROLE})).await;
    let encrypted = document(vec![vec![amazon.master(&arn, &[], "", &key).await]], &key);
    let keys = keys(amazon.profile.clone(), Some("kms-aws"), Held::default()).await;
    assert_eq!(data_key(&encrypted, keys).await.unwrap().bytes(), key.bytes());
    assert_eq!(amazon.hosts(), ["sts.eu-west-1.amazonaws.com:443", "kms.eu-west-1.amazonaws.com:443"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_that_are_no_keys_are_not_asked_for() {
    let key = DataKey::generate();
    let master = |arn: &str, enc: &str| MasterKey::AwsKms {
        arn: arn.to_owned(),
        role: String::new(),
        context: Vec::new(),
        enc: enc.to_owned(),
    };
    let arn = "arn:aws:kms:eu-west-1:1:key/x";
    for (arn, enc, expected) in [
        (
            "arn:aws:kms:evil.example/x:1:key/x",
            "AAAA",
            "no valid ARN found in 'arn:aws:kms:evil.example/x:1:key/x'",
        ),
        (arn, "no base64!", "failed to base64 decode encrypted data key"),
    ] {
        let encrypted = document(vec![vec![master(arn, enc)]], &key);
        let error = refusal(&encrypted, keys(Profile::default(), None, held()).await).await;
        assert!(error.contains(expected), "{error}");
    }
    let empty = Held { aws: Some(Credentials::aws(b"aws_access_key_id: ''\n").unwrap()), ..Held::default() };
    let error = refusal(
        &document(vec![vec![master(arn, "AAAA")]], &key),
        keys(Profile::default(), None, empty).await,
    )
    .await;
    assert!(error.contains("static credentials are empty"), "{error}");
}
