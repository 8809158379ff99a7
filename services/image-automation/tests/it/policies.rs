//! The policies that an automation uses: those of its selector, or all of its namespace (IU-3).

use kube::api::Patch;
use serde_json::{Value, json};

use crate::world::World;

impl World {
    /// Gives a policy this team as a label.
    async fn join(&self, policy: &str, team: &str) {
        let change = Patch::Merge(json!({"metadata": {"labels": {"team": team}}}));
        self.api("ImagePolicy").await.patch(policy, &Default::default(), &change).await.unwrap();
    }

    async fn change(&self, automation: &str, spec: Value) {
        let api = self.api("ImageUpdateAutomation").await;
        api.patch(automation, &Default::default(), &Patch::Merge(json!({"spec": spec}))).await.unwrap();
    }

    /// Waits until the policies of the last successful run are these.
    async fn until_policies(&self, automation: &str, names: &[&str]) {
        let are_these = |status: &Value| {
            let seen = status["observedPolicies"].as_object();
            seen.is_some_and(|seen| seen.keys().map(String::as_str).eq(names.iter().copied()))
        };
        self.until(automation, &format!("the policies to be {names:?}"), are_these).await;
    }
}

#[tokio::test]
async fn only_policies_of_the_selector_are_used() {
    let world = World::start().await;
    let repo = world.git.repo("app").unwrap();
    let policies = ["api", "jobs", "web"];
    let files = policies.map(|policy| (format!("{policy}.yaml"), world.manifest("old:1", policy)));
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    repo.commit("main", "first", &files).unwrap();
    for (policy, team) in policies.into_iter().zip(["a", "b", "a"]) {
        world.select(policy, &format!("r/{policy}"), "1.0.0").await;
        world.join(policy, team).await;
    }
    world.repository("app").await;
    let is_changed = |policy: &str| {
        let found = repo.read("main", &format!("{policy}.yaml")).unwrap();
        found == world.manifest(&format!("r/{policy}:1.0.0"), policy)
    };

    let expression = json!({"key": "team", "operator": "In", "values": ["a"]});
    let selector = json!({"matchLabels": {"team": "a"}, "matchExpressions": [expression]});
    let author = json!({"commit": {"author": {"email": "bot@example.com"}}});
    let source = json!({"kind": "GitRepository", "name": "app"});
    let spec = json!({"interval": "1h", "sourceRef": source, "git": author, "policySelector": selector});
    let object = json!({"apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImageUpdateAutomation", "metadata": {"name": "app"}, "spec": spec});
    world.apply(object).await;
    world.until_policies("app", &["api", "web"]).await;
    assert_eq!(policies.map(is_changed), [true, false, true]);

    // A policy that gets the label counts from the next run on.
    world.join("jobs", "a").await;
    world.touch("app").await;
    world.until_policies("app", &policies).await;
    assert!(policies.into_iter().all(is_changed));

    let odd = json!([{"key": "team", "operator": "Like", "values": ["a"]}]);
    world.change("app", json!({"policySelector": {"matchExpressions": odd}})).await;
    world
        .until_failed(
            "app",
            "failed to parse policy selector: \"Like\" is not a valid label selector operator",
        )
        .await;
}
