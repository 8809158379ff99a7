//! A Git server that goes away in the middle: the remote is as it was or as it should be, and the next run mends it.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};
use weir_testkit::{Fault, FaultProxy, GitRepo, SshGitServer};

use crate::world::{DEADLINE, World};

/// Parts that a conversation is cut into.
const PARTS: u64 = 10;
/// A hook that runs when a reference has changed and before the pusher hears of it. While there is a pipe `answer`, it waits
/// until somebody writes to it.
const HOLD: &str = "#!/bin/sh\n[ \"$1\" != committed ] || [ ! -p answer ] || cat answer >/dev/null\n";

/// The result of a conversation that was cut.
#[derive(Debug, PartialEq, Eq)]
struct Cut {
    is_failed: bool,
    is_taken: bool,
}

/// The automation `app` of a repository behind a proxy.
struct Pushing {
    world: World,
    repo: GitRepo,
    proxy: FaultProxy,
    /// The tag that was selected last.
    tag: u64,
}

impl Pushing {
    /// Starts with a commit of the automation's own, after which its clone is warm.
    async fn start(world: World, repo: GitRepo, proxy: FaultProxy) -> Self {
        repo.commit("main", "first", &[("web.yaml", &world.manifest("old:1", "web"))]).unwrap();
        let mut pushing = Self { world, repo, proxy, tag: 0 };
        pushing.select().await;
        pushing.world.automation("app", json!({})).await;
        pushing.until_done().await;
        pushing
    }

    async fn select(&mut self) {
        self.tag += 1;
        self.world.select("web", "r/web", &self.tag.to_string()).await;
    }

    async fn until_done(&self) {
        self.world.until_seen("app", "web", &self.tag.to_string()).await;
        assert_eq!(self.written(), self.tag, "the selection is in the repository");
    }

    /// Returns the tag in the repository, whose history must be whole: one commit for each tag.
    fn written(&self) -> u64 {
        self.repo.git(&["fsck", "--strict", "--no-dangling"]).unwrap();
        // A push may arrive between two looks at the branch.
        let head = self.repo.head("main").unwrap();
        let text = self.repo.read(&head, "web.yaml").unwrap();
        let tag = (0..=self.tag)
            .find(|tag| text == self.world.manifest(&format!("r/web:{tag}"), "web"))
            .unwrap_or_else(|| panic!("neither old nor new: {text}"));
        assert_eq!(self.repo.log(&head).unwrap().len() as u64, tag + 1);
        tag
    }

    /// Returns the bytes of a whole conversation: references, objects, push.
    async fn measure(&mut self) -> u64 {
        self.proxy.set(Fault::None);
        self.select().await;
        self.until_done().await;
        self.proxy.passed()
    }

    /// Lets the server go away after so many bytes, and come back; says how the run has ended, and whether the server had
    /// taken the commit by then.
    async fn cut(&mut self, after: u64) -> Cut {
        let old = self.tag;
        self.proxy.set(Fault::AwayAfter(after));
        self.select().await;
        let new = self.tag.to_string();
        let is_seen = |status: &Value| status["observedPolicies"]["web"]["tag"] == new.as_str();
        let status = self.world.until("app", "the run to end", |s| is_seen(s) || is_failed(s)).await;
        let written = self.written();
        assert!(written == old || written == self.tag, "{written}");
        self.proxy.set(Fault::None);
        self.world.touch("app").await;
        self.until_done().await;
        Cut { is_failed: is_failed(&status), is_taken: written == self.tag }
    }

    /// Lets the server go away when it has taken a push and has not answered yet: the run fails, and the next one finds its
    /// own commit.
    async fn lose_the_answer(&mut self) {
        let (hook, pipe) =
            (self.repo.path().join("hooks/reference-transaction"), self.repo.path().join("answer"));
        std::fs::write(&hook, HOLD).unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        self.select().await;
        let taken = async || (self.written() == self.tag).then_some(());
        weir_testkit::eventually("the server takes the push", DEADLINE, taken).await.unwrap();
        self.proxy.set(Fault::Away);
        // Opening a pipe waits for the other side.
        let path = pipe.clone();
        let release = tokio::task::spawn_blocking(move || std::fs::write(path, "\n"));
        tokio::time::timeout(DEADLINE, release).await.unwrap().unwrap().unwrap();
        std::fs::remove_file(&pipe).unwrap();
        self.world.until("app", "the run to fail", is_failed).await;
        self.proxy.set(Fault::None);
        self.world.touch("app").await;
        self.until_done().await;
    }

    async fn cut_everywhere(mut self) {
        let whole = self.measure().await;
        for part in 1..PARTS {
            let cut = self.cut(whole * part / PARTS).await;
            assert_eq!(cut, Cut { is_failed: true, is_taken: false }, "part {part} of {whole} bytes");
        }
        self.lose_the_answer().await;
    }
}

fn is_failed(status: &Value) -> bool {
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "False")
}

#[tokio::test]
async fn a_push_over_http_that_is_cut_at_every_tenth_leaves_the_old_commit_or_the_new_one() {
    let world = World::start().await;
    let repo = world.git.repo("app").unwrap();
    let url = world.git.url("app");
    let proxy = FaultProxy::tcp(url.split('/').nth(2).unwrap()).await.unwrap();
    world.repository_at("app", &proxy.url(&url), json!({})).await;
    Pushing::start(world, repo, proxy).await.cut_everywhere().await;
}

#[tokio::test]
async fn a_push_over_ssh_that_is_cut_at_every_tenth_leaves_the_old_commit_or_the_new_one() {
    let (world, ssh) = (World::start().await, SshGitServer::start().await.unwrap());
    let (repo, url) = (ssh.repo("app").unwrap(), ssh.url("app"));
    let address = url.split(['@', '/']).nth(3).unwrap();
    let proxy = FaultProxy::tcp(address).await.unwrap();
    let port = |address: &str| address.rsplit(':').next().unwrap().to_owned();
    let known_hosts = ssh.known_hosts().replace(&port(address), &port(&proxy.address()));
    let data = json!({"identity": ssh.identity(), "known_hosts": known_hosts});
    world.secret("app", data).await;
    world.repository_at("app", &proxy.url(&url), json!({"secretRef": {"name": "app"}})).await;
    Pushing::start(world, repo, proxy).await.cut_everywhere().await;
}
