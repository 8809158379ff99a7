//! The system's certificate authorities, looked for in the places of Go's programs: an authority that was added for Flux's services,
//! by a volume or a variable, counts here too (SRC-TLS-1).

use std::ffi::OsString;
use std::path::PathBuf;

use rustls::pki_types::CertificateDer;
use rustls_native_certs::{load_certs_from_paths, load_native_certs};

/// Variable with the path of a bundle, in place of [`BUNDLES`].
const BUNDLE: &str = "SSL_CERT_FILE";
/// Variable with folders, in place of [`FOLDERS`].
const FOLDER: &str = "SSL_CERT_DIR";

/// Bundles of distributions. The first one that is there counts.
const BUNDLES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// Folders of distributions. All files in them count, beside the bundle.
const FOLDERS: [&str; 2] = ["/etc/ssl/certs", "/etc/pki/tls/certs"];

/// Reads the certificates of the system's authorities.
pub(crate) fn authorities() -> Vec<CertificateDer<'static>> {
    if cfg!(target_os = "linux") {
        Places::of(|name| std::env::var_os(name)).read()
    } else {
        // There the system has a store of its own.
        load_native_certs().certs
    }
}

/// The places of a system's authorities.
#[derive(Debug)]
struct Places {
    bundle: Option<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Places {
    /// Returns the places under these variables: each one replaces its own half and leaves the other as it is.
    fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let given = |name| variable(name).filter(|value| !value.is_empty());
        let usual = || BUNDLES.iter().map(PathBuf::from).find(|bundle| bundle.exists());
        Self {
            bundle: given(BUNDLE).map(PathBuf::from).or_else(usual),
            folders: match given(FOLDER) {
                Some(folders) => std::env::split_paths(&folders).collect(),
                None => FOLDERS.map(PathBuf::from).to_vec(),
            },
        }
    }

    /// Reads what is readable of them.
    fn read(&self) -> Vec<CertificateDer<'static>> {
        let read = |bundle, folder| load_certs_from_paths(bundle, folder).certs;
        let mut folders = self.folders.iter().map(PathBuf::as_path);
        // Together, so that a bundle in its usual folder is read once.
        let mut all = read(self.bundle.as_deref(), folders.next());
        all.extend(folders.flat_map(|folder| read(None, Some(folder))));
        all.sort_unstable_by(|one, other| one.as_ref().cmp(other.as_ref()));
        all.dedup();
        all
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use weir_testkit::{Folder, Identity};

    use super::*;

    /// Go reads the folders beside the file that `SSL_CERT_FILE` names, and the bundle beside those of `SSL_CERT_DIR`.
    #[rstest]
    #[case(None, None, None, &FOLDERS)]
    #[case(Some("/ca.pem"), None, Some("/ca.pem"), &FOLDERS)]
    #[case(Some(""), Some(""), None, &FOLDERS)]
    #[case(None, Some("/a:/b"), None, &["/a", "/b"])]
    #[case(Some("/ca.pem"), Some("/a"), Some("/ca.pem"), &["/a"])]
    fn a_variable_replaces_its_own_half(
        #[case] file: Option<&str>,
        #[case] folder: Option<&str>,
        #[case] bundle: Option<&str>,
        #[case] folders: &[&str],
    ) {
        let places = Places::of(|name| if name == BUNDLE { file } else { folder }.map(OsString::from));
        let of_system = BUNDLES.iter().map(PathBuf::from).find(|bundle| bundle.exists());
        assert_eq!(places.bundle, bundle.map(PathBuf::from).or(of_system));
        assert_eq!(places.folders, folders.iter().map(PathBuf::from).collect::<Vec<_>>());
    }

    /// The usual way to add an authority: a file more in the folder of the bundle.
    #[test]
    fn each_authority_of_a_folder_is_read_once() {
        let authority = || Identity::for_names(&[]).unwrap().ca_pem;
        let (public, own) = (authority(), authority());
        let folder = Folder::new("authorities").unwrap();
        let bundle = folder.write("ca-certificates.crt", &public).unwrap();
        folder.write("own.crt", &own).unwrap();
        folder.write("README", "no certificate").unwrap();
        let folders = vec![folder.path().to_owned(), PathBuf::from("/does/not/exist")];
        assert_eq!(Places { bundle: Some(bundle), folders }.read().len(), 2);
    }
}
