//! Names that a command line may go on with: objects and namespaces of the cluster, contexts of the kubeconfig.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use clap::{Arg, ArgMatches, Command};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};

use super::line::Line;
use crate::cluster::Cluster;
use crate::discovery::Discovery;
use crate::global::Global;
use crate::kind::{Group, KINDS, Kind};

/// Longest wait for names. A shell that hangs for longer is worse than one that completes nothing.
const LONGEST: Duration = Duration::from_millis(800);
/// Variable with another one, for clusters that are far away.
const WAIT: &str = "WEIR_COMPLETION_WAIT";

/// Names offered at most, the first of the alphabet: nobody reads more, and one answer of the API server holds them.
const MAX_NAMES: u32 = 1000;

/// Names of an argument.
#[derive(Debug, Clone, Copy)]
enum Names {
    /// Objects of a kind.
    Objects(&'static Kind),
    /// Objects of the kind that another argument names.
    ObjectsOf(&'static str),
    /// Kinds and, behind a slash, their objects.
    KindAndObject,
    /// All kinds of the cluster and, behind a slash or another word, their objects.
    AnyObject,
    /// Kinds.
    Kinds,
    Namespaces,
    Contexts,
    Clusters,
    Users,
}

/// The line that asks for names, and the commands that it may have.
#[derive(Clone)]
pub(super) struct Asker {
    pub(super) line: Arc<Line>,
    pub(super) command: fn() -> Command,
}

/// Adds names to the arguments of a command and of all its subcommands; `words` lead to the command.
pub(super) fn attach(command: Command, words: &[&str], asker: &Asker) -> Command {
    let attach_to_arg = |arg: Arg| match Names::of(words, arg.get_id().as_str()) {
        Some(names) => {
            let asker = asker.clone();
            arg.add(ArgValueCandidates::new(move || names.candidates(&asker)))
        }
        None => arg,
    };
    command.mut_args(attach_to_arg).mut_subcommands(|subcommand| {
        let word = subcommand.get_name().to_owned();
        attach(subcommand, &[words, &[word.as_str()]].concat(), asker)
    })
}

impl Names {
    /// Returns the names for an argument of a command.
    fn of(words: &[&str], argument: &str) -> Option<Self> {
        match (words, argument) {
            (_, "namespace" | "flux_namespace") => Some(Self::Namespaces),
            (_, "target-namespace" | "storage-namespace" | "with-namespace" | "git-repo-namespace") => {
                Some(Self::Namespaces)
            }
            (_, "context") => Some(Self::Contexts),
            (_, "cluster") => Some(Self::Clusters),
            (_, "user") => Some(Self::Users),
            (["why"] | ["events"], "object") => Some(Self::KindAndObject),
            (["trace"], "objects") => Some(Self::AnyObject),
            (["watch"] | ["logs"], "kind") => Some(Self::Kinds),
            (["watch"] | ["logs"], "name") => Some(Self::ObjectsOf("kind")),
            (["why"], "name") => Some(Self::ObjectsOf("object")),
            (words, "name" | "names") => kind_of(words).map(Self::Objects),
            _ => None,
        }
    }

    fn candidates(self, asker: &Asker) -> Vec<CompletionCandidate> {
        let kinds = KINDS.iter().map(|kind| kind.name);
        let names = match self {
            Self::Kinds => Some(kinds.map(str::to_owned).collect()),
            Self::KindAndObject => {
                let word = asker.line.current().to_string_lossy();
                let word = word.rsplit_once('=').map_or(&*word, |(_, value)| value);
                match word.split_once('/') {
                    None => Some(kinds.map(|kind| format!("{}/", kind.to_lowercase())).collect()),
                    Some((word, _)) => asker
                        .objects(Kind::find(word))
                        .map(|names| names.iter().map(|name| format!("{word}/{name}")).collect()),
                }
            }
            Self::AnyObject => asker.anything("objects"),
            Self::Objects(kind) => asker.objects(Some(kind)),
            Self::ObjectsOf(argument) => asker.objects_of(argument),
            Self::Namespaces => asker.namespaces(),
            Self::Contexts | Self::Clusters | Self::Users => asker.of_kubeconfig(self),
        };
        names.unwrap_or_default().into_iter().map(CompletionCandidate::new).collect()
    }
}

/// Returns the kind of the objects that a command is about: its last words name it, behind the verb.
fn kind_of(words: &[&str]) -> Option<&'static Kind> {
    let (group, word) = match words {
        [_, word] => (None, word),
        [_, group, word] => {
            let is_meant = |known: &Group| [known.words().0, known.words().1].contains(group);
            (Some(Group::ALL.into_iter().find(is_meant)?), word)
        }
        _ => return None,
    };
    KINDS.iter().find(|kind| kind.words.group == group && [kind.words.one, kind.words.many].contains(word))
}

impl Asker {
    fn flags(&self) -> Option<(Global, ArgMatches)> {
        self.line.flags((self.command)())
    }

    /// Asks for the objects of a kind in the namespace that the command would work in, or in all of them.
    fn objects(&self, kind: Option<&'static Kind>) -> Option<Vec<String>> {
        let (kind, (global, arguments)) = (kind?, self.flags()?);
        let everywhere = arguments.try_get_one::<bool>("all_namespaces").ok().flatten() == Some(&true);
        ask_cluster(global, async move |cluster| {
            let resource = kind.api_resource();
            names(match everywhere {
                true => Api::all_with(cluster.client, &resource),
                false => Api::namespaced_with(cluster.client, &cluster.namespace, &resource),
            })
            .await
        })
    }

    /// Asks for the objects of the kind that stands before the slash, or is the first of the words of an argument; of neither, for
    /// the kinds.
    fn anything(&self, argument: &str) -> Option<Vec<String>> {
        let (global, arguments) = self.flags()?;
        let first =
            arguments.try_get_many::<String>(argument).ok().flatten().and_then(|mut words| words.next());
        let first = first.filter(|word| !word.contains('/')).cloned();
        let current = self.line.current().to_string_lossy().into_owned();
        ask_cluster(global, async move |cluster| {
            let discovery = Discovery::ask(&cluster).await.ok()?;
            let (word, before) = match (current.split_once('/'), first) {
                (Some((word, _)), _) => (word.to_owned(), format!("{word}/")),
                (None, Some(word)) => (word, String::new()),
                (None, None) => return Some(discovery.kinds().map(|kind| format!("{kind}/")).collect()),
            };
            let found = names(discovery.resource(&word).ok()?.objects(&cluster)).await?;
            Some(found.iter().map(|name| format!("{before}{name}")).collect())
        })
    }

    fn objects_of(&self, argument: &str) -> Option<Vec<String>> {
        let (_, arguments) = self.flags()?;
        let word = arguments.try_get_one::<String>(argument).ok().flatten()?;
        self.objects(Kind::find(word))
    }

    fn namespaces(&self) -> Option<Vec<String>> {
        let (global, _) = self.flags()?;
        let resource = ApiResource::erase::<Namespace>(&());
        ask_cluster(global, async move |cluster| names(Api::all_with(cluster.client, &resource)).await)
    }

    fn of_kubeconfig(&self, names: Names) -> Option<Vec<String>> {
        let (global, _) = self.flags()?;
        let file = in_time(move || global.access.kubeconfig().ok().flatten())?;
        Some(match names {
            Names::Clusters => file.clusters.into_iter().map(|it| it.name).collect(),
            Names::Users => file.auth_infos.into_iter().map(|it| it.name).collect(),
            _ => file.contexts.into_iter().map(|it| it.name).collect(),
        })
    }
}

/// Asks a cluster for names.
fn ask_cluster(
    global: Global,
    ask: impl AsyncFnOnce(Cluster) -> Option<Vec<String>> + Send + 'static,
) -> Option<Vec<String>> {
    weir_runtime::service::install_crypto();
    let asking = async move || ask(global.cluster().await.ok()?).await;
    in_time(move || weir_runtime::service::single_threaded_runtime().ok()?.block_on(asking()))
}

async fn names(objects: Api<DynamicObject>) -> Option<Vec<String>> {
    let found = objects.list_metadata(&ListParams::default().limit(MAX_NAMES)).await.ok()?;
    Some(found.items.iter().map(ResourceExt::name_any).collect())
}

/// Waits for an answer no longer than a shell should. The thread that is then left alone ends with the process, which has
/// nothing more to do: programs that the kubeconfig names for logins, and slow file systems, cannot be interrupted.
fn in_time<T: Send + 'static>(ask: impl FnOnce() -> Option<T> + Send + 'static) -> Option<T> {
    let (sender, receiver) = sync_channel(1);
    std::thread::spawn(move || drop(sender.send(ask())));
    receiver.recv_timeout(longest_wait()).ok().flatten()
}

/// Returns the longest wait for an answer.
pub(super) fn longest_wait() -> Duration {
    let given = std::env::var(WAIT).ok().and_then(|text| text.parse::<weir_api::Duration>().ok());
    given.map_or(LONGEST, weir_api::Duration::to_std)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(&["get", "kustomizations"], Some("Kustomization"))]
    #[case(&["suspend", "source", "git"], Some("GitRepository"))]
    #[case(&["get", "sources", "chart"], Some("HelmChart"))]
    #[case(&["tree", "artifact", "generator"], Some("ArtifactGenerator"))]
    #[case(&["create", "secret", "receiver"], None)]
    #[case(&["create", "tenant"], None)]
    #[case(&["get", "sources", "all"], None)]
    #[case(&["push", "artifact"], None)]
    fn kinds_are_found_by_the_words_of_commands(#[case] words: &[&str], #[case] kind: Option<&str>) {
        assert_eq!(kind_of(words).map(|kind| kind.name), kind);
    }

    #[test]
    fn an_answer_that_takes_too_long_is_none() {
        let (answer, never) = sync_channel::<()>(1);
        assert_eq!(in_time(move || never.recv().ok()), None);
        drop(answer);
        assert_eq!(in_time(|| Some(1)), Some(1));
    }
}
