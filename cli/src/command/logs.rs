//! `weir logs`: the log lines of all services, filtered and in one form (CLI-LOG01).

mod entry;
mod pods;

use clap::Args;
use futures::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use futures::stream::{FuturesUnordered, StreamExt};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, LogParams};
use weir_runtime::args::Switch;

use self::entry::{Entry, Filter};
use crate::builtin;
use crate::cluster::Cluster;
use crate::enumeration;
use crate::error::Error;
use crate::global::{Global, services_namespace};
use crate::integer;
use crate::output::{print_next, progress};

/// Name of the service's container in Pods that have several.
const CONTAINER: &str = "manager";

/// Longest log line read, in bytes. The services write less than 64 KiB (OBS-03).
const MAX_LINE: u64 = 1024 * 1024;

/// The log lines to print.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # All log lines about objects
  weir logs --all-namespaces

  # Errors as they come
  weir logs --follow --level error --all-namespaces

  # Those about one object of the last ten minutes
  weir logs --kind Kustomization --name podinfo --namespace apps --since 10m")]
pub(crate) struct Logs {
    /// Print only lines about objects of this kind.
    #[arg(long)]
    kind: Option<String>,
    /// Print only lines about objects of this name.
    #[arg(long)]
    name: Option<String>,
    /// Print only lines of this level.
    #[arg(long, value_parser = enumeration::LOG_LEVEL)]
    level: Option<String>,
    /// Print later lines too, until --timeout.
    #[arg(short, long, switched_off())]
    follow: bool,
    /// Print only so many of the last lines of each service.
    #[arg(long, value_name = "LINES", default_value = "-1", hide_default_value = true, value_parser = integer::parse)]
    tail: i64,
    /// Print only lines that are not older than this, such as 5s, 2m or 3h.
    #[arg(long, value_name = "DURATION")]
    since: Option<weir_api::Duration>,
    /// Print only lines since a time in RFC 3339.
    #[arg(long, value_name = "TIME")]
    since_time: Option<String>,
    /// Print lines about the objects of all namespaces.
    #[arg(short = 'A', long, switched_off())]
    all_namespaces: bool,
    /// Namespace of the services.
    #[arg(long, value_name = "NAMESPACE", default_value_t = services_namespace())]
    flux_namespace: String,
    #[arg(hide = true)]
    arguments: Vec<String>,
}

impl Logs {
    /// Prints the lines of one service after the other; with `--follow` as they come.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        if !self.arguments.is_empty() {
            return Err(Error::Flags("no argument required".to_owned()));
        }
        let params = self.params()?;
        let cluster = &global.cluster().await?;
        let pods = pods::of_services(cluster, &self.flux_namespace).await?;
        let api: Api<Pod> = Api::namespaced(cluster.client.clone(), &self.flux_namespace);
        let filter = &Filter {
            level: self.level.as_deref().unwrap_or_default(),
            kind: self.kind.as_deref().unwrap_or_default(),
            name: self.name.as_deref().unwrap_or_default(),
            namespace: (!self.all_namespaces).then_some(cluster.namespace.as_str()),
        };
        let reads = pods.iter().map(|pod| self.read(cluster, &api, pod, &params, filter));
        if self.follow {
            let mut reads: FuturesUnordered<_> = reads.collect();
            while let Some(read) = reads.next().await {
                match read {
                    // The time that following may take is no failure.
                    Err(Error::Deadline) => return Ok(()),
                    Err(error @ (Error::Output(_) | Error::ReaderGone)) => return Err(error),
                    Err(error) => progress::detail(&format!("failed getting logs: {error}")),
                    Ok(()) => {}
                }
            }
            return Ok(());
        }
        let mut has_failed = false;
        for read in reads {
            match read.await {
                Err(error @ (Error::Deadline | Error::Output(_) | Error::ReaderGone)) => return Err(error),
                Err(error) => progress::detail(&format!("failed getting logs: {error}")),
                Ok(()) => continue,
            }
            has_failed = true;
        }
        match has_failed {
            true => Err(Error::Api("failed to collect logs from all Flux pods".to_owned())),
            false => Ok(()),
        }
    }

    fn params(&self) -> Result<LogParams, Error> {
        let since_time = self.since_time.as_deref().filter(|time| !time.is_empty());
        if since_time.is_some() && self.since.is_some() {
            let message = "at most one of `sinceTime` or `sinceDuration` may be specified";
            return Err(Error::Flags(message.to_owned()));
        }
        let not_a_time = |time: &str| Error::Flags(format!("{time} is not a valid (RFC3339) time"));
        // The API server knows whole seconds. The client would round to the next one, and lines before it would be missing.
        let whole = |time: Timestamp| Timestamp::from_second(time.as_second()).unwrap_or(time);
        let time = since_time
            .map(|time| time.parse::<Timestamp>().map(whole).map_err(|_| not_a_time(time)))
            .transpose()?;
        let seconds =
            |since: &weir_api::Duration| i64::try_from((since.to_std().as_millis() + 500) / 1000).ok();
        Ok(LogParams {
            follow: self.follow,
            tail_lines: (self.tail > -1).then_some(self.tail),
            since_time: time,
            since_seconds: self.since.as_ref().and_then(seconds).filter(|seconds| *seconds > 0),
            ..LogParams::default()
        })
    }

    async fn read(
        &self,
        cluster: &Cluster,
        api: &Api<Pod>,
        pod: &DynamicObject,
        params: &LogParams,
        filter: &Filter<'_>,
    ) -> Result<(), Error> {
        let mut params = params.clone();
        if builtin::array(pod, "/spec/containers").len() > 1 {
            params.container = Some(CONTAINER.to_owned());
        }
        let stream = cluster.in_time(api.log_stream(&pod.name_any(), &params)).await??;
        let mut stream = Box::pin(stream);
        while let Some(line) = cluster.in_time(next_line(&mut stream)).await?? {
            if !line.starts_with('{') {
                continue;
            }
            match Entry::parse(&line) {
                Ok(entry) if filter.shows(&entry) => print_next(&entry.line())?,
                Ok(_) => {}
                Err(error) => {
                    progress::failure(&format!("parse error: {error}"));
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Reads a line; one that is too long is empty.
async fn next_line(stream: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<String>, Error> {
    let mut line = Vec::new();
    let mut has_overflown = false;
    loop {
        let broken = |error: std::io::Error| Error::Api(error.to_string());
        let read = (&mut *stream).take(MAX_LINE).read_until(b'\n', &mut line).await.map_err(broken)?;
        if read == 0 && line.is_empty() {
            return Ok(has_overflown.then(String::new));
        }
        if read == 0 || line.ends_with(b"\n") {
            let line =
                if has_overflown { String::new() } else { String::from_utf8_lossy(&line).into_owned() };
            return Ok(Some(line));
        }
        if line.len() as u64 >= MAX_LINE {
            has_overflown = true;
            line.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        logs: Logs,
    }

    #[test]
    fn no_line_is_lost_by_the_rounding_of_a_time() {
        let line = Line::try_parse_from(["weir", "--since-time", "2021-08-06T14:26:25.546Z"]).unwrap();
        let time = line.logs.params().unwrap().since_time;
        assert_eq!(time.unwrap().to_string(), "2021-08-06T14:26:25Z");
    }
}
