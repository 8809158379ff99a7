#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! Tests of weir-git against `git http-backend`, `sshd` and dulwich.

extern crate weir_replay as libfuzzer_sys;

mod discretion;
mod dulwich;
mod faults;
mod fetching;
mod fuzz;
mod large;
mod partial;
mod pushing;
mod refusals;
mod signed;
mod ssh;
mod ssh_agent;
mod ssh_keys;
mod store;
mod submodules;

use weir_git::{Checkout, Error, Fetched, Git, GitConfig, Reference, Remote};

fn git() -> Git {
    Git::new(GitConfig::default()).unwrap()
}

fn remote(url: &str) -> Remote {
    Remote::new(url.parse().unwrap())
}

fn branch(name: &str) -> Reference {
    Reference::Branch(name.into())
}

/// Fetches what is known to be there.
async fn fetched(remote: &Remote, reference: &Reference) -> Checkout {
    match git().fetch(remote, reference, None).await.unwrap() {
        Fetched::New(checkout) => checkout,
        Fetched::Unchanged { .. } => panic!("nothing was known"),
    }
}

async fn failure(remote: &Remote, reference: &Reference) -> Error {
    match git().fetch(remote, reference, None).await {
        Err(error) => error,
        Ok(_) => panic!("{reference:?} was fetched"),
    }
}

/// Paths of a checkout's files with their content; blocks.
fn files(checkout: &Checkout) -> Vec<(String, String)> {
    let files = checkout.files(checkout.commit().id, "").unwrap();
    files
        .into_iter()
        .map(|file| (file.path, String::from_utf8(checkout.read(file.id).unwrap()).unwrap()))
        .collect()
}
