//! Git for sources and for automation: resolve a reference, fetch it shallow, read its tree without a checkout, commit,
//! and push by compare-and-swap.
//!
//! libgit2 does the object work; where SHA-256 names the objects, gitoxide reads them (docs/adr/0009). Everything
//! that touches the network is ours (DEP-GIT-2): two transports, HTTP(S) over reqwest and SSH over russh, that know
//! one operation's credentials, certificate authority, proxy, deadline and cancellation; and the conversation over
//! them to list and to download. No configuration of the machine is read, no child process is started, no file of a
//! commit is written to disk.
//!
//! ```text
//! let git = Git::new(GitConfig::default())?;
//! let remote = Remote::new(url);
//! match git.fetch(&remote, &Reference::Branch("main".into()), None).await? {
//!     Fetched::New(checkout) => println!("{}: {}", checkout.revision(), checkout.commit().summary),
//!     Fetched::Unchanged { revision } => println!("still at {revision}"),
//! }
//! ```

mod checkout;
mod client;
mod commit;
mod conversation;
mod credentials;
mod error;
mod fetch;
mod host_keys;
mod known_hosts;
mod new_identity;
mod objects;
mod operation;
mod pack;
mod part;
mod partial;
mod push;
mod reference;
mod remote;
mod signed;
mod ssh_algorithms;
mod ssh_key;
mod store;
mod submodule;
mod transport;

pub use gix_hash::ObjectId;
pub use weir_http::{Profile, Proxy};

pub use self::checkout::{Checkout, CommitInfo, GitFile, Reader, TreeKind, TreeNode};
pub use self::client::{Git, GitConfig, STEPS};
pub use self::commit::{Author, CommitRequest, Signer};
pub use self::conversation::{Advertisement, Answer, ConversationError};
pub use self::credentials::{AuthOptionError, Credentials, SshAgent, SshAuth};
pub use self::error::{Error, SshError, without_password};
pub use self::fetch::Fetched;
pub use self::host_keys::scan_host_keys;
pub use self::known_hosts::{HostVerdict, KnownHosts, KnownHostsError};
pub use self::new_identity::{Identity, KeyKind};
pub use self::objects::BlobContent;
pub use self::part::Part;
pub use self::push::{Lease, PushRequest};
pub use self::reference::{Reference, RemoteRef};
pub use self::remote::{Allowance, Remote};
pub use self::signed::{Signed, TagObject};
pub use self::ssh_algorithms::{AlgorithmsError, SshAlgorithms};
pub use self::ssh_key::{IdentityError, identity_is_encrypted, parse_identity};
pub use self::store::{Store, Stores};
pub use self::submodule::{Module, ModulesError, PlaceError, Submodule, parse_modules, parse_url};
pub use self::transport::ask_proxy;
