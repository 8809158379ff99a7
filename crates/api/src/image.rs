//! Kinds of `image.toolkit.fluxcd.io`: which image is the newest, and writing it into Git.

mod image_policy;
mod image_repository;
mod image_update_automation;

pub use image_policy::{
    AlphabeticalPolicy, ImagePolicy, ImagePolicyChoice, ImagePolicySpec, ImagePolicyStatus, ImageRef,
    NumericalPolicy, SemVerPolicy, TagFilter,
};
pub use image_repository::{ImageRepository, ImageRepositorySpec, ImageRepositoryStatus, ScanResult};
pub use image_update_automation::{
    AutomationSourceReference, CommitSpec, CommitUser, GitCheckout, GitSpec, ImageUpdateAutomation,
    ImageUpdateAutomationSpec, ImageUpdateAutomationStatus, PushSpec, SigningKey, UpdateStrategy,
};
