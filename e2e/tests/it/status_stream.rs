//! Clients of the status stream, in Rust and in Python: whatever happens to the service or to them, they end with exactly
//! what the API has.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use weir_e2e::{World, weir_program};
use weir_testkit::{find_or_skip, repo_path};

const OBJECTS: usize = 10_000;
const NAMESPACE: &str = "fleet";
const KIND: &str = "HelmRepository";

/// For 10,000 objects, on a machine that compiles on every core meanwhile.
const DEADLINE: Duration = Duration::from_secs(180);

/// Requests to the API server at once.
const PARALLEL: usize = 32;

/// Names of objects, and whether they are suspended.
type Objects = BTreeMap<String, bool>;

/// A program that prints changes as lines of JSON, and what they add up to.
struct Client {
    name: &'static str,
    child: Child,
    objects: watch::Receiver<Objects>,
}

impl Client {
    fn start(name: &'static str, command: &mut Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let mut lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();
        let (tell, objects) = watch::channel(Objects::new());
        #[expect(clippy::disallowed_methods, reason = "ends with the child's output")]
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let change: Value = serde_json::from_str(&line).unwrap();
                let object = change["name"].as_str().unwrap().to_owned();
                tell.send_modify(|objects| {
                    if change["change"] == "deleted" {
                        assert!(objects.remove(&object).is_some(), "{name}: {object} was not there");
                    } else {
                        objects.insert(object, change["suspended"] == true);
                    }
                });
            }
        });
        Ok(Self { name, child, objects })
    }

    /// Stops it (`STOP`) or lets it go on (`CONT`), as a slow machine would.
    async fn signal(&self, signal: &str) -> Result<()> {
        let pid = self.child.id().context("the client has ended")?.to_string();
        let status = Command::new("kill").args([&format!("-{signal}"), &pid]).status().await?;
        anyhow::ensure!(status.success(), "kill -{signal} {pid}");
        Ok(())
    }

    /// Waits until it shows exactly what the API has.
    async fn agrees(&mut self, api: &Api<DynamicObject>) -> Result<()> {
        let expected = there(api).await?;
        let wait = self.objects.wait_for(|objects| *objects == expected);
        let reached = tokio::time::timeout(DEADLINE, wait).await.map(|ended| ended.map(drop));
        if let Ok(Ok(())) = reached {
            return Ok(());
        }
        let shown = self.objects.borrow().clone();
        let extra: Vec<_> = shown.iter().filter(|(name, _)| !expected.contains_key(*name)).take(5).collect();
        let wrong: Vec<_> =
            expected.iter().filter(|(name, it)| shown.get(*name) != Some(it)).take(5).collect();
        let (name, known, total) = (self.name, shown.len(), expected.len());
        anyhow::bail!(
            "{name} shows {known} of {total} objects; not there: {extra:?}, missing or old: {wrong:?}"
        )
    }
}

/// Returns the output of `kubectl get`.
async fn there(api: &Api<DynamicObject>) -> Result<Objects> {
    let mut objects = Objects::new();
    let mut params = ListParams::default().limit(1000);
    loop {
        let page = api.list(&params).await?;
        let named = page
            .items
            .into_iter()
            .map(|object| (object.metadata.name.unwrap_or_default(), object.data["spec"]["suspend"] == true));
        objects.extend(named);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(objects),
        }
    }
}

/// Does the same to many objects, many at a time.
async fn each<F>(numbers: impl Iterator<Item = usize>, work: impl Fn(String) -> F) -> Result<()>
where
    F: Future<Output = Result<(), kube::Error>>,
{
    let works = numbers.map(|number| work(format!("repository-{number:05}")));
    stream::iter(works).buffer_unordered(PARALLEL).try_collect::<Vec<()>>().await?;
    Ok(())
}

async fn create(api: &Api<DynamicObject>, numbers: impl Iterator<Item = usize>) -> Result<()> {
    each(numbers, async |name: String| {
        let object = json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": KIND, "metadata": { "name": name },
            "spec": { "type": "oci", "url": "oci://registry.example/charts" },
        });
        let object: DynamicObject = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
        api.create(&PostParams::default(), &object).await.map(drop)
    })
    .await
}

async fn suspend(
    api: &Api<DynamicObject>,
    numbers: impl Iterator<Item = usize>,
    suspend: bool,
) -> Result<()> {
    let patch = Patch::Merge(json!({ "spec": { "suspend": suspend } }));
    each(numbers, async |name: String| api.patch(&name, &PatchParams::default(), &patch).await.map(drop))
        .await
}

async fn delete(api: &Api<DynamicObject>, numbers: impl Iterator<Item = usize>) -> Result<()> {
    each(numbers, async |name: String| api.delete(&name, &DeleteParams::default()).await.map(drop)).await
}

async fn clients(world: &World) -> Result<Vec<Client>> {
    let resources = ("source.toolkit.fluxcd.io", &["helmrepositories"][..]);
    let token = world.plane.token_for(NAMESPACE, "follower", resources, &["list", "watch"]).await?;
    let address = world.weir.grpc_address();
    let mut command = Command::new(weir_program()?);
    command.env("KUBECONFIG", world.plane.kubeconfig_path());
    command.args(["watch", "helmrepositories", "-n", NAMESPACE, "--output", "json", "--timeout", "1m"]);
    command.args(["--grpc-addr", &address, "--token", &token]);
    let mut clients = vec![Client::start("weir watch", &mut command)?];
    if let Some(python) = find_or_skip("grpc-python").await? {
        let mut command = Command::new(python);
        command.env("PYTHONPATH", repo_path("proto")).arg(repo_path("e2e/clients/follow.py"));
        command.args([address.as_str(), &token, KIND, NAMESPACE]);
        clients.push(Client::start("follow.py", &mut command)?);
    }
    Ok(clients)
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_follow_ten_thousand_objects_through_restarts_slowness_and_deletions() -> Result<()> {
    let mut world = World::start().await?;
    world.plane.namespace(NAMESPACE).await?;
    let api = world.plane.api("source.toolkit.fluxcd.io/v1", KIND, NAMESPACE).await?;
    create(&api, 0..OBJECTS).await?;
    let mut clients = clients(&world).await?;
    for client in &mut clients {
        client.agrees(&api).await.context("at first")?;
    }

    // Slow: each object changes several times, and thousands go, while the clients do not read.
    for client in &clients {
        client.signal("STOP").await?;
    }
    suspend(&api, 0..2000, true).await?;
    suspend(&api, 0..1000, false).await?;
    delete(&api, 500..2500).await?;
    for client in &clients {
        client.signal("CONT").await?;
    }
    for client in &mut clients {
        client.agrees(&api).await.context("after a pause")?;
    }

    // Killed, and away while things change.
    world.weir.kill();
    delete(&api, 2500..3000).await?;
    suspend(&api, 3000..3500, true).await?;
    create(&api, OBJECTS..OBJECTS + 500).await?;
    world.weir.restart().await?;
    for client in &mut clients {
        client.agrees(&api).await.context("after a restart")?;
    }

    // Killed in the middle of it.
    let changing = Arc::new(api.clone());
    let change = async {
        suspend(&changing, 4000..5000, true).await?;
        delete(&changing, 5000..6000).await
    };
    let restart = async {
        world.weir.restart().await?;
        world.weir.restart().await
    };
    tokio::try_join!(change, restart)?;
    for client in &mut clients {
        client.agrees(&api).await.context("after restarts amid changes")?;
    }
    Ok(())
}
