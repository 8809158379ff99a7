//! Signatures that we make, checked by `gpg`, by `ssh-keygen` and by ourselves (IU-21, IU-22).

use jiff::{Timestamp, ToSpan};
use rstest::rstest;
use ssh_key::PrivateKey;
use weir_testkit::{Folder, GpgHome, SshKey};
use weir_verify::git::{Choice, GitKeys, Object, SigningKey, SigningKeyError};

use crate::secret;

const PAYLOAD: &[u8] = b"tree 0\n\nmessage\n";
const DEV: &str = "dev@example.com";
const PASSPHRASE: &str = "correct horse";

fn days(days: i64) -> Timestamp {
    Timestamp::now() + (24 * days).hours()
}

/// The private key of a user, armoured.
fn private(home: &GpgHome, arguments: &[&str]) -> String {
    home.gpg(&[&["--armor"], arguments].concat(), b"").unwrap()
}

fn open(ring: &str, passphrase: Option<&str>) -> Result<SigningKey, SigningKeyError> {
    SigningKey::openpgp(ring.as_bytes(), Choice::Only, passphrase.map(str::as_bytes), days(0))
}

/// Signs the payload, lets `gpg` and ourselves check that, and returns what `gpg` says of the key.
fn signed(home: &GpgHome, key: &SigningKey) -> String {
    let (folder, signature) = (Folder::new("signing").unwrap(), key.sign(PAYLOAD, Timestamp::now()).unwrap());
    let file = folder.write("signature", &signature).unwrap().display().to_string();
    let told = home.gpg(&["--status-fd", "1", "--verify", &file, "-"], PAYLOAD).unwrap();
    assert!(home.gpg(&["--verify", &file, "-"], b"another payload").is_err());
    let ring = home.public(DEV).unwrap();
    let keys = GitKeys::from_secret(&secret(&[("a.asc", &ring)]));
    keys.verify(Object::Commit, PAYLOAD, Some(signature.as_bytes()), Timestamp::now()).unwrap();
    told
}

#[rstest]
#[case("ed25519")]
#[case("rsa2048")]
#[case("nistp256")]
#[case("nistp384")]
#[case("nistp521")]
fn gpg_accepts_the_signature_of_its_key(#[case] algorithm: &str) {
    let home = GpgHome::create().unwrap();
    let fingerprint = home.generate(DEV, algorithm, "0").unwrap();
    let key = open(&private(&home, &["--export-secret-keys", DEV]), None).unwrap();
    assert!(signed(&home, &key).contains(&format!("VALIDSIG {fingerprint}")));
}

#[test]
fn a_passphrase_opens_the_key_and_its_subkeys() {
    let home = GpgHome::create().unwrap();
    let with = ["--passphrase", PASSPHRASE];
    home.gpg(&[&with[..], &["--quick-gen-key", DEV, "ed25519", "cert", "0"]].concat(), b"").unwrap();
    let listing = home.gpg(&["--list-keys", "--with-colons", DEV], b"").unwrap();
    let line = listing.lines().find(|line| line.starts_with("fpr:")).unwrap();
    let primary = line.split(':').nth(9).unwrap();
    for use_of in ["encr", "sign"] {
        let algorithm = if use_of == "sign" { "ed25519" } else { "cv25519" };
        home.gpg(&[&with[..], &["--quick-add-key", primary, algorithm, use_of, "0"]].concat(), b"").unwrap();
    }
    for export in ["--export-secret-keys", "--export-secret-subkeys"] {
        let ring = private(&home, &[&with[..], &[export, DEV]].concat());
        assert_eq!(open(&ring, None).unwrap_err(), SigningKeyError::Locked, "{export}");
        assert_eq!(open(&ring, Some("wrong")).unwrap_err(), SigningKeyError::Passphrase, "{export}");
        let told = signed(&home, &open(&ring, Some(PASSPHRASE)).unwrap());
        let line = told.lines().find(|line| line.contains("VALIDSIG")).unwrap();
        assert!(line.ends_with(primary) && !line.contains(&format!("VALIDSIG {primary}")), "{line}");
    }
}

#[test]
fn a_key_that_may_not_sign_is_refused() {
    let home = GpgHome::create().unwrap();
    let fingerprint = home.generate(DEV, "ed25519", "2d").unwrap();
    let ring = private(&home, &["--export-secret-keys", DEV]);
    let at = |now| SigningKey::openpgp(ring.as_bytes(), Choice::Only, None, now).map(drop);
    assert_eq!(at(days(1)), Ok(()));
    assert_eq!(at(days(3)), Err(SigningKeyError::NoneSigns));
    home.revoke(&fingerprint).unwrap();
    let revoked = private(&home, &["--export-secret-keys", DEV]);
    assert_eq!(open(&revoked, None).unwrap_err(), SigningKeyError::NoneSigns);
    assert_eq!(open(&home.public(DEV).unwrap(), None).unwrap_err(), SigningKeyError::Public);
}

#[test]
fn a_ring_is_chosen_from() {
    let home = GpgHome::create().unwrap();
    let ids = [DEV, "ops@example.com"].map(|user| {
        let fingerprint = home.generate(user, "ed25519", "0").unwrap();
        fingerprint[fingerprint.len() - 16..].to_owned()
    });
    let folder = Folder::new("ring").unwrap();
    let file = folder.join("ring.gpg").display().to_string();
    home.gpg(&["--output", &file, "--export-secret-keys"], b"").unwrap();
    let binary = std::fs::read(&file).unwrap();
    let armoured = private(&home, &["--export-secret-keys"]);
    for ring in [binary.as_slice(), armoured.as_bytes()] {
        let open = |choice| SigningKey::openpgp(ring, choice, None, days(0)).map(drop);
        assert_eq!(open(Choice::Only), Err(SigningKeyError::Several));
        assert_eq!(open(Choice::Id("1234")), Err(SigningKeyError::KeyId("1234".to_owned())));
        let stranger = "00000000DEADBEEF";
        assert_eq!(open(Choice::Id(stranger)), Err(SigningKeyError::NoSuchKey(stranger.to_owned())));
        let first = SigningKey::openpgp(ring, Choice::First, None, days(0)).unwrap();
        assert!(signed(&home, &first).contains(&ids[0]));
        let id = format!("0x{}", ids[1].to_lowercase());
        let second = SigningKey::openpgp(ring, Choice::Id(&id), None, days(0)).unwrap();
        let signature = second.sign(PAYLOAD, Timestamp::now()).unwrap();
        let keys = GitKeys::from_secret(&secret(&[("a.asc", &home.public("ops@example.com").unwrap())]));
        keys.verify(Object::Commit, PAYLOAD, Some(signature.as_bytes()), Timestamp::now()).unwrap();
    }
}

#[rstest]
#[case("")]
#[case("junk")]
#[case("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\njunk\n-----END PGP PRIVATE KEY BLOCK-----\n")]
fn bytes_that_are_no_ring_are_refused(#[case] ring: &str) {
    let error = open(ring, None).unwrap_err();
    assert!(matches!(error, SigningKeyError::Unreadable(_) | SigningKeyError::Empty), "{error}");
}

fn ssh(key: &SshKey) -> Result<SigningKey, SigningKeyError> {
    SigningKey::ssh(PrivateKey::from_openssh(key.private().unwrap()).unwrap())
}

#[rstest]
#[case(&["-t", "ed25519"])]
#[case(&["-t", "ecdsa", "-b", "256"])]
#[case(&["-t", "ecdsa", "-b", "384"])]
#[case(&["-t", "ecdsa", "-b", "521"])]
#[case(&["-t", "rsa", "-b", "2048"])]
fn openssh_accepts_the_signature_of_its_key(#[case] arguments: &[&str]) {
    let key = SshKey::generate_with(&[arguments, &["-N", ""]].concat()).unwrap();
    let signature = ssh(&key).unwrap().sign(PAYLOAD, Timestamp::now()).unwrap();
    key.verify("git", PAYLOAD, &signature).unwrap();
    assert!(key.verify("git", b"another payload", &signature).is_err());
    let keys = GitKeys::from_secret(&secret(&[("a.sshpub", &key.public().unwrap())]));
    let name = keys.verify(Object::Commit, PAYLOAD, Some(signature.as_bytes()), Timestamp::now()).unwrap();
    assert_eq!(name, key.fingerprint().unwrap());
}

#[rstest]
#[case(&["-t", "rsa", "-b", "1024"], "RSA key size 1024 bits is below the minimum of 2048")]
#[case(&["-t", "dsa"], "unsupported SSH signing key algorithm: ssh-dss")]
fn keys_that_openssh_refuses_do_not_sign(#[case] arguments: &[&str], #[case] message: &str) {
    let key = SshKey::generate_with(&[arguments, &["-N", ""]].concat()).unwrap();
    assert_eq!(ssh(&key).unwrap_err().to_string(), message);
}
