//! Explanations of what keeps a Kustomization from being Ready: first all facts are gathered, then a tree is made of them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use weir_api::condition_type::{READY, RECONCILING};
use weir_api::{Condition, Kustomization, reason};
use weir_kstatus::Status as Health;
use weir_proto::Timestamp;
use weir_proto::kustomize::v1::{Explanation, State};
use weir_runtime::{ObjectKey, condition};

use crate::kustomization::dependencies_of;
use crate::source::{SeenSource, SourceId};

/// Kustomizations looked at for one explanation; the chain of causes of any real cluster is far shorter.
const MAX_EXPLAINED: usize = 200;
/// Objects named of one Kustomization that are not healthy.
const MAX_OBJECTS: usize = 50;

/// Everything known of the Kustomizations that a chain of causes may lead to.
pub(super) struct Facts {
    known: HashMap<ObjectKey, Fact>,
    left: VecDeque<ObjectKey>,
}

/// One of them.
pub(super) enum Fact {
    /// The caller may not see it.
    Hidden,
    /// It does not exist.
    Missing,
    Known(Box<Known>),
}

pub(super) struct Known {
    pub(super) object: Arc<Kustomization>,
    pub(super) source: SourceFact,
    /// Objects that its run waits for, with their health and its message.
    pub(super) awaited: Vec<(String, Health, String)>,
}

/// A source.
pub(super) enum SourceFact {
    Hidden,
    Missing,
    Known(SeenSource),
}

impl Facts {
    /// Nothing is known yet; one Kustomization is asked about.
    pub(super) fn about(start: &ObjectKey) -> Self {
        Self { known: HashMap::new(), left: VecDeque::from([start.clone()]) }
    }

    /// The next Kustomization to look at.
    pub(super) fn next(&mut self) -> Option<ObjectKey> {
        if self.known.len() >= MAX_EXPLAINED {
            return None;
        }
        std::iter::from_fn(|| self.left.pop_front()).find(|key| !self.known.contains_key(key))
    }

    /// Takes the facts about one, which may lead to others.
    pub(super) fn insert(&mut self, key: ObjectKey, fact: Fact) {
        if let Fact::Known(known) = &fact
            && state(&known.object) != State::Ready
        {
            self.left.extend(dependencies_of(&known.object));
        }
        self.known.insert(key, fact);
    }

    /// The explanation of one Kustomization.
    pub(super) fn explain(&self, key: &ObjectKey) -> Explanation {
        self.explain_once(key, &mut HashSet::new())
    }

    /// Explains each Kustomization at its first mention only: many may wait for the same, or for each other.
    fn explain_once(&self, key: &ObjectKey, told: &mut HashSet<ObjectKey>) -> Explanation {
        let subject = format!("Kustomization/{key}");
        let known = match self.known.get(key) {
            Some(Fact::Known(known)) => known,
            Some(Fact::Missing) => return bare(subject, State::Missing, "there is no such object"),
            Some(Fact::Hidden) | None => return bare(subject, State::Hidden, ""),
        };
        let state = state(&known.object);
        let mut explanation =
            Explanation { object: subject, state: state.into(), ..words(&known.object, state) };
        if !matches!(state, State::Ready | State::Suspended) && told.insert(key.clone()) {
            let source = SourceId::of(&known.object);
            explanation.causes.extend(explain_source(&source, &known.source));
            for dependency in dependencies_of(&known.object) {
                let cause = self.explain_once(&dependency, told);
                explanation.causes.extend(Some(cause).filter(|cause| cause.state() != State::Ready));
            }
            explanation.causes.extend(known.awaited.iter().take(MAX_OBJECTS).map(explain_object));
        }
        explanation
    }
}

/// The state of a Kustomization, as its status shows it.
fn state(object: &Kustomization) -> State {
    let status = object.status.as_ref();
    let conditions = status.map_or(&[][..], |status| &status.conditions);
    let is_observed =
        status.is_some_and(|status| Some(status.observed_generation) == object.metadata.generation);
    match condition::find(conditions, READY) {
        _ if object.spec.suspend => State::Suspended,
        Some(ready) if ready.status == "True" && is_observed => State::Ready,
        Some(ready) if ready.status == "False" && ready.reason != reason::DEPENDENCY_NOT_READY => {
            State::Failed
        }
        _ => State::Waiting,
    }
}

fn words(object: &Kustomization, state: State) -> Explanation {
    let conditions = object.status.as_ref().map_or(&[][..], |status| &status.conditions);
    if state == State::Suspended {
        return Explanation {
            message: "nothing happens until it is resumed".to_owned(),
            ..Explanation::default()
        };
    }
    let ready = condition::find(conditions, READY);
    // While a run lasts, its step says more.
    let step = condition::find(conditions, RECONCILING).filter(|_| state == State::Waiting);
    match (ready, step) {
        (Some(ready), Some(step)) if ready.status == "Unknown" => said(step),
        (Some(ready), _) => said(ready),
        (None, _) => Explanation { message: "it was not looked at yet".to_owned(), ..Explanation::default() },
    }
}

fn said(condition: &Condition) -> Explanation {
    let time = condition.last_transition_time.0;
    let since = Some(Timestamp { seconds: time.as_second(), nanos: time.subsec_nanosecond() });
    Explanation { message: condition.message.clone(), since, ..Explanation::default() }
}

/// A source counts as long as it has an artifact, whatever its conditions are (KS-SRC-7), but a failed one explains why nothing new
/// comes.
fn explain_source(id: &SourceId, source: &SourceFact) -> Option<Explanation> {
    let subject = id.subject();
    let seen = match source {
        SourceFact::Hidden => return Some(bare(subject, State::Hidden, "")),
        SourceFact::Missing => return Some(bare(subject, State::Missing, "there is no such object")),
        SourceFact::Known(seen) => seen,
    };
    let ready = condition::find(&seen.conditions, READY);
    let is_ready = ready.is_some_and(|ready| ready.status == "True");
    if is_ready && seen.has_artifact && !seen.is_suspended {
        return None;
    }
    let state = match ready {
        _ if seen.is_suspended => State::Suspended,
        Some(ready) if ready.status == "False" => State::Failed,
        _ => State::Waiting,
    };
    let words = ready.map(said).unwrap_or_default();
    let mut explanation = Explanation { object: subject, state: state.into(), ..words };
    if !seen.has_artifact {
        let rest = std::mem::take(&mut explanation.message);
        explanation.message =
            if rest.is_empty() { "no artifact yet".to_owned() } else { format!("no artifact yet: {rest}") };
    }
    Some(explanation)
}

fn explain_object((subject, health, message): &(String, Health, String)) -> Explanation {
    let state = match health {
        Health::Failed => State::Failed,
        Health::NotFound => State::Missing,
        _ => State::Waiting,
    };
    bare(subject.clone(), state, message)
}

fn bare(object: String, state: State, message: &str) -> Explanation {
    Explanation { object, state: state.into(), message: message.to_owned(), ..Explanation::default() }
}

#[cfg(test)]
mod tests;
