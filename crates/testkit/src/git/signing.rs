//! Keys with which tests sign commits and tags: real `gpg` and `ssh-keygen`, each in a folder of its own.

use super::GitRepo;
use crate::command::run;
use crate::{Error, Folder};

/// A key pair of SSH.
#[derive(Debug)]
pub struct SshKey {
    folder: Folder,
}

/// A home of GnuPG with nobody's configuration.
#[derive(Debug)]
pub struct GpgHome {
    folder: Folder,
}

/// The settings with which `git` signs.
#[derive(Debug, Clone)]
pub struct GitSigner {
    settings: Vec<String>,
}

impl SshKey {
    /// Makes a key of a type that `ssh-keygen -t` knows.
    ///
    /// # Errors
    /// When `ssh-keygen` is missing or does not know the type.
    pub fn generate(kind: &str) -> Result<Self, Error> {
        Self::generate_with(&["-t", kind, "-N", ""])
    }

    /// Makes a key with these arguments of `ssh-keygen`; a passphrase is among them.
    ///
    /// # Errors
    /// When `ssh-keygen` is missing or refuses them.
    pub fn generate_with(arguments: &[&str]) -> Result<Self, Error> {
        let folder = Folder::new("sshkey")?;
        let path = folder.join("key").display().to_string();
        let mut all = vec!["-q", "-C", "dev@example.com", "-f", &path];
        all.extend(arguments);
        run("ssh-keygen", &all, b"")?;
        let key = Self { folder };
        key.folder.write("allowed", format!("* {}", key.public()?))?;
        Ok(key)
    }

    /// The private key as `ssh-keygen` wrote it.
    ///
    /// # Errors
    /// When the file is gone.
    pub fn private(&self) -> Result<String, Error> {
        let path = self.folder.join("key");
        std::fs::read_to_string(&path).map_err(Error::file(&path))
    }

    /// The public key as a line of `authorized_keys`.
    ///
    /// # Errors
    /// When the file is gone.
    pub fn public(&self) -> Result<String, Error> {
        let path = self.folder.join("key.pub");
        std::fs::read_to_string(&path).map_err(Error::file(&path))
    }

    /// The fingerprint, `SHA256:…`.
    ///
    /// # Errors
    /// When `ssh-keygen` fails.
    pub fn fingerprint(&self) -> Result<String, Error> {
        let path = self.folder.join("key.pub").display().to_string();
        let line = run("ssh-keygen", &["-l", "-f", &path], b"")?;
        Ok(line.split(' ').nth(1).unwrap_or_default().to_owned())
    }

    /// An armoured signature over bytes for a purpose; Git's is `git`. More arguments may be given.
    ///
    /// # Errors
    /// When `ssh-keygen` fails.
    pub fn sign(&self, namespace: &str, payload: &[u8], arguments: &[&str]) -> Result<String, Error> {
        let path = self.folder.join("key").display().to_string();
        let mut all = vec!["-q", "-Y", "sign", "-n", namespace, "-f", &path];
        all.extend(arguments);
        run("ssh-keygen", &all, payload)
    }

    /// Lets `ssh-keygen` check a signature over bytes for a purpose.
    ///
    /// # Errors
    /// When it is not one of this key.
    pub fn verify(&self, namespace: &str, payload: &[u8], signature: &str) -> Result<(), Error> {
        let signature = self.folder.write("signature", signature)?.display().to_string();
        let allowed = self.folder.join("allowed").display().to_string();
        let arguments =
            ["-Y", "verify", "-f", &allowed, "-I", "dev@example.com", "-n", namespace, "-s", &signature];
        run("ssh-keygen", &arguments, payload).map(drop)
    }

    /// Signs what `git` makes, and is the one signer that `git` trusts.
    #[must_use]
    pub fn signer(&self) -> GitSigner {
        let path = |name: &str| self.folder.join(name).display().to_string();
        let settings = vec![
            "gpg.format=ssh".into(),
            format!("user.signingkey={}", path("key")),
            format!("gpg.ssh.allowedSignersFile={}", path("allowed")),
        ];
        GitSigner { settings }
    }
}

impl GpgHome {
    /// Makes an empty home.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn create() -> Result<Self, Error> {
        let folder = Folder::new("gpg")?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let private = std::fs::Permissions::from_mode(0o700);
            std::fs::set_permissions(folder.path(), private).map_err(Error::file(folder.path()))?;
        }
        // Few rounds: a passphrase takes many seconds to check where nothing is optimised.
        folder.write("gpg-agent.conf", "s2k-count 65536\n")?;
        let program = format!(
            "#!/bin/sh\nexec gpg --homedir '{}' --batch --pinentry-mode loopback --passphrase '' \"$@\"\n",
            folder.path().display()
        );
        // Another program writes it: a child that a test starts meanwhile would inherit the open file, and keep it from being run.
        let draft = folder.write("gpg.draft", program)?.display().to_string();
        run("install", &["-m", "700", &draft, &folder.join("gpg.sh").display().to_string()], b"")?;
        Ok(Self { folder })
    }

    /// Makes a key for a user and returns its fingerprint. `expires` is as `gpg --quick-gen-key` has it, `0` for never.
    ///
    /// # Errors
    /// When `gpg` is missing or refuses.
    pub fn generate(&self, user: &str, algorithm: &str, expires: &str) -> Result<String, Error> {
        self.gpg(&["--quick-gen-key", user, algorithm, "sign", expires], b"")?;
        let listing = self.gpg(&["--list-keys", "--with-colons", user], b"")?;
        let line = listing.lines().find(|line| line.starts_with("fpr:")).unwrap_or_default();
        Ok(line.trim_end_matches(':').rsplit(':').next().unwrap_or_default().to_owned())
    }

    /// The public key of a user, armoured.
    ///
    /// # Errors
    /// When there is none.
    pub fn public(&self, user: &str) -> Result<String, Error> {
        self.gpg(&["--armor", "--export", user], b"")
    }

    /// A detached armoured signature over bytes. More arguments may be given.
    ///
    /// # Errors
    /// When `gpg` refuses.
    pub fn sign(&self, user: &str, payload: &[u8], arguments: &[&str]) -> Result<String, Error> {
        let mut all = vec!["--armor", "-u", user];
        all.extend(arguments);
        all.push("--detach-sign");
        self.gpg(&all, payload)
    }

    /// Takes a key back, with the certificate that `gpg` made beside it.
    ///
    /// # Errors
    /// When there is none.
    pub fn revoke(&self, fingerprint: &str) -> Result<(), Error> {
        let path = self.folder.join("openpgp-revocs.d").join(format!("{fingerprint}.rev"));
        let text = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
        self.gpg(&["--import"], text.replace(":-----", "-----").as_bytes()).map(drop)
    }

    /// Signs what `git` makes.
    #[must_use]
    pub fn signer(&self, user: &str) -> GitSigner {
        let program = self.folder.join("gpg.sh").display().to_string();
        GitSigner { settings: vec![format!("gpg.program={program}"), format!("user.signingkey={user}")] }
    }

    /// Runs `gpg` in this home and returns what it printed.
    ///
    /// # Errors
    /// [`Error::Command`] with its standard error when it fails.
    pub fn gpg(&self, arguments: &[&str], input: &[u8]) -> Result<String, Error> {
        run(&self.folder.join("gpg.sh").display().to_string(), arguments, input)
    }
}

impl Drop for GpgHome {
    fn drop(&mut self) {
        // The agent that gpg started would look for its folder for a minute.
        let home = self.folder.path().display().to_string();
        let _ = run("gpgconf", &["--homedir", &home, "--kill", "all"], b"");
    }
}

impl GitRepo {
    /// Replaces the newest commit of a branch by the same commit signed, and returns its id.
    ///
    /// # Errors
    /// When `git` refuses.
    pub fn sign_commit(&self, branch: &str, signer: &GitSigner) -> Result<String, Error> {
        let tree = format!("{branch}^{{tree}}");
        let message = self.git(&["log", "-1", "--format=%B", branch])?;
        let parent = self.head(&format!("{branch}^")).ok();
        let mut arguments = signer.arguments();
        arguments.extend(["commit-tree", "-S", "-m", message.trim_end()]);
        if let Some(parent) = &parent {
            arguments.extend(["-p", parent]);
        }
        arguments.push(&tree);
        let id = self.git(&arguments)?.trim().to_owned();
        self.set_branch(branch, &id)?;
        Ok(id)
    }

    /// Lets `git` check the signature of a commit with the key of a signer.
    ///
    /// # Errors
    /// [`Error::Command`] with its words when the commit is not signed, or by somebody else.
    pub fn verify_commit(&self, revision: &str, signer: &GitSigner) -> Result<(), Error> {
        let mut arguments = signer.arguments();
        arguments.extend(["verify-commit", revision]);
        self.git(&arguments).map(drop)
    }

    /// Makes or moves a signed tag and returns the id of the tag object.
    ///
    /// # Errors
    /// When `git` refuses.
    pub fn signed_tag(&self, name: &str, revision: &str, signer: &GitSigner) -> Result<String, Error> {
        let mut arguments = signer.arguments();
        arguments.extend(["tag", "-f", "-s", "-m", name, name, revision]);
        self.git(&arguments)?;
        Ok(self.git(&["rev-parse", name])?.trim().to_owned())
    }
}

impl GitSigner {
    fn arguments(&self) -> Vec<&str> {
        self.settings.iter().flat_map(|setting| ["-c", setting]).collect()
    }
}
