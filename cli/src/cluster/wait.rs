//! Waits for one object (CLI-G20): by watch, and for accounts that may not watch by asking again and again.

use std::time::Duration;

use jiff::Timestamp;
use kube::api::{Api, DynamicObject};
use kube::runtime::wait::{Error as WaitError, await_condition};
use kube::runtime::watcher;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use super::{Cluster, Selection, watch_error};
use crate::error::Error;
use crate::kind::Kind;
use crate::readiness::{self, Wait};

/// Time for a last look at an object that did not get there in time.
pub(crate) const LAST_LOOK: Duration = Duration::from_secs(5);

/// Time from one look at an object to the next where it may not be watched, as in Flux.
const PERIOD: Duration = Duration::from_secs(2);

impl Cluster {
    /// Waits until `done` is true, and returns the object as it was then.
    pub(crate) async fn wait(
        &self,
        kind: &'static Kind,
        name: &str,
        done: impl Fn(&DynamicObject, Timestamp) -> Wait,
    ) -> Result<DynamicObject, Error> {
        let is_over = |object: Option<&DynamicObject>| {
            object.is_none_or(|it| done(it, Timestamp::now()) != Wait::GoesOn)
        };
        let Ok(waited) = self.in_time(self.ending(kind, name, is_over)).await else {
            return Err(self.too_late(kind, name).await);
        };
        let object = waited?.ok_or_else(|| Error::NotFound { kind, name: name.to_owned() })?;
        match done(&object, Timestamp::now()) {
            Wait::Failed(reason) => Err(Error::Stalled(reason)),
            Wait::Over | Wait::GoesOn => Ok(object),
        }
    }

    /// Returns the object once the wait for it is over.
    async fn ending(
        &self,
        kind: &'static Kind,
        name: &str,
        is_over: impl Fn(Option<&DynamicObject>) -> bool,
    ) -> Result<Option<DynamicObject>, Error> {
        let api = self.api(kind, false);
        match await_condition(api.clone(), name, &is_over).await {
            Err(WaitError::ProbeFailed(error)) if is_forbidden(&error) => {
                polled(&api, name, is_over).await.map_err(|error| Error::api(kind, error))
            }
            Err(WaitError::ProbeFailed(error)) => Err(watch_error(kind, &Selection::default(), error)),
            Ok(object) => Ok(object),
        }
    }

    /// Returns the error of a wait that took too long: what was waited for, and what the object says about it.
    async fn too_late(&self, kind: &'static Kind, name: &str) -> Error {
        let object = timeout_at(Instant::now() + LAST_LOOK, self.api(kind, false).get(name)).await;
        let said = match &object {
            Ok(Ok(object)) => readiness::said(object),
            Ok(Err(error)) => format!("it cannot be read: {error}"),
            Err(_) => "the API server does not answer".to_owned(),
        };
        Error::TooLate { kind: kind.name, name: name.to_owned(), namespace: self.namespace.clone(), said }
    }
}

/// Looks at an object at once and then from time to time, which takes the right to get it alone.
async fn polled(
    api: &Api<DynamicObject>,
    name: &str,
    is_over: impl Fn(Option<&DynamicObject>) -> bool,
) -> kube::Result<Option<DynamicObject>> {
    let mut looks = interval(PERIOD);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        let object = api.get_opt(name).await?;
        if is_over(object.as_ref()) {
            return Ok(object);
        }
    }
}

/// Returns true when the account may not list the object, or not watch it.
fn is_forbidden(error: &watcher::Error) -> bool {
    let status = match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status)) => status,
        watcher::Error::WatchError(status) => status,
        _ => return false,
    };
    status.code == 403
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use kube::client::Body;
    use parking_lot::Mutex;
    use serde_json::json;

    use super::*;

    /// An API server with an object that is handled at the third look. Asked for a list or a watch, it answers with the status.
    fn cluster(list: u16, watch: u16, asked: Arc<Mutex<Vec<String>>>) -> Cluster {
        let server = tower::service_fn(move |request: http::Request<Body>| {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            let way = match request.uri().path().ends_with("/app") {
                true => "get",
                false if is_watch => "watch",
                false => "list",
            };
            let mut asked = asked.lock();
            asked.push(way.to_owned());
            let is_handled = asked.iter().filter(|way| *way == "get").count() == 3;
            let object = json!({
                "apiVersion": "v1", "kind": "X", "metadata": { "name": "app", "resourceVersion": "1" }, "handled": is_handled,
            });
            let list_of_it = json!({ "apiVersion": "v1", "kind": "XList", "metadata": { "resourceVersion": "1" }, "items": [object] });
            let (status, body) = match way {
                "get" => (200, object.to_string()),
                "list" if list == 200 => (200, list_of_it.to_string()),
                "list" => (list, refusal(list)),
                _ => (watch, refusal(watch)),
            };
            let mut answer = http::Response::new(Body::from(body.into_bytes()));
            *answer.status_mut() = http::StatusCode::from_u16(status).unwrap();
            std::future::ready(Ok::<_, Infallible>(answer))
        });
        let client = kube::Client::new(server, "default");
        Cluster { client, namespace: "default".to_owned(), deadline: Instant::now() + Duration::from_secs(3) }
    }

    fn refusal(code: u16) -> String {
        json!({ "kind": "Status", "status": "Failure", "message": "refused", "reason": "", "code": code })
            .to_string()
    }

    fn is_handled(object: &DynamicObject, _: Timestamp) -> Wait {
        if object.data["handled"] == true { Wait::Over } else { Wait::GoesOn }
    }

    /// CLI-REC01: Flux gets the object, so that an account needs no other right.
    #[rstest::rstest]
    #[case::may_not_list(403, 403, &["list", "get", "get", "get"])]
    #[case::may_not_watch(200, 403, &["list", "watch", "get", "get", "get"])]
    #[tokio::test(start_paused = true)]
    async fn an_account_that_may_not_watch_asks_every_two_seconds(
        #[case] list: u16,
        #[case] watch: u16,
        #[case] expected: &[&str],
    ) {
        let (asked, began) = (Arc::default(), Instant::now());
        let mut cluster = cluster(list, watch, Arc::clone(&asked));
        cluster.deadline += Duration::from_secs(3);
        cluster.wait(Kind::named("Kustomization").unwrap(), "app", is_handled).await.unwrap();
        assert_eq!(*asked.lock(), expected);
        assert_eq!(began.elapsed().as_secs(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn looking_ends_at_the_deadline() {
        let cluster = cluster(403, 403, Arc::default());
        let error = cluster.wait(Kind::named("Kustomization").unwrap(), "app", is_handled).await.unwrap_err();
        assert!(matches!(error, Error::TooLate { .. }), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn another_refusal_ends_the_wait() {
        let asked = Arc::default();
        let cluster = cluster(400, 400, Arc::clone(&asked));
        let error = cluster.wait(Kind::named("Kustomization").unwrap(), "app", is_handled).await.unwrap_err();
        assert!(error.to_string().contains("refused"), "{error}");
        assert_eq!(*asked.lock(), ["list"]);
    }
}
