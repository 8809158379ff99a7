//! `kustomize build` as a library: a directory of a [`FileSystem`] in, an ordered list of [`Resource`]s out, byte
//! for byte what the reference implementation prints.
//!
//! [`build`] reads the kustomization file of a directory; [`build_kustomization`] takes a [`Kustomization`] that the
//! caller has made or changed. A build is a pure function of its files and [`Options`]: no processes, no network, no
//! state shared between builds; files elsewhere are fetched by the [`Remote`] of the options, or refused.
//! [`Output::read_set`] names the files that decided the result.
//!
//! The steps of a build: [`accumulate`](mod@accumulate) walks the tree of kustomizations; at each level resources are
//! loaded (`input`), generated (`generate`) and transformed (`transform`). At the root, names get their hashes,
//! references to names are fixed (`reference`), vars are resolved (`vars`), and the result is sorted and cleaned
//! (`finish`).
#![allow(rustdoc::private_intra_doc_links, reason = "the map above is for those who read the code")]

mod accumulate;
mod accumulator;
mod build;
mod config;
mod error;
mod fieldspec;
mod files;
mod finish;
mod fs;
mod generate;
mod hash;
mod id;
mod input;
mod jsonpatch;
mod kustomization;
mod loader;
mod merge;
mod normal;
mod options;
mod order;
mod origin;
mod patch;
mod path;
mod plugin;
mod quote;
mod read_set;
mod reference;
mod remote;
mod replacement;
mod resmap;
mod resource;
mod run;
mod schema;
mod selector;
mod stop;
mod target;
mod transform;
mod vars;
mod yaml;

pub use config::ConfigError;
pub use error::{Error, NotADirectory};
pub use fieldspec::{ConflictingFieldSpecs, FieldSpec};
pub use fs::{DirEntry, FileKind, FileSystem, FsError, FsPath, MemoryFs, RootedFs};
pub use generate::error::GenerateError;
pub use id::{Gvk, ResId};
pub use kustomization::{
    ConfigMapArgs, DecodeError, FILE_NAMES as KUSTOMIZATION_FILE_NAMES, GeneratorOptions, HelmGlobals, Image,
    Kustomization, Label, LegacySortOptions, ObjectMeta, ObjectReference, Opaque, Patch, PatchOptions,
    Replacement, ReplacementSource, ReplacementTarget, Replica, SecretArgs, Selector, SortOptions,
    TargetSelector, UnknownFields, ValueOptions, Var,
};
pub use options::{CustomSchema, LoadRestriction, Options, Output, Reorder, Warning};
pub use patch::error::PatchError;
pub use path::PathError;
pub use plugin::error::PluginError;
pub use quote::SecretPart;
pub use read_set::{ReadSet, Seen};
pub use reference::error::ReferenceError;
pub use remote::{Answer, FetchError, GitUrl, GitUrlError, Remote, RemoteError};
pub use replacement::error::ReplacementError;
pub use resource::Resource;
pub use run::{build, build_kustomization, validate_manifest};
pub use schema::SchemaError;
pub use selector::{CompiledSelector, SelectorError};
pub use stop::Stop;
pub use vars::error::VarError;
pub use yaml::MAX_FILE;
