//! Events are what anybody in the cluster posts: what is taken is written and read again as the same event, and every type of
//! provider renders or refuses it.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use weir_notification_controller::dedupe;
use weir_notification_controller::event::{Event, metadata};
use weir_notification_controller::provider::{build, settings::Settings};

/// A type and an address of the form that it takes.
const PROVIDERS: [(&str, &str); 29] = [
    ("generic", "https://hook.test/x"),
    ("generic-hmac", "https://hook.test/x"),
    ("slack", "https://hooks.slack.com/services/a"),
    ("discord", "https://discord.com/api/webhooks/1/a"),
    ("rocket", "https://rocket.test/hooks/a"),
    ("msteams", "https://x.webhook.office.com/a"),
    ("googlechat", "https://chat.googleapis.com/v1/spaces/a"),
    ("webex", "https://webexapis.com/v1/messages"),
    ("telegram", "https://api.telegram.org"),
    ("lark", "https://open.larksuite.com/a"),
    ("matrix", "https://matrix.test"),
    ("zulip", "https://zulip.test/api/v1/messages"),
    ("zoom", "https://inbots.zoom.us/a"),
    ("opsgenie", "https://api.opsgenie.com/v2/alerts"),
    ("pagerduty", "https://events.pagerduty.com"),
    ("incident.io", "https://api.incident.io/v2/alert_events/http/a"),
    ("alertmanager", "https://alertmanager.test/api/v2/alerts"),
    ("grafana", "https://grafana.test/api/annotations"),
    ("datadog", "https://api.datadoghq.com"),
    ("github", "https://github.com/org/repository"),
    ("gitlab", "https://gitlab.com/org/repository"),
    ("gitea", "https://gitea.test/org/repository"),
    ("bitbucket", "https://bitbucket.org/org/repository"),
    ("bitbucketserver", "https://bitbucket.test/scm/org/repository"),
    ("azuredevops", "https://dev.azure.com/org/project/_git/repository"),
    ("githubpullrequestcomment", "https://github.com/org/repository"),
    ("giteapullrequestcomment", "https://gitea.test/org/repository"),
    ("gitlabmergerequestcomment", "https://gitlab.com/org/repository"),
    ("githubdispatch", "https://github.com/org/repository"),
];

fn settings(provider_type: &str, address: &str) -> Settings {
    Settings {
        provider_type: provider_type.to_owned(),
        provider_uid: "0c9c2e41-d2f9-4f9b-9c41-bebc1984d67a".to_owned(),
        address: address.to_owned(),
        channel: "general/topic".to_owned(),
        username: "weir".to_owned(),
        token: "token:x".to_owned(),
        hmac_key: b"key".to_vec(),
        commit_status: "kustomization/app".to_owned(),
        ..Settings::default()
    }
}

fuzz_target!(|body: &[u8]| {
    let Ok(mut event) = Event::from_slice(body) else { return };
    let bytes = event.to_bytes();
    let again = Event::from_slice(&bytes).expect("what was written can be read");
    assert_eq!(again.to_bytes(), bytes);

    metadata::clean(&mut event);
    let _key = dedupe::key(&event);
    metadata::drop_token(&mut event);
    let alert = BTreeMap::from([("revision".to_owned(), "x".to_owned())]);
    event.metadata = metadata::combine(&event, &alert, "a summary").metadata;
    for (provider_type, address) in PROVIDERS {
        let notifier = build(&settings(provider_type, address))
            .unwrap_or_else(|error| panic!("{provider_type}: {error}"));
        let _delivery = notifier.render(&event);
    }
});
