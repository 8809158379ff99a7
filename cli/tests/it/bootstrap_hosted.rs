//! `weir bootstrap github|gitlab|gitea|bitbucket-server` against stand-ins of their APIs (CLI-BST02, CLI-BST05).

use std::time::Duration;

use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use weir_testkit::{ControlPlane, FaultProxy, Folder, Identity, SshGitServer, TlsFront};

use crate::bootstrap::{Home, PATH, shown};
use crate::nodes::with_nodes;
use crate::vendor::StandIn;
use crate::weir::Weir;

/// Time for one step of a bootstrap.
const PATIENCE: Duration = Duration::from_secs(60);

/// Each vendor: its word, the variable with the token, the flag for teams, and the path of the repository in Git.
const VENDORS: [(&str, &str, &str, &str); 4] = [
    ("github", "GITHUB_TOKEN", "--team dev,ops:push", "org/fleet"),
    ("gitlab", "GITLAB_TOKEN", "--team dev,ops:push", "org/fleet"),
    ("gitea", "GITEA_TOKEN", "--team dev,forbidden", "org/fleet"),
    ("bitbucket-server", "BITBUCKET_TOKEN", "--group dev,r&d:pull", "scm/ORG/fleet"),
];

/// Replaces what differs from run to run.
fn masked(text: &str, host: &str) -> String {
    let keys = regex::Regex::new("ecdsa-sha2-nistp384 [A-Za-z0-9+/=]+").unwrap();
    keys.replace_all(&shown(text, host).replace(host, "[host]"), "[key]").into_owned()
}

/// With a token, from the API to the Kustomization that is reconciled; a second run makes nothing.
#[tokio::test]
async fn repositories_are_made_and_applied_with_a_token() {
    let home = Home::start().await;
    let mut all = String::new();
    for (word, variable, teams, path) in VENDORS {
        let stand_in = StandIn::start().await;
        stand_in.git().repo(path).unwrap();
        let host = stand_in.host();
        home.folder.write("ca.crt", stand_in.ca()).unwrap();
        let weir = home.weir().with_env(variable, "secret");
        let line = format!(
            "bootstrap {word} --hostname {host} --owner org --repository fleet {teams} --token-auth --ca-file ca.crt {PATH}"
        );
        for _ in 0..2 {
            let transcript = with_nodes(&home.plane, weir.transcript(&[&line])).await;
            all.push_str(&masked(&format!("{transcript}{}\n\n", stand_in.requests()), &host));
        }
    }
    insta::assert_snapshot!(all);
}

/// A run of the Kustomization that follows another repository may be under way, and put the old address back.
#[tokio::test]
async fn a_cluster_moves_to_another_repository_whoever_is_at_it_still() {
    let home = Home::start().await;
    let weir = home.weir().with_env("GITHUB_TOKEN", "secret");
    let stand_ins = [StandIn::start().await, StandIn::start().await];
    let bootstrap = async |stand_in: &StandIn| {
        stand_in.git().repo("org/fleet").unwrap();
        home.folder.write("ca.crt", stand_in.ca()).unwrap();
        let host = stand_in.host();
        let line = format!(
            "bootstrap github --hostname {host} --owner org --repository fleet --token-auth --ca-file ca.crt {PATH}"
        );
        let transcript = with_nodes(&home.plane, weir.transcript(&[&line])).await;
        assert!(
            transcript.contains("all components are healthy") && !transcript.contains("exit status"),
            "{transcript}"
        );
    };
    bootstrap(&stand_ins[0]).await;
    let sources =
        home.plane.api("source.toolkit.fluxcd.io/v1", "GitRepository", "flux-system").await.unwrap();
    let [old, new] = stand_ins.each_ref().map(|it| format!("https://{}/org/fleet.git", it.host()));
    let put_back = async {
        let is_moved =
            |found: Option<&DynamicObject>| found.is_some_and(|found| found.data["spec"]["url"] == new);
        weir_testkit::wait_for(&sources, "flux-system", "it is moved", PATIENCE, is_moved).await.unwrap();
        let address = Patch::Merge(json!({"spec": {"url": old}}));
        sources.patch("flux-system", &PatchParams::default(), &address).await.unwrap();
    };
    tokio::join!(bootstrap(&stand_ins[1]), put_back);
    assert_eq!(sources.get("flux-system").await.unwrap().data["spec"]["url"], new);
}

/// With a key: it is given access by the API, and by the next run again only if the Secret is gone.
#[tokio::test]
async fn keys_get_access_by_the_api() {
    let home = Home::start().await;
    let ssh = SshGitServer::start().await.unwrap();
    let ssh_host = ssh.url("x").split('@').nth(1).unwrap().split('/').next().unwrap().to_owned();
    let mut all = String::new();
    for (word, variable, _, path) in VENDORS {
        let stand_in = StandIn::start().await;
        stand_in.git().repo(path).unwrap();
        let host = stand_in.host();
        home.folder.write("ca.crt", stand_in.ca()).unwrap();
        home.forget_secret().await;
        let line = format!(
            "bootstrap {word} --hostname {host} --owner org --repository fleet --ssh-hostname {ssh_host} --private=false \
             --ca-file ca.crt {PATH}"
        );
        let lines = until_applied(&home.weir().with_env(variable, "secret"), &line).await;
        all.push_str(&masked(&format!("{lines}\n{}\n\n", stand_in.requests()), &host));
    }
    insta::assert_snapshot!(all.replace(&ssh_host, "[ssh]"));
}

/// A fleet has more keys than fit on a page; that of this cluster is on the last one, and may push, which was not asked for.
#[tokio::test]
async fn keys_are_found_behind_the_first_page() {
    let home = Home::start().await;
    let ssh = SshGitServer::start().await.unwrap();
    let ssh_host = ssh.url("x").split('@').nth(1).unwrap().split('/').next().unwrap().to_owned();
    let title = "flux-system-main-flux-system-./clusters/test";
    for (word, variable, _, path) in VENDORS {
        let stand_in = StandIn::start().await;
        stand_in.git().repo(path).unwrap();
        let entry = |id: usize| {
            let name = if id == 119 { title.to_owned() } else { format!("other-{id}") };
            json!({
                "id": id, "title": name, "key": "ssh-ed25519 A", "read_only": false, "can_push": true,
                "key_": { "id": id, "label": name, "text": "ssh-ed25519 A" }, "permission": "REPO_WRITE",
            })
        };
        let mut keys: Vec<_> = (0..120).map(entry).collect();
        if word == "bitbucket-server" {
            keys.iter_mut().for_each(|key| key["key"] = key["key_"].clone());
        }
        stand_in.fill(&keys);
        home.folder.write("ca.crt", stand_in.ca()).unwrap();
        home.forget_secret().await;
        let line = format!(
            "bootstrap {word} --hostname {} --owner org --repository fleet --ssh-hostname {ssh_host} --ca-file ca.crt {PATH}",
            stand_in.host()
        );
        until_applied(&home.weir().with_env(variable, "secret"), &line).await;
        let requests = stand_in.requests();
        let deleted: Vec<_> = requests.lines().filter(|line| line.starts_with("DELETE ")).collect();
        assert_eq!(deleted.len(), 1, "{requests}");
        assert!(deleted[0].contains("/119 ["), "{requests}");
    }
}

#[tokio::test]
async fn gitlab_makes_deploy_tokens_again_when_they_are_revoked() {
    let home = Home::start().await;
    let stand_in = StandIn::start().await;
    stand_in.git().repo("org/fleet").unwrap();
    let name = "flux-system-main-flux-system-./clusters/test";
    let old = |state: &str| json!({ "name": name, state: true });
    stand_in.fill(&[old("revoked"), old("expired")]);
    let host = stand_in.host();
    home.folder.write("ca.crt", stand_in.ca()).unwrap();
    let line = format!(
        "bootstrap gitlab --hostname {host} --owner org --repository fleet --deploy-token-auth --ca-file ca.crt {PATH}"
    );
    let transcript =
        with_nodes(&home.plane, home.weir().with_env("GITLAB_TOKEN", "secret").transcript(&[&line])).await;
    assert!(transcript.contains(&format!("configured deploy token \"{name}\"")), "{transcript}");
}

#[tokio::test]
async fn gitlab_makes_deploy_tokens() {
    let home = Home::start().await;
    let stand_in = StandIn::start().await;
    stand_in.git().repo("org/fleet").unwrap();
    let host = stand_in.host();
    home.folder.write("ca.crt", stand_in.ca()).unwrap();
    let line = format!(
        "bootstrap gitlab --hostname {host} --owner org --repository fleet --deploy-token-auth --personal --ca-file ca.crt {PATH}"
    );
    let weir = home.weir().with_env("GITLAB_TOKEN", "secret");
    let transcript = with_nodes(&home.plane, weir.transcript(&[&line, &line])).await;
    insta::assert_snapshot!(masked(&format!("{transcript}{}", stand_in.requests()), &host));
    let secret = home.secret().await.data.unwrap();
    assert_eq!(secret["username"].0, b"gitlab+deploy-token-1");
    assert_eq!(secret["password"].0, b"deploy");
}

#[tokio::test]
async fn a_key_that_cannot_be_read_is_refused_before_anything_is_made() {
    let (plane, stand_in) = (ControlPlane::start().await.unwrap(), StandIn::start().await);
    let folder = Folder::new("hosted-key").unwrap();
    folder.write("ca.crt", stand_in.ca()).unwrap();
    folder.write("key", "nothing").unwrap();
    let weir = Weir::default().with_kubeconfig(plane.kubeconfig_path()).in_folder(folder.path());
    let host = stand_in.host();
    for (file, reason) in [
        ("none", "failed to open private key file: open none: no such file or directory"),
        ("key", "ssh: no key found"),
    ] {
        let key = format!("--ca-file ca.crt --private-key-file {file}");
        let lines = [
            format!("bootstrap gitlab --hostname {host} --owner org --repository fleet {key}"),
            format!("bootstrap git --url https://{host}/org/fleet.git -p pass {key}"),
        ];
        let lines = lines.each_ref().map(String::as_str);
        let transcript = weir.clone().with_env("GITLAB_TOKEN", "secret").transcript(&lines).await;
        assert_eq!(transcript.matches("2>").count(), lines.len(), "{transcript}");
        assert_eq!(transcript.matches(&format!("2> ✗ {reason}\n")).count(), lines.len(), "{transcript}");
    }
    assert_eq!(stand_in.requests(), "");
}

#[tokio::test]
async fn what_vendors_do_not_take_is_refused() {
    let folder = Folder::new("hosted").unwrap();
    let weir = Weir::default().in_folder(folder.path());
    let weir = ["GITHUB_TOKEN", "GITLAB_TOKEN", "BITBUCKET_TOKEN"]
        .iter()
        .fold(weir, |weir, name| weir.with_env(name, "secret"));
    let commands = [
        "bootstrap github",
        "bootstrap github --owner org --repository fleet --components source-controller",
        "bootstrap gitlab --owner org --repository -fleet",
        "bootstrap gitlab --owner org --repository fleet --token-auth --deploy-token-auth",
        "bootstrap bitbucket-server --owner org --repository fleet",
        "bootstrap gitea --owner org --repository fleet",
        "bootstrap github --owner org --repository fleet --team dev:own",
        "bootstrap bitbucket-server --owner org --repository fleet --hostname=",
        "bootstrap github --owner org --repository fleet --visibility public",
        "bootstrap gitea --owner org --repository fleet --deploy-token-auth",
        "bootstrap gitlab --owner org --repository fleet --username me",
    ];
    insta::assert_snapshot!(weir.transcript(&commands).await);
}

#[tokio::test]
async fn an_api_that_does_not_answer_is_given_up() {
    let (plane, folder) = (ControlPlane::shared().await.unwrap(), Folder::new("silent").unwrap());
    let identity = Identity::for_names(&["127.0.0.1"]).unwrap();
    let nobody = FaultProxy::silent().await.unwrap();
    let front = TlsFront::start(&identity, nobody.address().parse().unwrap()).await.unwrap();
    folder.write("ca.crt", &identity.ca_pem).unwrap();
    let weir = Weir::default().with_kubeconfig(plane.kubeconfig_path()).in_folder(folder.path());
    let line = format!(
        "bootstrap github --hostname {} --owner org --repository fleet --token-auth --ca-file ca.crt --timeout 5s",
        front.address()
    );
    let transcript = weir.with_env("GITHUB_TOKEN", "secret").transcript(&[&line]).await;
    assert_eq!(nobody.requests().len(), 1, "{transcript}");
    let end = "/api/v3/repos/org/fleet: context deadline exceeded\n[exit status: 1]\n\n";
    assert!(transcript.ends_with(end), "{transcript}");
}

/// Runs a bootstrap until it waits for the services, and ends it there: nobody lets them in over SSH.
async fn until_applied(weir: &Weir, line: &str) -> String {
    let mut running = weir.start(line);
    let mut lines = BufReader::new(running.child.stderr.take().unwrap()).lines();
    let mut seen = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.starts_with('◎') {
            running.child.kill().await.unwrap();
            return seen.join("\n");
        }
        seen.push(line);
    }
    panic!("{seen:#?}");
}
