//! Stub.
pub(crate) struct ValueAddTransformer;
