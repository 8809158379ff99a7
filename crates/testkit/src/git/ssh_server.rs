use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::GitRepo;
use crate::command::run;
use crate::{Error, Folder, Process, free_port};

/// Path at which distributions put it; it insists on being started by its absolute path.
const SSHD: &str = "/usr/sbin/sshd";

/// Folder that sshd needs when root runs it; the package's init script makes it, a container has none.
const PRIVILEGE_SEPARATION_FOLDER: &str = "/run/sshd";

/// File of the keys that are let in.
const LET_IN: &str = "identity.pub";

/// Default kind of keys.
const KIND: &str = "ed25519";

/// sshd listens at once; the rest is for a busy machine.
const READY_DEADLINE: Duration = Duration::from_secs(30);

/// `sshd` on loopback with a host key of its own; it runs as, and lets in, the current user with one key.
#[derive(Debug)]
pub struct SshGitServer {
    _process: Process,
    port: u16,
    user: String,
    keys: Keys,
    folder: Folder,
}

/// A host that has a certificate of its key.
#[derive(Debug, Clone, Copy)]
pub struct SshCertificate<'a> {
    /// Arguments of `ssh-keygen -t` for the host's key, such as `ecdsa` or `rsa -b 3072`.
    pub host: &'a str,
    /// The same for the authority's key.
    pub authority: &'a str,
    /// Arguments of `ssh-keygen -s` for the content of the certificate, such as `-h -n 127.0.0.1`.
    pub says: &'a str,
}

#[derive(Debug)]
struct Keys {
    identity: String,
    identity_pub: String,
    host_pub: String,
    other_host_pub: String,
    authority_pub: String,
}

impl SshGitServer {
    /// Starts the server.
    ///
    /// # Errors
    /// [`Error::ProgramMissing`] when OpenSSH's server or `ssh-keygen` is not installed.
    pub async fn start() -> Result<Self, Error> {
        Self::start_as(None, &[]).await
    }

    /// Starts a server whose configuration has further lines, such as `KexAlgorithms ecdh-sha2-nistp256`.
    ///
    /// # Errors
    /// As [`SshGitServer::start`].
    pub async fn start_configured(lines: &[&str]) -> Result<Self, Error> {
        Self::start_as(None, lines).await
    }

    /// Starts a server that proves itself with a certificate.
    ///
    /// # Errors
    /// As [`SshGitServer::start`].
    pub async fn start_certified(certificate: SshCertificate<'_>) -> Result<Self, Error> {
        Self::start_as(Some(certificate), &[]).await
    }

    async fn start_as(certificate: Option<SshCertificate<'_>>, lines: &[&str]) -> Result<Self, Error> {
        if !Path::new(SSHD).exists() {
            let hint = "apt-get install openssh-server (it need not be running)";
            return Err(Error::ProgramMissing { program: SSHD.into(), hint });
        }
        let folder = Folder::new("sshd")?;
        let keys = Keys::make(&folder, certificate)?;
        let port = free_port()?;
        let config = config(&folder, port, certificate.is_some()) + &lines.join("\n") + "\n";
        let config = folder.write("sshd_config", config)?;
        let user = run("id", &["-un"], b"")?.trim().to_owned();
        if user == "root" {
            let path = PRIVILEGE_SEPARATION_FOLDER;
            std::fs::create_dir_all(path).map_err(Error::file(path))?;
        }
        let mut command = Command::new(SSHD);
        command.args(["-D", "-e", "-f"]).arg(config);
        let mut process = Process::start("sshd", &mut command, &folder.join("sshd.log"))?;
        process.listens(port, READY_DEADLINE).await?;
        Ok(Self { _process: process, port, user, keys, folder })
    }

    /// Makes a repository.
    ///
    /// # Errors
    /// When `git` is missing or the folder cannot be written.
    pub fn repo(&self, name: &str) -> Result<GitRepo, Error> {
        GitRepo::create(&self.repo_path(name))
    }

    /// The `ssh://` URL of a repository.
    #[must_use]
    pub fn url(&self, name: &str) -> String {
        format!("ssh://{}@127.0.0.1:{}{}", self.user, self.port, self.repo_path(name).display())
    }

    /// The private key that is let in.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.keys.identity
    }

    /// The public key that is let in.
    #[must_use]
    pub fn identity_pub(&self) -> &str {
        &self.keys.identity_pub
    }

    /// The right `known_hosts` line.
    #[must_use]
    pub fn known_hosts(&self) -> String {
        self.known_host(&self.keys.host_pub)
    }

    /// A `known_hosts` line with another host's key.
    #[must_use]
    pub fn other_known_hosts(&self) -> String {
        self.known_host(&self.keys.other_host_pub)
    }

    /// The `known_hosts` line that believes the authority of the host's certificate.
    #[must_use]
    pub fn known_authority(&self) -> String {
        format!("@cert-authority {}", self.known_host(&self.keys.authority_pub))
    }

    /// Lets in one more key.
    ///
    /// # Errors
    /// When the file of keys cannot be written.
    pub fn let_in(&self, public_key: &str) -> Result<(), Error> {
        self.folder.write(LET_IN, format!("{}\n{public_key}\n", self.keys.identity_pub.trim())).map(drop)
    }

    fn known_host(&self, key: &str) -> String {
        let key: Vec<&str> = key.split_whitespace().take(2).collect();
        format!("[127.0.0.1]:{} {}\n", self.port, key.join(" "))
    }

    fn repo_path(&self, name: &str) -> PathBuf {
        self.folder.join("repositories").join(format!("{name}.git"))
    }
}

impl Keys {
    fn make(folder: &Folder, certificate: Option<SshCertificate<'_>>) -> Result<Self, Error> {
        let (host, authority) = certificate.map_or((KIND, KIND), |asked| (asked.host, asked.authority));
        let kinds = [("host", host), ("authority", authority), ("other_host", KIND), ("identity", KIND)];
        let path = |name: &str| folder.join(name).display().to_string();
        for (name, kind) in kinds {
            let kind: Vec<&str> = kind.split(' ').collect();
            let file = path(name);
            run(
                "ssh-keygen",
                &[&["-q", "-N", "", "-C", "weir-test", "-f", &file, "-t"], &kind[..]].concat(),
                b"",
            )?;
        }
        if let Some(SshCertificate { says, .. }) = certificate {
            let (authority, host) = (path("authority"), path("host.pub"));
            let says: Vec<&str> = says.split(' ').collect();
            run(
                "ssh-keygen",
                &[&["-q", "-s", &authority, "-I", "weir-test"], &says[..], &[&host]].concat(),
                b"",
            )?;
        }
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).map_err(Error::file(path))
        };
        Ok(Self {
            identity: read("identity")?,
            identity_pub: read("identity.pub")?,
            host_pub: read("host.pub")?,
            authority_pub: read("authority.pub")?,
            other_host_pub: read("other_host.pub")?,
        })
    }
}

fn config(folder: &Folder, port: u16, is_certified: bool) -> String {
    let path = |name: &str| folder.join(name).display().to_string();
    let certificate = path("host-cert.pub");
    [
        format!("Port {port}"),
        "ListenAddress 127.0.0.1".into(),
        format!("HostKey {}", path("host")),
        if is_certified { format!("HostCertificate {certificate}") } else { String::new() },
        format!("AuthorizedKeysFile {}", path(LET_IN)),
        "PidFile none".into(),
        "UsePAM no".into(),
        "StrictModes no".into(), // temporary folders are writable by others
        "PasswordAuthentication no".into(),
        "KbdInteractiveAuthentication no".into(),
        "PermitRootLogin prohibit-password".into(),
        "MaxStartups 100".into(),
        "LogLevel VERBOSE".into(),
        String::new(),
    ]
    .join("\n")
}
