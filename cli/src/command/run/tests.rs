use std::path::Path;

use clap::Parser;

use super::layout::Layout;
use super::member::{MEMBERS, Member, check_gates};
use super::*;

#[derive(Parser)]
struct Probe {
    #[command(flatten)]
    run: Run,
}

fn parse(arguments: &[&str]) -> Run {
    Probe::parse_from(["run"].iter().chain(arguments)).run
}

fn layout(run: &Run) -> Layout {
    let events_addr = run.matches.get_one::<String>("events_addr").unwrap();
    Layout::new(&run.runtime, events_addr, Some(Path::new("/artifacts")), Some(Path::new("/state"))).unwrap()
}

fn arguments_of(name: &str, run: &Run) -> Vec<String> {
    let member = MEMBERS.iter().find(|member| member.name == name).unwrap();
    let arguments = member.arguments(&run.matches, &layout(run));
    arguments.into_iter().map(|argument| argument.into_string().unwrap()).collect()
}

#[rstest::rstest]
#[case("source-controller", &["--storage-path=/artifacts", "--storage-addr=127.0.0.1:9790", "--events-grpc-addr=127.0.0.1:9393", "--events-addr="])]
#[case("kustomize-controller", &["--source-grpc-addr=127.0.0.1:9393", "--concurrent=20"])]
#[case("image-reflector-controller", &["--storage-path=/state/tags"])]
#[case("image-automation-controller", &["--image-reflector-grpc-addr=127.0.0.1:9393"])]
#[case("notification-controller", &["--events-addr=127.0.0.1:9090", "--receiverAddr=127.0.0.1:9292", "--outbox-path=/state/events"])]
fn services_find_each_other_in_the_process(#[case] name: &str, #[case] expected: &[&str]) {
    let arguments = arguments_of(name, &parse(&["--concurrent", "20"]));
    for expected in expected {
        assert!(arguments.iter().any(|argument| argument == expected), "{expected} in {arguments:#?}");
    }
}

#[test]
fn every_service_takes_its_arguments() {
    let run = parse(&[
        "--watch-all-namespaces=false",
        "--no-remote-bases",
        "--override-manager=a",
        "--override-manager=b",
    ]);
    for member in &MEMBERS {
        (member.program)(member.arguments(&run.matches, &layout(&run))).map(drop).unwrap();
    }
}

#[test]
fn without_grpc_services_speak_http() {
    let run = parse(&["--grpc-addr=0", "--events-addr=:9090"]);
    let arguments = arguments_of("kustomize-controller", &run);
    assert!(arguments.contains(&"--events-addr=http://127.0.0.1:9090/".to_owned()));
    assert!(arguments.contains(&"--source-grpc-addr=".to_owned()));
}

#[test]
fn a_gate_reaches_the_services_that_have_it() {
    let run = parse(&["--feature-gates=StrictPostBuildSubstitutions=false,ObjectLevelWorkloadIdentity=true"]);
    let gates =
        |name| arguments_of(name, &run).into_iter().find(|flag| flag.starts_with("--feature-gates")).unwrap();
    assert_eq!(
        gates("kustomize-controller"),
        "--feature-gates=StrictPostBuildSubstitutions=false,ObjectLevelWorkloadIdentity=true"
    );
    assert_eq!(gates("source-controller"), "--feature-gates=ObjectLevelWorkloadIdentity=true");
}

/// TEN-01: the component multi-tenancy gives the flag to the process of all services, most of which refuse it without the gate.
#[test]
fn the_default_account_reaches_the_services_that_may_have_one() {
    let having = |flags: &[&str]| -> Vec<&str> {
        let run = parse(flags);
        let has = |member: &&Member| {
            let arguments = arguments_of(member.name, &run);
            arguments.contains(&"--default-service-account=default".to_owned())
        };
        MEMBERS.iter().filter(has).map(|member| member.name).collect()
    };
    let account = "--default-service-account=default";
    assert_eq!(having(&[account]), ["kustomize-controller"]);
    let with_gate = having(&[account, "--feature-gates=ObjectLevelWorkloadIdentity=true"]);
    assert_eq!(with_gate, MEMBERS.each_ref().map(|member| member.name));
}

#[test]
fn a_gate_that_no_service_has_is_refused() {
    assert_eq!(check_gates("Nope=true").unwrap_err().to_string(), "feature-gate 'Nope' not supported");
}

#[test]
fn a_port_that_peers_cannot_know_is_refused() {
    let run = parse(&["--grpc-addr=127.0.0.1:0"]);
    let refused = Layout::new(&run.runtime, "0", Some(Path::new("/a")), Some(Path::new("/s"))).unwrap_err();
    assert_eq!(refused.to_string(), "--grpc-addr needs a port other than 0: other services have to find it");
}

#[test]
fn flux_spells_one_flag_in_camel_case() {
    let run = parse(&["--receiverAddr=127.0.0.1:1"]);
    assert!(arguments_of("notification-controller", &run).contains(&"--receiverAddr=127.0.0.1:1".to_owned()));
}

/// The services' flags stand in for flags of every command: both are of one type.
#[test]
fn the_whole_command_line_is_read() {
    crate::cli::Cli::try_parse_from(["weir", "run", "--kube-api-burst=-1"]).unwrap();
}
