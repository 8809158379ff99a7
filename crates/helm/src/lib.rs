//! Helm's formats: indexes of chart repositories, packaged charts and chart directories.
//!
//! ```text
//!  repository ──► index.yaml ──► index::convert (streams) ──► index.json ──► index::releases ──► version::select
//!      │
//!      └─► chart.tgz ──┐
//!  source tree ────────┴──► Chart ──► values, dependency ──► Chart::package ──► <name>-<version>.tgz
//! ```
//!
//! Invariants: an index is never held whole, whatever its size; a packaged chart is read within [`Limits`] before any of
//! it is used; packages depend on their content alone; paths from outside are relative and stay in their root.

pub mod chart;
pub mod dependency;
pub mod index;
mod limits;
pub mod metadata;
pub mod repository;
pub mod values;
pub mod version;

pub use chart::{Chart, ChartError};
pub use limits::Limits;
pub use metadata::{Dependency, Metadata, MetadataError};
pub use repository::{FetchError, Fetched, Mark, Repository};
