//! `weir bootstrap github|gitlab|gitea|bitbucket-server` against stand-ins of their APIs (CLI-BST02, CLI-BST05).

use tokio::io::{AsyncBufReadExt, BufReader};
use weir_testkit::{Folder, SshGitServer};

use crate::bootstrap::{Home, PATH, shown};
use crate::nodes::with_nodes;
use crate::vendor::StandIn;
use crate::weir::Weir;

/// Each vendor: its word, the variable with the token, the flag for teams, and the path of the repository in Git.
const VENDORS: [(&str, &str, &str, &str); 4] = [
    ("github", "GITHUB_TOKEN", "--team dev,ops:push", "org/fleet"),
    ("gitlab", "GITLAB_TOKEN", "--team dev,ops:push", "org/fleet"),
    ("gitea", "GITEA_TOKEN", "--team dev,forbidden", "org/fleet"),
    ("bitbucket-server", "BITBUCKET_TOKEN", "--group dev,ops:pull", "scm/org/fleet"),
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
