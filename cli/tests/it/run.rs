//! `weir run` starts, is ready, answers `weir watch`, and stops when it is asked to. The work of the services is
//! tested in e2e/.

use std::process::Command;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weir_testkit::{Folder, Process, eventually, free_port};

use crate::weir::{DEADLINE, Weir};
use crate::world::World;

/// The answer of a server of the process, once it is a good one.
async fn get(address: &str, path: &str) -> Option<String> {
    let mut stream = tokio::net::TcpStream::connect(address).await.ok()?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    answer.contains(" 200 ").then_some(answer)
}

/// The flags that the component multi-tenancy adds (TEN-01), and one of those that do nothing.
const FLAGS: [&str; 4] = [
    "--no-cross-namespace-refs=true",
    "--no-remote-bases=true",
    "--default-service-account=default",
    "--kube-api-qps=20",
];

/// Free addresses for all servers of the process, by the beginning of their flags.
pub(crate) fn addresses() -> [(&'static str, String); 6] {
    ["grpc", "metrics", "health", "storage", "events", "receiver"]
        .map(|name| (name, format!("127.0.0.1:{}", free_port().unwrap())))
}

fn start(world: &World, folder: &Folder, addresses: &[(&str, String)]) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.arg("run").env_clear().env("KUBECONFIG", world.plane.kubeconfig_path());
    command.env("XDG_DATA_HOME", folder.path()).env("TMPDIR", folder.path());
    command.args(addresses.iter().map(|(name, address)| format!("--{name}-addr={address}")));
    command.args(FLAGS);
    Process::start("weir run", &mut command, &folder.join("run.log")).unwrap()
}

#[tokio::test]
async fn all_services_run_and_stop_together() {
    let (world, folder) = (World::new("run-all").await, Folder::new("weir-run").unwrap());
    let addresses = addresses();
    let mut process = start(&world, &folder, &addresses);

    let health = &addresses[2].1;
    let ready = eventually("weir run to be ready", DEADLINE, || get(health, "/readyz")).await;
    assert!(ready.is_ok(), "{}", process.log_tail());
    // The gRPC server opens when every service has what it needs.
    let grpc = &addresses[0].1;
    let serves = || async { tokio::net::TcpStream::connect(grpc).await.ok() };
    assert!(eventually("gRPC to be served", DEADLINE, serves).await.is_ok(), "{}", process.log_tail());
    for name in ["artifacts", "state/tags", "state/events"] {
        assert!(folder.join("weir").join(name).is_dir(), "{name}");
    }
    let metrics = get(&addresses[1].1, "/metrics").await.unwrap();
    let mut families: Vec<_> = metrics.lines().filter(|line| line.starts_with("# TYPE ")).collect();
    assert!(families.contains(&"# TYPE gotk_token_cached_items gauge"), "{metrics}");
    families.sort_unstable();
    let twice: Vec<_> = families.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let log = std::fs::read_to_string(folder.join("run.log")).unwrap();
    assert_eq!(log.matches("the flag --kube-api-qps has no effect").count(), 1, "{log}");
    let ended = process.stop(DEADLINE).await.unwrap();
    assert!(ended.success(), "{ended}: {}", process.log_tail());
}

/// A process that nobody can ask, or that serves no artifacts, ends and says why.
#[tokio::test]
async fn a_port_that_is_taken_ends_all_services() {
    let (world, folder) = (World::new("run-taken").await, Folder::new("weir-run").unwrap());
    for (taken, what) in [("grpc", "gRPC"), ("storage", "artifacts")] {
        let addresses = addresses();
        let (_, address) = addresses.iter().find(|(name, _)| *name == taken).unwrap();
        let _other = tokio::net::TcpListener::bind(address).await.unwrap();
        let mut process = start(&world, &folder, &addresses);
        let ended = process.wait(DEADLINE).await.unwrap();
        let log = process.log_tail();
        assert!(!ended.success(), "{log}");
        assert!(log.contains(&format!("cannot listen on {address} ({what})")), "{log}");
    }
}

#[tokio::test]
async fn flags_that_cannot_work_are_refused() {
    let folder = Folder::new("weir-run").unwrap();
    let data = folder.path().to_str().unwrap().to_owned();
    let weir = World::new("run-refused").await.weir().with_env("XDG_DATA_HOME", &data);
    let commands = [
        "run --grpc-addr 127.0.0.1:0",
        "run --feature-gates Nope=true",
        "run --metrics-addr everywhere",
        "run --interval-jitter-percentage 100",
        "run --no-such-flag",
    ];
    insta::assert_snapshot!(weir.transcript(&commands).await);
    let homeless = Weir::default().with_kubeconfig(std::path::Path::new("/nonexistent"));
    insta::assert_snapshot!("run_without_cluster", homeless.transcript(&["run"]).await);
}

/// docs/adr/0021: one program is all of them, by its name.
#[test]
fn a_link_with_the_name_of_a_service_is_that_service() {
    let folder = Folder::new("weir-links").unwrap();
    for name in ["source", "kustomize", "image-reflector", "image-automation", "notification"] {
        let name = format!("{name}-controller");
        let link = folder.join(&name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_weir"), &link).unwrap();
        let output = Command::new(&link).arg("--version").output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed, format!("{name} {}\n", env!("CARGO_PKG_VERSION")));
        let refused = Command::new(&link).arg("get").output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "the verbs of weir are not the service's");
    }
}
