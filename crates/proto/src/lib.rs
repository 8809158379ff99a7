//! Generated code of the protobuf APIs in `proto/`, committed so that building needs no `protoc` and no code generator.
//!
//! `WEIR_REGENERATE=1 cargo test -p weir-proto` writes it anew; without the variable the test says when it is stale.
//! No hand-written logic belongs here.
#![allow(clippy::missing_errors_doc)] // errors of calls are described in `proto/`

/// Descriptors of all files, for gRPC reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("gen/descriptor.bin");

/// The trait of all messages; it encodes them and returns their size.
pub use prost::Message;
/// The time type of all messages.
pub use prost_types::Timestamp;

/// Live status of objects.
pub mod status {
    /// Version 1.
    pub mod v1 {
        include!("gen/weir.status.v1.rs");
    }
}

/// Artifacts of the source service.
pub mod source {
    /// Version 1.
    pub mod v1 {
        include!("gen/weir.source.v1.rs");
    }
}

/// Builds, diffs and inventories of Kustomizations.
pub mod kustomize {
    /// Version 1.
    pub mod v1 {
        include!("gen/weir.kustomize.v1.rs");
    }
}

/// Tags, policy resolutions and automation commits.
pub mod image {
    /// Version 1.
    pub mod v1 {
        include!("gen/weir.image.v1.rs");
    }
}

/// Events and deliveries.
pub mod notification {
    /// Version 1.
    pub mod v1 {
        include!("gen/weir.notification.v1.rs");
    }
}
