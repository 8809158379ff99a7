use anyhow::{Context, Result};

/// Something that travels from one service to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// The files of a source.
    Artifact,
    /// The image that a policy selects.
    Resolution,
    /// An event.
    Event,
}

/// Number of times that each way was taken, by the metric `weir_route_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Routes {
    /// Weir's own API.
    pub grpc: u64,
    /// Flux's contract over HTTP.
    pub http: u64,
    /// The watch of the Kubernetes API.
    pub api: u64,
}

impl Routes {
    pub(crate) fn parse(metrics: &str, payload: Payload) -> Result<Self> {
        let payload = match payload {
            Payload::Artifact => "artifact",
            Payload::Resolution => "resolution",
            Payload::Event => "event",
        };
        let count = |route: &str| -> Result<u64> {
            let series = format!("weir_route_total{{payload=\"{payload}\",route=\"{route}\"}} ");
            let value = metrics.lines().find_map(|line| line.strip_prefix(series.as_str()));
            value.unwrap_or("0").parse().with_context(|| format!("{series}is no number"))
        };
        // A metric of another name would be no count at all.
        let first = format!("weir_route_total{{payload=\"{payload}\",route=\"grpc\"}}");
        metrics.find(&first).with_context(|| format!("no {first}"))?;
        Ok(Self { grpc: count("grpc")?, http: count("http")?, api: count("api")? })
    }

    /// Returns the counts beyond those of `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { grpc: self.grpc - earlier.grpc, http: self.http - earlier.http, api: self.api - earlier.api }
    }

    /// True if something travelled, and all of it over gRPC.
    #[must_use]
    pub fn is_grpc_only(self) -> bool {
        self.grpc > 0 && !self.has_fallen_back()
    }

    /// True if something took the way that stands in for gRPC.
    #[must_use]
    pub fn has_fallen_back(self) -> bool {
        self.http + self.api > 0
    }
}
