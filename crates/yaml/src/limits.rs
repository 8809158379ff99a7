//! Caps on what a document may cost.

/// The limits of a parser. The defaults are far above real manifests and far below the size that hurts a worker.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of one file. 64 MiB: the API server refuses objects above 3 MiB, and offsets are 32 bits wide.
    pub bytes: usize,
    /// Nested collections. Deep CRD schemas reach about 60; recursion over the tree is bounded by this (KZ-322).
    pub depth: usize,
    /// Documents in one file (DEP-YAML-4).
    pub documents: usize,
    /// Nodes that aliases and merge keys may add to one file. About 15 MB when reached, which stops alias bombs
    /// early. Of a file and not of a document, so that many documents cannot multiply it.
    pub alias_nodes: usize,
    /// Bytes of text that aliases and merge keys may add to one file: 16 MiB. A long scalar is one node however
    /// often it is printed.
    pub alias_bytes: usize,
    /// Nodes and keys of one document that are kept for aliases, once more for each anchor around them: some 100 MB when reached. Anchors
    /// in anchors would else multiply a file by the depth.
    pub anchor_nodes: usize,
    /// Bytes of text that are kept for aliases: as many as a file may have.
    pub anchor_bytes: usize,
}

impl Limits {
    /// The limits of files that people write.
    pub const DEFAULT: Self = Self {
        bytes: 64 << 20,
        depth: 256,
        documents: 50_000,
        alias_nodes: 200_000,
        alias_bytes: 16 << 20,
        anchor_nodes: 1_000_000,
        anchor_bytes: 64 << 20,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
