//! The services that run together, one row each.

use std::ffi::OsString;
use std::future::Future;

use clap::{Arg, ArgMatches, Command, CommandFactory, Parser};
use weir_runtime::service::Entry;
use weir_runtime::{Environment, ServiceError};

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
    /// Flags that are no flags of `weir run`, because they say how services of one process find each other.
    filled_in: &'static [(&'static str, Fill)],
    /// Parses its arguments.
    pub(super) start: fn(Vec<OsString>) -> Result<Entry, clap::Error>,
}

const EVENTS_URL: (&str, Fill) = ("events_addr", |layout| layout.events_url.clone().into());
const EVENTS_PEER: (&str, Fill) = ("events_grpc_addr", |layout| layout.peer.clone().into());

/// The services.
pub(super) static MEMBERS: [Member; 5] = [
    Member {
        name: "source-controller",
        command: weir_source_controller::args::Args::command,
        gates: &weir_source_controller::args::GATES,
        filled_in: &[EVENTS_URL, EVENTS_PEER, ("storage_path", |layout| layout.artifacts.clone().into())],
        start: |arguments| entry(arguments, weir_source_controller::run),
    },
    Member {
        name: "kustomize-controller",
        command: weir_kustomize_controller::args::Args::command,
        gates: &weir_kustomize_controller::args::GATES,
        filled_in: &[EVENTS_URL, EVENTS_PEER, ("source_grpc_addr", |layout| layout.peer.clone().into())],
        start: |arguments| entry(arguments, weir_kustomize_controller::run),
    },
    Member {
        name: "image-reflector-controller",
        command: weir_image_reflector_controller::args::Args::command,
        gates: &weir_image_reflector_controller::args::GATES,
        filled_in: &[EVENTS_URL, EVENTS_PEER, ("storage_path", |layout| layout.tags.clone().into())],
        start: |arguments| entry(arguments, weir_image_reflector_controller::run),
    },
    Member {
        name: "image-automation-controller",
        command: weir_image_automation_controller::args::Args::command,
        gates: &weir_image_automation_controller::args::GATES,
        filled_in: &[
            EVENTS_URL,
            EVENTS_PEER,
            ("image_reflector_grpc_addr", |layout| layout.peer.clone().into()),
        ],
        start: |arguments| entry(arguments, weir_image_automation_controller::run),
    },
    Member {
        name: "notification-controller",
        command: weir_notification_controller::args::Args::command,
        gates: weir_notification_controller::args::GATES,
        filled_in: &[("outbox_path", |layout| layout.outbox.clone().into())],
        start: |arguments| entry(arguments, weir_notification_controller::run),
    },
];

impl Member {
    /// The flags that `weir run` offers for this service.
    pub(super) fn own_flags(&self) -> Vec<Arg> {
        let command = (self.command)();
        command.get_arguments().filter(|flag| self.filled_in(flag).is_none()).cloned().collect()
    }

    /// The argument list of the service.
    pub(super) fn arguments(&self, given: &ArgMatches, layout: &Layout) -> Vec<OsString> {
        let mut arguments = vec![OsString::from(self.name)];
        for flag in (self.command)().get_arguments() {
            let Some(long) = flag.get_long() else { continue };
            let id = flag.get_id().as_str();
            if let Some(value) = self.filled_in(flag) {
                arguments.push(argument(long, value(layout)));
            } else if id == "feature_gates" {
                let gates = given.get_one::<String>(id).map_or("", String::as_str);
                arguments.push(argument(long, self.gates_among(gates).into()));
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
            Err(Error::RunFlags(format!("feature-gate '{name}' not supported")))
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

fn entry<A, R, F>(arguments: Vec<OsString>, run: R) -> Result<Entry, clap::Error>
where
    A: Parser + Send + 'static,
    R: FnOnce(A, Environment) -> F + Send + 'static,
    F: Future<Output = Result<(), ServiceError>> + Send + 'static,
{
    let args = A::try_parse_from(arguments)?;
    Ok(Box::new(move |env| Box::pin(run(args, env))))
}
