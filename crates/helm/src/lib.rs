//! Helm charts and repositories: streamed indexes, chart archives, dependencies, values.
