//! The services that run together, one row each.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, CommandFactory};
use weir_runtime::Program;
use weir_runtime::gate::{Gates, WORKLOAD_IDENTITY};

use super::layout::Layout;
use crate::error::Error;

/// The value of a flag that is filled in.
type Fill = fn(&Layout) -> OsString;

/// One service.
pub(super) struct Member {
    /// Its name as a Deployment.
    pub(super) name: &'static str,
    /// Its command line.
    command: fn() -> Command,
    /// The names of its feature gates.
    gates: &'static [(&'static str, bool)],
    /// True when it acts in the cluster as `--default-service-account`, which needs no gate. The other services log in to
    /// clouds as that account, and refuse to start with the flag while their gate is off (TEN-01, SRC-CLD-3).
    impersonates: bool,
    /// Flags that are no flags of `weir run`, because they say how services of one process find each other.
    filled_in: &'static [(&'static str, Fill)],
    /// Parses its arguments.
    pub(super) program: fn(Vec<OsString>) -> Result<Program, clap::Error>,
}

const EVENTS_URL: (&str, Fill) = ("events_addr", |layout| layout.events_url.clone().into());
const EVENTS_PEER: (&str, Fill) = ("events_grpc_addr", |layout| layout.peer.clone().into());

/// The services.
pub(super) static MEMBERS: [Member; 5] = [
    Member {
        name: "source-controller",
        command: weir_source_controller::args::Args::command,
        gates: &weir_source_controller::args::GATES,
        impersonates: false,
        filled_in: &[EVENTS_URL, EVENTS_PEER, ("storage_path", |layout| layout.artifacts.clone().into())],
        program: weir_source_controller::program,
    },
    Member {
        name: "kustomize-controller",
        command: weir_kustomize_controller::args::Args::command,
        gates: &weir_kustomize_controller::args::GATES,
        impersonates: true,
        filled_in: &[EVENTS_URL, EVENTS_PEER, ("source_grpc_addr", |layout| layout.peer.clone().into())],
        program: weir_kustomize_controller::program,
    },
    Member {
        name: "image-reflector-controller",
        command: weir_image_reflector_controller::args::Args::command,
        gates: &weir_image_reflector_controller::args::GATES,
        impersonates: false,
        filled_in: &[EVENTS_URL, EVENTS_PEER, ("storage_path", |layout| layout.tags.clone().into())],
        program: weir_image_reflector_controller::program,
    },
    Member {
        name: "image-automation-controller",
        command: weir_image_automation_controller::args::Args::command,
        gates: &weir_image_automation_controller::args::GATES,
        impersonates: false,
        filled_in: &[
            EVENTS_URL,
            EVENTS_PEER,
            ("image_reflector_grpc_addr", |layout| layout.peer.clone().into()),
        ],
        program: weir_image_automation_controller::program,
    },
    Member {
        name: "notification-controller",
        command: weir_notification_controller::args::Args::command,
        gates: weir_notification_controller::args::GATES,
        impersonates: false,
        filled_in: &[("outbox_path", |layout| layout.outbox.clone().into())],
        program: weir_notification_controller::program,
    },
];

impl Member {
    /// The service whose name this process was started by, as through a link.
    pub(super) fn of_this_process() -> Option<&'static Self> {
        let program = PathBuf::from(std::env::args_os().next()?);
        MEMBERS.iter().find(|member| program.file_name() == Some(OsStr::new(member.name)))
    }

    /// The flags that `weir run` offers for this service.
    pub(super) fn own_flags(&self) -> Vec<Arg> {
        let command = (self.command)();
        command.get_arguments().filter(|flag| self.filled_in(flag).is_none()).cloned().collect()
    }

    /// The argument list of the service.
    pub(super) fn arguments(&self, given: &ArgMatches, layout: &Layout) -> Vec<OsString> {
        let mut arguments = vec![OsString::from(self.name)];
        let gates: Vec<&str> =
            given.get_many::<String>("feature_gates").into_iter().flatten().map(String::as_str).collect();
        let gates = self.gates_among(&gates.join(","));
        for flag in (self.command)().get_arguments() {
            let Some(long) = flag.get_long() else { continue };
            let id = flag.get_id().as_str();
            if let Some(value) = self.filled_in(flag) {
                arguments.push(argument(long, value(layout)));
            } else if id == "feature_gates" {
                arguments.push(argument(long, gates.clone().into()));
            } else if id == "default_service_account" && !self.takes_default_account(&gates) {
                // The default of the service, which is the Pod.
            } else if given.try_contains_id(id).unwrap_or_default() {
                let values = given.get_raw(id).into_iter().flatten();
                arguments.extend(values.map(|value| argument(long, value.to_owned())));
            }
        }
        arguments
    }

    fn filled_in(&self, flag: &Arg) -> Option<Fill> {
        let found = self.filled_in.iter().find(|(id, _)| flag.get_id() == id);
        found.map(|(_, value)| *value)
    }

    fn takes_default_account(&self, gates: &str) -> bool {
        // A flag that cannot be read is refused by the service itself.
        let gates = Gates::parse(self.gates, gates).unwrap_or_default();
        self.impersonates || gates.enabled(WORKLOAD_IDENTITY)
    }

    fn gates_among(&self, flag: &str) -> String {
        let own = gates(flag).filter(|gate| self.has_gate(gate)).collect::<Vec<_>>();
        own.join(",")
    }

    fn has_gate(&self, gate: &str) -> bool {
        let name = gate.split('=').next().unwrap_or(gate);
        self.gates.iter().any(|(known, _)| *known == name)
    }
}

/// Refuses gates that no service has; each service gets only its own (FLG-01).
pub(super) fn check_gates(flag: &str) -> Result<(), Error> {
    match gates(flag).find(|gate| !MEMBERS.iter().any(|member| member.has_gate(gate))) {
        Some(gate) => {
            let name = gate.split('=').next().unwrap_or(gate);
            Err(Error::Flags(format!("feature-gate '{name}' not supported")))
        }
        None => Ok(()),
    }
}

fn gates(flag: &str) -> impl Iterator<Item = &str> {
    flag.split(',').map(str::trim).filter(|gate| !gate.is_empty())
}

fn argument(long: &str, value: OsString) -> OsString {
    let mut argument = OsString::from(format!("--{long}="));
    argument.push(value);
    argument
}
