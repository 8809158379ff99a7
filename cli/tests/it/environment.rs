//! Names of our own for Flux's variables (CLI-N01), and flags about the way to the API server (cli.md 1.1).

use std::path::Path;
use std::time::{Duration, Instant};

use weir_testkit::Folder;

use crate::weir::Weir;
use crate::world::World;

#[tokio::test]
async fn variables_of_our_own_win() {
    let line = "create source git podinfo --url https://h.io/r --branch main --export";
    let flux = Weir::default().with_env("FLUX_SYSTEM_NAMESPACE", "of-flux");
    let both = flux.clone().with_env("WEIR_SYSTEM_NAMESPACE", "of-weir");
    let empty = flux.clone().with_env("WEIR_SYSTEM_NAMESPACE", "");
    for (weir, namespace) in [(flux, "of-flux"), (both, "of-weir"), (empty, "of-flux")] {
        let text = weir.stdout(line).await;
        assert!(text.contains(&format!("  namespace: {namespace}\n")), "{text}");
    }
    let bad = Weir::default().with_env("WEIR_SYSTEM_NAMESPACE", "No Label");
    let transcript = bad.transcript(&[line]).await;
    assert!(
        transcript.contains("2> ⚠️  ignoring invalid WEIR_SYSTEM_NAMESPACE: \"No Label\"\n"),
        "{transcript}"
    );
}

/// A namespace that is given needs no kubeconfig.
#[tokio::test]
async fn a_kubeconfig_is_read_only_where_its_namespace_counts() {
    let folder = Folder::new("namespace").unwrap();
    folder.write("broken", "{").unwrap();
    let follows = |value| {
        Weir::default()
            .with_kubeconfig(&folder.path().join("broken"))
            .with_env("FLUX_NS_FOLLOWS_KUBE_CONTEXT", value)
    };
    let line = "create alert-provider slack --type slack --export -n apps";
    let text = follows("1").stdout(line).await;
    assert!(text.contains("  namespace: apps\n"), "{text}");
    follows("1").agrees_wholly_with_flux(&[line]).await;
    let refused = follows("1").transcript(&["create alert-provider slack --type slack --export"]).await;
    assert!(refused.contains("2> ✗ kubernetes configuration load failed: "), "{refused}");
}

#[tokio::test]
async fn requests_keep_the_pace_of_the_flags() {
    let world = World::new("pace").await;
    world.object("GitRepository", "podinfo").await;
    let begin = Instant::now();
    let slow = world.weir().stdout("get all --kube-api-qps 5 --kube-api-burst 0x1").await;
    assert!(begin.elapsed() > Duration::from_secs(2), "a dozen kinds are listed, five a second");
    assert_eq!(slow, world.weir().stdout("get all").await);
}

/// As with kubectl, files of KUBECONFIG may be missing; the variables about proxies are those of Go.
#[tokio::test]
async fn the_api_server_is_found_as_kubectl_finds_it() {
    let world = World::new("found").await;
    world.object("GitRepository", "podinfo").await;
    let line = "get source git -n found -o name";
    let expected = world.weir().stdout(line).await;
    let kubeconfig = world.plane.kubeconfig_path().to_str().unwrap();
    let weir = Weir::default()
        .with_env("KUBECONFIG", &format!("/nonexistent:{kubeconfig}:/nowhere"))
        .with_env("HTTPS_PROXY", "127.0.0.1:1")
        .with_env("NO_PROXY", "example.org,");
    assert_eq!(weir.stdout(line).await, expected);
    let behind_proxy =
        weir.transcript(&["get source git --server https://192.0.2.1:6443 --timeout 20s"]).await;
    assert!(behind_proxy.contains("Connection refused"), "{behind_proxy}");
    let none = Weir::default().with_env("KUBECONFIG", "/nonexistent").transcript(&[line]).await;
    assert!(none.contains("no kubeconfig at /nonexistent, and not in a Pod"), "{none}");
}

/// CLI-G02: the flags stand for what the kubeconfig lacks, and an address needs no scheme.
#[tokio::test]
async fn flags_lead_to_a_server_without_a_context() {
    let folder = Folder::new("kubeconfig").unwrap();
    let clusters =
        "clusters: [{name: c, cluster: {server: '127.0.0.1:9'}}]\nusers: [{name: u, user: {token: t}}]\n";
    let contexts = "contexts: [{name: x, context: {cluster: c, user: u}}]\n";
    folder.write("config", format!("{clusters}{contexts}")).unwrap();
    let file = Weir::default().with_kubeconfig(&folder.path().join("config"));
    let nothing = Weir::default().with_kubeconfig(Path::new("/dev/null"));
    for (weir, flags, reason) in [
        (&file, "--cluster=c --user=u", "cannot reach the API server http://127.0.0.1:9"),
        (&file, "--cluster=c", "the address comes from cluster 'c' of "),
        (&file, "--context=x", "cannot reach the API server http://127.0.0.1:9"),
        (&file, "--context=x", "the address comes from context 'x' of "),
        (&file, "--context=x --cluster= --user= --server=", "cannot reach the API server http://127.0.0.1:9"),
        (&file, "--server=http://127.0.0.1:8", "cannot reach the API server http://127.0.0.1:8"),
        (&file, "--server=127.0.0.1:8", "cannot reach the API server http://127.0.0.1:8"),
        (&nothing, "--server=127.0.0.1:8", "cannot reach the API server http://127.0.0.1:8"),
        (&file, "--context=", "failed to determine current context\n2>   --context chooses one of: x\n"),
        (&file, "", "failed to determine current context\n2>   --context chooses one of: x\n"),
        (
            &nothing,
            "",
            "no kubeconfig at /dev/null, and not in a Pod; $KUBECONFIG or --kubeconfig names another file",
        ),
        (
            &file,
            "--context=x --certificate-authority=/nowhere",
            "unable to read --certificate-authority /nowhere: ",
        ),
        (
            &file,
            "--context=x --client-certificate=/nowhere",
            "unable to read --client-certificate /nowhere: ",
        ),
        (&file, "--kubeconfig=/dev/null", "no kubeconfig at /dev/null, and not in a Pod"),
        (
            &nothing,
            "--kubeconfig=/nowhere",
            "configuration load failed: /nowhere: No such file or directory\n",
        ),
        (&file, "--context=x --as-group=dev", "need a user to impersonate: --as"),
        (&file, "--context=x --user=gone", "auth info \"gone\" does not exist"),
        (&file, "--context=gone", "context \"gone\" does not exist\n2>   its contexts are: x\n"),
    ] {
        let transcript = weir.transcript(&[&format!("get ks {flags}")]).await;
        assert!(transcript.contains(reason), "{transcript}");
        assert!(!transcript.contains("panicked"), "{transcript}");
    }
}

/// A login that fails names its program, and shows nothing that the program has printed: that may be a token.
#[tokio::test]
async fn a_login_that_fails_names_its_program() {
    let folder = Folder::new("login").unwrap();
    let config = |command: &str| {
        format!(
            "clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:9'}}}}]\ncurrent-context: x\n\
             contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{exec: \
             {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: {command}, args: ['-c', 'echo token; exit 3']}}}}}}]\n"
        )
    };
    for (command, reason) in [
        (
            "no-such-login",
            "by 'no-such-login', which does not start: No such file or directory; is it installed?\n",
        ),
        ("/bin/sh", "by '/bin/sh', which has failed: exit status: 3\n"),
    ] {
        folder.write("config", config(command)).unwrap();
        let transcript =
            Weir::default().with_kubeconfig(&folder.path().join("config")).transcript(&["get ks"]).await;
        assert!(transcript.contains(reason) && !transcript.contains("token"), "{transcript}");
    }
}

#[tokio::test]
async fn another_user_is_played_with_extra_fields() {
    let world = World::new("extra").await;
    let flags = "--as jane --as-group dev --as-user-extra scopes=view --as-user-extra scopes=edit";
    let commands = [format!("get source git {flags}"), "get source git --as-user-extra scopes".to_owned()];
    let commands: Vec<_> = commands.iter().map(String::as_str).collect();
    insta::assert_snapshot!(world.weir().transcript(&commands).await);
}
