//! Kinds of `notification.toolkit.fluxcd.io`: who receives which messages, and who may wake Weir.

mod alert;
mod provider;
mod receiver;

pub use alert::{Alert, AlertSpec};
pub use provider::{Provider, ProviderSpec};
pub use receiver::{
    OidcProvider, OidcValidation, OidcVariable, Receiver, ReceiverResource, ReceiverSpec, ReceiverStatus,
};
