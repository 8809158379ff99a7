//! `weir bootstrap git` (cli.md 11): a control plane, a Git server and the services themselves; only the Pods are played.

use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use weir_testkit::{
    ControlPlane, Controller, Fault, FaultProxy, Folder, GitRepo, GitServer, Identity, Proxy, SshAgent,
    SshGitServer, TlsFront, eventually, storage_flags,
};

use crate::nodes::with_nodes;
use crate::weir::{DEADLINE, Weir};

/// Flags that end every command line.
pub(crate) const PATH: &str = "--path clusters/test --timeout 55s";

/// A control plane, and the two services that apply what is in Git.
pub(crate) struct Home {
    // Fields drop in order: the services end before their control plane goes.
    _services: [Controller; 2],
    pub(crate) plane: ControlPlane,
    pub(crate) folder: Folder,
}

impl Home {
    pub(crate) async fn start() -> Self {
        Self::on(ControlPlane::start().await.unwrap()).await
    }

    pub(crate) async fn on(plane: ControlPlane) -> Self {
        Self::with(plane, Vec::new()).await
    }

    /// On a control plane, with flags of the kustomize service.
    async fn with(plane: ControlPlane, flags: Vec<String>) -> Self {
        let folder = Folder::new("bootstrap").unwrap();
        let source = service(&plane, &folder, "source", storage_flags().unwrap()).await;
        let kustomize = service(&plane, &folder, "kustomize", flags).await;
        Self { _services: [source, kustomize], plane, folder }
    }

    pub(crate) fn weir(&self) -> Weir {
        Weir::default().with_kubeconfig(self.plane.kubeconfig_path()).in_folder(self.folder.path())
    }

    pub(crate) async fn secret(&self) -> Secret {
        let api: Api<Secret> = Api::namespaced(self.plane.client().unwrap(), "flux-system");
        api.get("flux-system").await.unwrap()
    }

    /// Deletes the Secret of the source, if there is one.
    pub(crate) async fn forget_secret(&self) {
        let api: Api<Secret> = Api::namespaced(self.plane.client().unwrap(), "flux-system");
        match api.delete("flux-system", &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            deleted => drop(deleted.unwrap()),
        }
    }
}

async fn service(plane: &ControlPlane, folder: &Folder, name: &str, mut flags: Vec<String>) -> Controller {
    let program = folder.path().join(format!("{name}-controller"));
    symlink(env!("CARGO_BIN_EXE_weir"), &program).unwrap();
    flags.push("--grpc-addr=127.0.0.1:0".into());
    Controller::start(Command::new(program), plane, "flux-system", &flags).await.unwrap()
}

/// Replaces what differs from run to run.
pub(crate) fn shown(transcript: &str, url: &str) -> String {
    let replaced = transcript.replace(url, "[url]").replace(env!("CARGO_PKG_VERSION"), "[version]");
    let replaced = regex::Regex::new("[0-9a-f]{40}").unwrap().replace_all(&replaced, "[commit]").into_owned();
    let keys = regex::Regex::new("public key: [^\n]+").unwrap();
    keys.replace_all(&replaced, "public key: [key]").into_owned()
}

/// Subjects of the commits of main, newest first.
fn subjects(repository: &GitRepo) -> Vec<String> {
    let log = repository.log("main").unwrap();
    log.iter().map(|commit| commit.message.replace(env!("CARGO_PKG_VERSION"), "[version]")).collect()
}

#[tokio::test]
async fn a_cluster_is_bootstrapped_over_http_and_the_second_run_pushes_nothing() {
    let (home, server) = (Home::start().await, GitServer::start().await.unwrap());
    let (repository, url) = (server.repo("private/fleet").unwrap(), server.url("private/fleet"));
    let line = format!(
        "bootstrap git --url {url} --allow-insecure-http --token-auth -u user -p pass --author-email flux@example.com \
         --commit-message-appendix '[ci skip]' {PATH}"
    );
    let transcript = with_nodes(&home.plane, home.weir().transcript(&[&line, &line])).await;
    let commits = subjects(&repository);
    let folder = "clusters/test/flux-system";
    let sync = repository.read("main", &format!("{folder}/gotk-sync.yaml")).unwrap();
    let kustomization = repository.read("main", &format!("{folder}/kustomization.yaml")).unwrap();
    let all = [transcript, commits.join("\n---\n"), sync, kustomization].join("\n===\n");
    insta::assert_snapshot!(shown(&all, &url));
    let components = repository.read("main", &format!("{folder}/gotk-components.yaml")).unwrap();
    assert_eq!(components, home.weir().stdout("install --export").await);
    let secret = home.secret().await.data.unwrap();
    let texts: Vec<_> = secret
        .iter()
        .map(|(key, value)| format!("{key}={}", std::str::from_utf8(&value.0).unwrap()))
        .collect();
    assert_eq!(texts, ["password=pass", "username=user"]);
}

/// The lines of Flux, where `FLUX_CLI` names it, on a cluster and a repository of its own.
#[tokio::test]
async fn the_steps_are_those_of_flux() {
    let (home, server) = (Home::start().await, GitServer::start().await.unwrap());
    let Some(flux) = home.weir().as_flux() else { return };
    let (_repository, url) = (server.repo("fleet").unwrap(), server.url("fleet"));
    let components = "--components source-controller,kustomize-controller,notification-controller";
    let line =
        format!("bootstrap git --url {url} --allow-insecure-http --token-auth -p pass {components} {PATH}");
    // Flux with our manifests: one that was built from its sources has none of its own.
    let manifests = home.weir().stdout("install --export").await;
    home.folder.write("all.yaml", manifests).unwrap();
    home.folder.write("kustomization.yaml", "resources: [all.yaml]\n").unwrap();
    let with_manifests = format!("{line} --manifests {}", home.folder.path().display());
    let theirs = with_nodes(&home.plane, flux.transcript(&[&with_manifests, &with_manifests])).await;
    let (home, server) = (Home::start().await, GitServer::start().await.unwrap());
    let (_repository, of_ours) = (server.repo("fleet").unwrap(), server.url("fleet"));
    let line = line.replace(&url, &of_ours);
    let ours = with_nodes(&home.plane, home.weir().transcript(&[&line, &line])).await;
    // Deployments get ready in any order.
    let steps = |transcript: &str, url: &str| {
        let shown = shown(transcript, url);
        let lines =
            shown.lines().filter(|line| !line.ends_with(": deployment ready") && !line.starts_with('$'));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(steps(&ours, &of_ours), steps(&theirs, &url));
}

/// TEN-01: Kustomizations act as tenants, but for the one that installs the services.
#[tokio::test]
async fn a_cluster_of_tenants_is_bootstrapped() {
    let flags = ["--no-cross-namespace-refs=true", "--default-service-account=default"].map(str::to_owned);
    let home = Home::with(ControlPlane::start().await.unwrap(), flags.into()).await;
    let server = GitServer::start().await.unwrap();
    let (repository, url) = (server.repo("fleet").unwrap(), server.url("fleet"));
    let line = format!(
        "bootstrap git --url {url} --allow-insecure-http --token-auth -p pass --with multi-tenancy {PATH}"
    );
    let transcript = with_nodes(&home.plane, home.weir().transcript(&[&line])).await;
    assert!(transcript.ends_with("2> ✔ all components are healthy\n\n"), "{transcript}");
    let sync = repository.read("main", "clusters/test/flux-system/gotk-sync.yaml").unwrap();
    assert!(sync.contains("\n  serviceAccountName: kustomize-controller\n"), "{sync}");
}

/// CLI-BST12: what users wrote is applied from the first moment, and stays as it is.
#[tokio::test]
async fn a_cluster_is_bootstrapped_over_ssh_with_patches_of_users() {
    let (home, server) = (Home::start().await, SshGitServer::start().await.unwrap());
    let (repository, url) = (server.repo("fleet").unwrap(), server.url("fleet"));
    let kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n# ours\nresources:\n- gotk-components.yaml\n- gotk-sync.yaml\n\
                         patches:\n- target: {kind: Namespace}\n  patch: |\n    - {op: add, path: /metadata/labels/team, value: fleet}\n";
    let folder = "clusters/test/flux-system";
    let files = [
        (format!("{folder}/kustomization.yaml"), kustomization),
        (format!("{folder}/gotk-components.yaml"), ""),
        (format!("{folder}/gotk-sync.yaml"), ""),
    ];
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    repository.commit("main", "begin", &files).unwrap();
    home.folder.write("key", server.identity()).unwrap();
    let line = format!("bootstrap git --url {url} --private-key-file key --silent {PATH}");
    let transcript = with_nodes(&home.plane, home.weir().transcript(&[&line])).await;
    insta::assert_snapshot!(shown(&transcript, &url));
    assert_eq!(repository.read("main", &format!("{folder}/kustomization.yaml")).unwrap(), kustomization);
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(home.plane.client().unwrap());
    let labels = namespaces.get("flux-system").await.unwrap().metadata.labels.unwrap();
    assert_eq!(labels["team"], "fleet");
    let secret = home.secret().await.data.unwrap();
    assert_eq!(secret.keys().collect::<Vec<_>>(), ["identity", "identity.pub", "known_hosts"]);
}

/// Weir has no helm service: that of Flux stays with its CRD, in the repository and so in the cluster.
#[rstest::rstest]
#[case(include_str!("bootstrap/of-flux.yaml"), "v2")]
#[case(include_str!("bootstrap/of-flux-0.30.yaml"), "v2beta1")]
#[tokio::test]
async fn helm_controller_stays_when_a_repository_of_flux_is_taken_over(
    #[case] of_flux: &str,
    #[case] version: &str,
) {
    let (home, server) = (Home::start().await, GitServer::start().await.unwrap());
    let (repository, url) = (server.repo("fleet").unwrap(), server.url("fleet"));
    let file = "clusters/test/flux-system/gotk-components.yaml";
    repository.commit("main", "by flux", &[(file, of_flux)]).unwrap();
    let line = format!("bootstrap git --url {url} --allow-insecure-http --token-auth -p pass {PATH}");
    let transcript = with_nodes(&home.plane, home.weir().transcript(&[&line, &line])).await;
    assert_eq!(transcript.matches("✔ kept Flux's helm-controller").count(), 2, "{transcript}");
    assert!(transcript.ends_with("2> ✔ all components are healthy\n\n"), "{transcript}");
    let subjects = subjects(&repository);
    assert_eq!(subjects, ["Add Flux sync manifests", "Add Flux v[version] component manifests", "by flux"]);
    let (_, helm_controller) = of_flux.split_once("# those of helm-controller\n").unwrap();
    let manifests = repository.read("main", file).unwrap();
    assert!(
        manifests.ends_with(helm_controller) && !manifests.contains("name: source-watcher\n"),
        "{manifests}"
    );
    let helm_releases = format!("helm.toolkit.fluxcd.io/{version}");
    home.plane.api(&helm_releases, "HelmRelease", "flux-system").await.unwrap();
    assert!(may_create_secrets(&home.plane).await);
}

/// A cluster of `flux install` that gets a new repository: helm-controller is not in it, and keeps its rights.
#[tokio::test]
async fn helm_controller_of_the_cluster_keeps_its_rights() {
    let (home, server) = (Home::start().await, GitServer::start().await.unwrap());
    let (_repository, url) = (server.repo("fleet").unwrap(), server.url("fleet"));
    let labels = json!({"app": "helm-controller"});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "helm-controller", "labels": {"app.kubernetes.io/part-of": "flux"}},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": "helm"}]}}},
    });
    home.plane.namespace("flux-system").await.unwrap();
    home.plane.apply("flux-system", deployment).await.unwrap();
    let line = format!("bootstrap git --url {url} --allow-insecure-http --token-auth -p pass {PATH}");
    let transcript = with_nodes(&home.plane, home.weir().transcript(&[&line])).await;
    assert!(transcript.ends_with("2> ✔ all components are healthy\n\n"), "{transcript}");
    assert!(may_create_secrets(&home.plane).await);
}

/// True if helm-controller may make Secrets, as it does for each release.
async fn may_create_secrets(plane: &ControlPlane) -> bool {
    let account = "system:serviceaccount:flux-system:helm-controller";
    let can = ["auth", "can-i", "create", "secrets", "--as", account];
    // The answer "no" is an exit status, too.
    plane.kubectl(&can).await.is_ok_and(|answer| answer.trim() == "yes")
}

/// SCN-17: this command pushes with a key of an agent, and the services read with one of their own, which is let in while it asks.
#[tokio::test]
async fn a_cluster_is_bootstrapped_with_the_keys_of_an_agent() {
    let (home, server) = (Home::start().await, SshGitServer::start().await.unwrap());
    let (repository, url) = (server.repo("fleet").unwrap(), server.url("fleet"));
    // A file that is no manifest is no part of the kustomization that is made.
    let notes = ("clusters/test/flux-system/notes.yaml", "a: b: c\n");
    repository.commit("main", "begin", &[notes]).unwrap();
    let agent = SshAgent::start().await.unwrap();
    agent.add(server.identity(), &[]).unwrap();
    home.folder.write("known_hosts", server.known_hosts()).unwrap();
    let weir = home.weir().with_env("SSH_AUTH_SOCK", agent.socket().to_str().unwrap());
    let weir = weir.with_env("SSH_KNOWN_HOSTS", "known_hosts");
    let mut running =
        weir.start(&format!("bootstrap git --url {url} --silent --path clusters/test --timeout 4m"));
    let mut lines = BufReader::new(running.child.stderr.take().unwrap()).lines();
    let mut seen = Vec::new();
    let run = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if let Some(key) = line.strip_prefix("✔ public key: ") {
                server.let_in(key).unwrap();
            }
            seen.push(line);
        }
    };
    with_nodes(&home.plane, run).await;
    assert!(running.child.wait().await.unwrap().success(), "{seen:#?}");
    assert_eq!(subjects(&repository).len(), 3);
    assert!(!seen.is_empty() && home.secret().await.data.unwrap().contains_key("identity"));
    let kustomization = repository.read("main", "clusters/test/flux-system/kustomization.yaml").unwrap();
    assert!(
        kustomization.ends_with("resources:\n- gotk-components.yaml\n- gotk-sync.yaml\n"),
        "{kustomization}"
    );
}

/// CLI-G04: with the keys of an agent, a server that the person has not approved gets nothing to see of the repository.
#[tokio::test]
async fn a_server_that_nobody_knows_is_not_trusted() {
    let (plane, server) = (ControlPlane::start().await.unwrap(), SshGitServer::start().await.unwrap());
    let (repository, url) = (server.repo("fleet").unwrap(), server.url("fleet"));
    repository.commit("main", "begin", &[("README.md", "")]).unwrap();
    let agent = SshAgent::start().await.unwrap();
    agent.add(server.identity(), &[]).unwrap();
    let folder = Folder::new("unknown-host").unwrap();
    folder.write("other", server.other_known_hosts()).unwrap();
    folder.write("none", "").unwrap();
    let weir = Weir::default().with_kubeconfig(plane.kubeconfig_path()).in_folder(folder.path());
    let weir = weir.with_env("SSH_AUTH_SOCK", agent.socket().to_str().unwrap());
    for (file, reason) in [
        ("missing", "unable to find any valid known_hosts file, set SSH_KNOWN_HOSTS env variable"),
        ("none", "knownhosts: key is unknown"),
        ("other", "knownhosts: key mismatch"),
    ] {
        let weir = weir.clone().with_env("SSH_KNOWN_HOSTS", file);
        let transcript =
            weir.transcript(&[&format!("bootstrap git --url {url} --silent --timeout 20s")]).await;
        assert!(transcript.ends_with(&format!("{reason}\n[exit status: 1]\n\n")), "{file}: {transcript}");
    }
    assert_eq!(subjects(&repository), ["begin"]);
}

/// The services that follow the repository apply what a run has pushed before the run itself does: otherwise they would take it for drift.
#[tokio::test]
async fn an_upgrade_is_never_undone() {
    let (home, server) = (Home::start().await, GitServer::start().await.unwrap());
    let repository = server.repo("fleet").unwrap();
    let url = server.url("fleet");
    let proxy = FaultProxy::http(url.split('/').nth(2).unwrap()).await.unwrap();
    let url = proxy.url(&url);
    let line = format!("bootstrap git --url {url} --allow-insecure-http --token-auth -p pass {PATH}");
    let more = format!("{line} --components-extra image-reflector-controller,image-automation-controller");
    let run = async |line: &str| {
        let transcript = with_nodes(&home.plane, home.weir().transcript(&[line])).await;
        assert!(transcript.ends_with("2> ✔ all components are healthy\n\n"), "{transcript}");
    };
    run(&line).await;
    let before = applied(&home.plane).await;
    // Time enough to see changes that are not in the known revision.
    proxy.set(Fault::Delay(Duration::from_millis(500)));
    run(&more).await;
    let mut newer = applied(&home.plane).await;
    newer.retain(|event| !before.contains(event));
    let head = format!("main@sha1:{}", repository.head("main").unwrap());
    assert!(!newer.is_empty() && newer.iter().all(|(_, revision)| *revision == head), "{head}: {newer:#?}");

    let fewer = with_nodes(&home.plane, home.weir().transcript(&[&line])).await;
    let extra = "image-reflector-controller,image-automation-controller";
    assert!(fewer.contains(&format!("--components-extra={extra} keeps them\n")), "{fewer}");
}

/// Events about changes that the services have made, with the revision of each.
async fn applied(plane: &ControlPlane) -> Vec<(String, String)> {
    let events = plane.api("v1", "Event", "flux-system").await.unwrap();
    let events = events.list(&ListParams::default().fields("reason=Progressing")).await.unwrap().items;
    let revision = |event: &DynamicObject| {
        event.annotations().get("kustomize.toolkit.fluxcd.io/revision").cloned().unwrap_or_default()
    };
    events.iter().map(|event| (event.name_any(), revision(event))).collect()
}

/// C1: wherever a run is killed, the next one goes on, and nothing is pushed twice.
#[tokio::test]
async fn a_bootstrap_that_was_killed_ends_well_when_it_is_run_again() {
    let (home, server) = (Home::start().await, GitServer::start().await.unwrap());
    let (repository, url) = (server.repo("fleet").unwrap(), server.url("fleet"));
    let line = format!("bootstrap git --url {url} --allow-insecure-http --token-auth -p pass {PATH}");
    let steps = [
        "✔ cloned repository",
        "✔ committed component manifests",
        "► pushing component manifests",
        "► installing components",
        "✔ installed components",
        "✔ reconciled source secret",
        "✔ committed sync manifests",
        "► pushing sync manifests",
        "✔ reconciled sync configuration",
    ];
    for step in steps {
        let mut running = home.weir().start(&line);
        let mut lines = BufReader::new(running.child.stderr.take().unwrap()).lines();
        let mut seen = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            seen.push(line);
            if seen.last().is_some_and(|line| line.starts_with(step)) {
                break;
            }
        }
        running.child.kill().await.unwrap();
        assert!(seen.last().is_some_and(|line| line.starts_with(step)), "{step}: {seen:#?}");
    }
    let transcript = with_nodes(&home.plane, home.weir().transcript(&[&line])).await;
    assert!(transcript.ends_with("2> ✔ all components are healthy\n\n"), "{transcript}");
    assert_eq!(subjects(&repository), ["Add Flux sync manifests", "Add Flux v[version] component manifests"]);
}

#[tokio::test]
async fn bootstraps_that_cannot_work_are_refused() {
    let (plane, server) = (ControlPlane::start().await.unwrap(), GitServer::start().await.unwrap());
    let weir = Weir::default().with_kubeconfig(plane.kubeconfig_path());
    let (repository, url) = (server.repo("fleet").unwrap(), server.url("fleet"));
    repository.commit("other", "begin", &[("README.md", "")]).unwrap();
    let http = format!("bootstrap git --url {url} --allow-insecure-http --token-auth -p pass");
    let commands = [
        "bootstrap git".to_owned(),
        format!("bootstrap git --url {url}"),
        "bootstrap git --url ftp://h.io/r".to_owned(),
        "bootstrap git --url ftp://me:secret@h.io/r".to_owned(),
        "bootstrap git --url git@h.io:org/r".to_owned(),
        "bootstrap git --url https://me:secret@127.0.0.1:1/r --token-auth -p pass --timeout 20s".to_owned(),
        "bootstrap git --url ssh://git@h.io/r".to_owned(),
        format!("{http} --components source-controller"),
        format!("{http} --components-extra nope"),
        format!("{http} --registry-creds a:b"),
        format!("{http} --registry-creds a:b --image-pull-secret pull"),
        format!("{http} -v v9.9.9"),
        http.replace("bootstrap", "bootstrap --components-extra nope"),
        http.replace(
            "-p pass",
            "--components helm-controller,source-controller,kustomize-controller -p pass",
        ),
        http.replace("-p pass", ""),
        format!("{http} --timeout 20s"),
    ];
    let commands: Vec<_> = commands.iter().map(String::as_str).collect();
    insta::assert_snapshot!(shown(&weir.transcript(&commands).await, &url));
}

/// CLI-BST07: a cluster does not move to another directory by mistake.
#[tokio::test]
async fn the_directory_of_a_cluster_stays() {
    let (plane, server) = (ControlPlane::start().await.unwrap(), GitServer::start().await.unwrap());
    let (_repository, url) = (server.repo("fleet").unwrap(), server.url("fleet"));
    plane.apply_crds(&weir_testkit::repo_path("deploy/kustomize/crds")).await.unwrap();
    plane.namespace("flux-system").await.unwrap();
    let spec = json!({
        "interval": "10m", "prune": true, "path": "./clusters/old",
        "sourceRef": { "kind": "GitRepository", "name": "flux-system" },
    });
    let object = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": { "name": "flux-system" }, "spec": spec,
    });
    plane.apply("flux-system", object).await.unwrap();
    let api = plane.api("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "flux-system").await.unwrap();
    let status = Patch::Merge(json!({ "status": { "lastAppliedRevision": "main@sha1:1" } }));
    api.patch_status("flux-system", &PatchParams::default(), &status).await.unwrap();
    let weir = Weir::default().with_kubeconfig(plane.kubeconfig_path());
    let line = format!("bootstrap git --url {url} --allow-insecure-http --token-auth -p pass {PATH}");
    let transcript = weir.transcript(&[&line]).await;
    let expected = "2> ✗ sync path configuration (\"./clusters/test\") would overwrite path (\"./clusters/old\") of \
                    existing Kustomization\n[exit status: 1]\n\n";
    assert!(transcript.ends_with(expected), "{transcript}");
}

/// A repository of CodeCommit is read and written as whoever runs the command, and the services log in as themselves.
#[tokio::test]
async fn a_repository_of_codecommit_needs_no_token() {
    const HOST: &str = "git-codecommit.eu-west-1.amazonaws.com";
    let (plane, server) = (ControlPlane::start().await.unwrap(), GitServer::start().await.unwrap());
    let (repository, url) = (server.repo("fleet").unwrap(), server.url("fleet"));
    let identity = Identity::for_names(&[HOST]).unwrap();
    let front = TlsFront::start(&identity, url.split('/').nth(2).unwrap().parse().unwrap()).await.unwrap();
    let proxy = Proxy::start(&[(&format!("{HOST}:443"), front.address())]).await.unwrap();
    let folder = Folder::new("codecommit").unwrap();
    let authorities = folder.write("authorities.pem", &identity.ca_pem).unwrap();
    let weir = Weir::default()
        .with_kubeconfig(plane.kubeconfig_path())
        .with_env("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
        .with_env("AWS_SECRET_ACCESS_KEY", "secret")
        .with_env("SSL_CERT_FILE", authorities.to_str().unwrap())
        .with_env("HTTPS_PROXY", &format!("http://{}", proxy.address()))
        .with_env("NO_PROXY", "127.0.0.1");
    // Nothing works here that would make the source ready: the run ends when it has pushed what is looked at.
    let mut running = weir.start(&format!("bootstrap git --url https://{HOST}/fleet.git {PATH}"));
    let sync = async || repository.read("main", "clusters/test/flux-system/gotk-sync.yaml").ok();
    let sync = eventually("the source in Git", DEADLINE, sync).await.unwrap();
    running.child.kill().await.unwrap();
    let lines = format!("  provider: aws\n  ref:\n    branch: main\n  url: https://{HOST}/fleet.git\n");
    assert!(sync.contains(&lines), "{sync}");
    let secrets: Api<Secret> = Api::namespaced(plane.client().unwrap(), "flux-system");
    assert!(secrets.get_opt("flux-system").await.unwrap().is_none());
    let refused = weir
        .transcript(&[&format!("bootstrap git --url https://{HOST}/fleet.git --password=x {PATH}")])
        .await;
    assert!(refused.contains("add --token-auth to log in with --username and --password"), "{refused}");
}
