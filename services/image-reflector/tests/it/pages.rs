//! Faults between the pages of a tag list: a scan has all tags or fails, and what was known before stays.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use axum::routing::get;
use serde::Deserialize;
use serde_json::{Value, json};
use weir_testkit::{Fault, FaultProxy, Server, touch_requested_at};

use crate::world::World;

/// Part of the request line of the second page, which most faults are about.
const SECOND: &str = "last=1";
/// More often than the controller tries.
const ALWAYS: usize = 100;

/// A registry whose second page may be wrong, and whose third one has a tag more with each heal.
#[derive(Debug, Default)]
struct Pages {
    /// Fault of the second page.
    wrong: parking_lot::Mutex<Wrong>,
    /// Number of tags of the third page.
    released: AtomicUsize,
    requests: AtomicUsize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Wrong {
    #[default]
    Nothing,
    /// It says that it is followed by itself.
    LeadsToItself,
    /// It says that it is followed by the first.
    LeadsToTheFirst,
    /// As [`Wrong::LeadsToTheFirst`], and no page has tags.
    IsEmptyAndLeadsInCircles,
    /// It says that another host has the next one.
    LeadsAstray,
    IsHtml,
    IsAnotherDocument,
}

#[derive(Deserialize)]
struct Asked {
    last: Option<usize>,
}

async fn page(State(pages): State<Arc<Pages>>, Query(asked): Query<Asked>) -> impl IntoResponse {
    pages.requests.fetch_add(1, Ordering::SeqCst);
    let wrong = *pages.wrong.lock();
    let released: Vec<String> =
        (0..pages.released.load(Ordering::SeqCst)).map(|tag| format!("3.{tag}")).collect();
    let (tags, next) = match (asked.last, wrong) {
        (None, Wrong::IsEmptyAndLeadsInCircles) => (json!([]), "?last=1"),
        (Some(1), Wrong::IsEmptyAndLeadsInCircles) => (json!([]), "list"),
        (None, _) => (json!(["1.0", "1.1"]), "?last=1"),
        (Some(1), Wrong::LeadsToItself) => (json!(["2.0"]), "?last=1"),
        (Some(1), Wrong::LeadsToTheFirst) => (json!(["2.0"]), "list"),
        (Some(1), Wrong::LeadsAstray) => (json!(["2.0"]), "http://evil.test/v2/app/tags/list"),
        (Some(1), Wrong::IsAnotherDocument) => (json!({"2.0": 1}), ""),
        (Some(1), _) => (json!(["2.0"]), "?last=2"),
        _ => (json!(released), ""),
    };
    let mut headers = HeaderMap::new();
    if !next.is_empty() {
        headers.insert(header::LINK, format!("<{next}>; rel=\"next\"").parse().unwrap());
    }
    let body = json!({"name": "app", "tags": tags}).to_string();
    let is_html = asked.last == Some(1) && wrong == Wrong::IsHtml;
    (headers, if is_html { "<html>we will be back soon</html>".to_owned() } else { body })
}

/// The repository `app` and its policy, behind a proxy.
struct Scanned {
    world: World,
    pages: Arc<Pages>,
    proxy: FaultProxy,
    _server: Server,
}

impl Scanned {
    async fn start() -> Self {
        let pages = Arc::new(Pages::default());
        let routes = Router::new().route("/v2/", get(|| async {})).route("/v2/app/tags/list", get(page));
        let server = Server::start(routes.with_state(pages.clone()), None).await.unwrap();
        let proxy = FaultProxy::http(&server.address().to_string()).await.unwrap();
        let world = World::start().await;
        let image = format!("{}/app", proxy.address());
        world.repository("app", &image, json!({"timeout": "20s"})).await;
        world.policy("app", "app", json!({"alphabetical": {}})).await;
        let scanned = Self { world, pages, proxy, _server: server };
        scanned.until_whole("2.0").await;
        scanned
    }

    /// Waits until the scan has all tags, and the policy the latest.
    async fn until_whole(&self, latest: &str) {
        let all = 3 + self.pages.released.load(Ordering::SeqCst);
        self.world.until("ImageRepository", "app", &format!("found {all} tags")).await;
        self.world.until("ImagePolicy", "app", &format!("resolved to {latest}")).await;
        assert_eq!(self.stored().lines().count(), all);
    }

    fn stored(&self) -> String {
        let folder = format!("imagerepository/{}/app", self.world.namespace);
        std::fs::read_to_string(self.world.storage().join(folder).join("tags.txt")).unwrap()
    }

    /// A new tag is there, and the list of tags has a fault: the scan fails, and all that was known stays.
    async fn fails(&self, message: &str) {
        let before = self.stored();
        self.pages.released.fetch_add(1, Ordering::SeqCst);
        self.scan().await;
        let status = self.world.until("ImageRepository", "app", message).await;
        assert_eq!(ready(&status)["status"], "False", "{status}");
        assert_eq!(self.stored(), before, "after: {message}");
        let policy = self.world.api("ImagePolicy").await.get("app").await.unwrap();
        let latest = before.lines().next().unwrap();
        assert_eq!(policy.data["status"]["latestRef"]["tag"], latest, "after: {message}");
    }

    /// The fault is gone: the next scan has all.
    async fn heals(&self) {
        self.proxy.set(Fault::None);
        *self.pages.wrong.lock() = Wrong::Nothing;
        self.scan().await;
        let newest = self.pages.released.load(Ordering::SeqCst) - 1;
        self.until_whole(&format!("3.{newest}")).await;
    }

    async fn scan(&self) {
        touch_requested_at(&self.world.api("ImageRepository").await, "app").await.unwrap();
    }
}

fn ready(status: &Value) -> &Value {
    let conditions = status["conditions"].as_array().unwrap();
    conditions.iter().find(|condition| condition["type"] == "Ready").unwrap()
}

#[tokio::test]
async fn a_page_that_breaks_off_stalls_or_is_refused_fails_the_scan_and_changes_nothing() {
    let scanned = Scanned::start().await;
    let faults = [
        Fault::CutAfter(10),
        Fault::ContentLength(7),
        Fault::ContentLength(-7),
        Fault::StallAfter(10),
        Fault::Status(500, None),
        Fault::Status(429, Some(0)),
        Fault::Away,
    ];
    for fault in faults {
        scanned.proxy.set_for(SECOND, ALWAYS, fault);
        scanned.fails("scan failed").await;
        scanned.heals().await;
    }
}

/// It was Ready after the failure, as if the scan had been made, and the new tag came an interval later.
#[tokio::test]
async fn regression_14_a_scan_that_was_asked_for_is_owed_until_it_succeeds() {
    let scanned = Scanned::start().await;
    scanned.proxy.set_for(SECOND, ALWAYS, Fault::Status(500, None));
    scanned.fails("scan failed").await;
    scanned.proxy.set(Fault::None);
    scanned.until_whole("3.0").await;
}

#[tokio::test]
async fn a_page_that_is_refused_once_is_asked_for_again() {
    let scanned = Scanned::start().await;
    for fault in
        [Fault::Status(500, None), Fault::Status(503, Some(0)), Fault::Status(429, Some(1)), Fault::Away]
    {
        scanned.proxy.forget_requests();
        scanned.proxy.set_for(SECOND, 1, fault);
        let newest = scanned.pages.released.fetch_add(1, Ordering::SeqCst);
        scanned.scan().await;
        scanned.until_whole(&format!("3.{newest}")).await;
        let asked = scanned.proxy.requests().iter().filter(|line| line.contains(SECOND)).count();
        assert_eq!(asked, 2, "{fault:?}");
    }
}

#[tokio::test]
async fn a_page_that_leads_in_circles_or_astray_or_is_none_fails_the_scan_and_changes_nothing() {
    let scanned = Scanned::start().await;
    let wrongs = [
        (Wrong::LeadsToItself, "circle"),
        (Wrong::LeadsToTheFirst, "circle"),
        (Wrong::IsEmptyAndLeadsInCircles, "circle"),
        (Wrong::LeadsAstray, "evil.test"),
        (Wrong::IsHtml, "tag list"),
        (Wrong::IsAnotherDocument, "tag list"),
    ];
    for (wrong, message) in wrongs {
        *scanned.pages.wrong.lock() = wrong;
        scanned.pages.requests.store(0, Ordering::SeqCst);
        scanned.fails(message).await;
        assert!(
            scanned.pages.requests.load(Ordering::SeqCst) < 20,
            "{wrong:?}: each page is asked for once a run"
        );
        scanned.heals().await;
    }
}
