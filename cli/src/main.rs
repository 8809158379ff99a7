//! The `weir` command: shows and steers what Weir's services do in a cluster, builds kustomizations, and runs all services
//! in one process.
//!
//! ```text
//!  cli (dispatch) ─►  command/<verb> ──► cluster (requests, waits) ──► Kubernetes
//!                                 │   └───────► watch: gRPC of the services
//!                                 ├── manifests ► apply: an installation, from the manifests in this program;
//!                                 │               installation: the one that is there
//!                                 ├── kind      one row a kind: words, columns, texts
//!                                 ├── changes   an apply tried on the server, and the report of it: diff, plan
//!                                 ├── builtin   Kubernetes' own kinds, as JSON
//!                                 ├── discovery the cluster's other kinds, by the words that people use
//!                                 ├── examples  of each command, for help texts, man pages and tests
//!                                 ├── kustomization  files in, objects out
//!                                 ├── refusal   of a command line, in Flux's words
//!                                 ├── flag_forms  forms of flags that Flux takes, and the parser does not
//!                                 ├── given     flags with an empty value
//!                                 ├── csv       lists on the command line
//!                                 ├── enumeration  flags that take one of a few words
//!                                 ├── integer   flags that take a number
//!                                 └── output    tables on stdout, progress on stderr
//! ```
//!
//! Invariants: results go to stdout and what is going on to stderr (CLI-G10); the exit code is 0 or 1, and 2
//! for a diff or a plan that fails; a kind is one row of [`kind::KINDS`].

mod apply;
mod builtin;
mod changes;
mod cli;
mod cluster;
mod command;
mod csv;
mod deployment;
mod discovery;
mod enumeration;
mod environment;
mod error;
mod examples;
mod flag_forms;
mod given;
mod global;
mod input;
mod installation;
mod integer;
mod kind;
mod kustomization;
mod manifests;
mod output;
mod plugin;
mod readiness;
mod refusal;
mod verb;

fn main() -> std::process::ExitCode {
    cli::main()
}
