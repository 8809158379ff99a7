//! `weir stats`: how many objects there are of each kind, and how they are (CLI-STA01).

use std::collections::HashSet;

use clap::Args;
use futures::future::try_join_all;
use kube::api::DynamicObject;
use serde_json::Value;
use weir_runtime::args::Switch;

use crate::cluster::Selection;
use crate::error::Error;
use crate::global::Global;
use crate::kind::{Kind, is_suspended, ready};
use crate::output::{Table, print, progress};

/// The kinds that are counted, in the order of the table.
const COUNTED: [&str; 13] = [
    "GitRepository",
    "OCIRepository",
    "HelmRepository",
    "HelmChart",
    "Bucket",
    "Kustomization",
    "HelmRelease",
    "Alert",
    "Provider",
    "Receiver",
    "ImageUpdateAutomation",
    "ImagePolicy",
    "ImageRepository",
];

/// Names of the units of bytes above one byte, each 1024 times the one before.
const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];

/// The objects to count.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # Objects of the namespace, and how many of them fail
  weir stats

  # Those of all namespaces
  weir stats --all-namespaces")]
pub(crate) struct Stats {
    /// Count the objects of all namespaces.
    #[arg(short = 'A', long, switched_off())]
    all_namespaces: bool,
}

impl Stats {
    /// Counts and prints. A kind that cannot be listed counts as none, and is told unless the cluster does not have it.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        let cluster = &global.cluster().await?;
        let selection = Selection { all_namespaces: self.all_namespaces, ..Selection::default() };
        let mut table = Table::new(["Reconcilers", "Running", "Failing", "Suspended", "Storage"]);
        let rows = COUNTED.map(async |name| {
            let kind = Kind::named(name)?;
            match cluster.list(kind, &selection).await {
                Err(error @ (Error::Deadline | Error::Unreachable(_))) => Err(error),
                Err(error) if error.is_about_unknown_kind() => Ok((row(kind, &[]), None)),
                Err(error) => Ok((row(kind, &[]), Some(error.to_string()))),
                Ok(listed) => Ok((row(kind, &listed), None)),
            }
        });
        let mut told = HashSet::new();
        for (row, refusal) in try_join_all(rows).await? {
            table.push(row);
            // A login that does not count is refused in the same words for each kind.
            if let Some(refusal) = refusal.filter(|refusal| told.insert(refusal.clone())) {
                progress::failure(&refusal);
            }
        }
        print(&table.render(None))
    }
}

fn row(kind: &Kind, objects: &[DynamicObject]) -> Vec<String> {
    let suspended = objects.iter().filter(|object| is_suspended(object)).count();
    let has_failed = |object: &&DynamicObject| ready(object).is_some_and(|(status, _)| status == "False");
    let failing = objects.iter().filter(has_failed).count();
    let size = |object: &DynamicObject| object.data.pointer("/status/artifact/size").and_then(Value::as_u64);
    let storage = objects.iter().filter_map(size).fold(0, u64::saturating_add);
    vec![
        kind.name.to_owned(),
        objects.len().saturating_sub(suspended).to_string(),
        failing.to_string(),
        suspended.to_string(),
        bytes(storage),
    ]
}

fn bytes(count: u64) -> String {
    if count == 0 {
        return "-".to_owned();
    }
    if count < 1024 {
        return format!("{count} B");
    }
    let mut size = count as f64 / 1024.0;
    let mut units = UNITS.iter();
    let mut unit = units.next();
    while size >= 1024.0 && units.len() > 0 {
        size /= 1024.0;
        unit = units.next();
    }
    format!("{size:.1} {}", unit.unwrap_or(&""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(0, "-")]
    #[case(1023, "1023 B")]
    #[case(1024, "1.0 KiB")]
    #[case(12_345, "12.1 KiB")]
    #[case(3 << 20, "3.0 MiB")]
    fn sizes_have_units(#[case] count: u64, #[case] expected: &str) {
        assert_eq!(bytes(count), expected);
    }
}
