//! Signatures, judged: OpenPGP and SSH on Git objects, cosign and notation on OCI artifacts.
//!
//! Bytes, keys and policies go in, a verdict comes out. Nothing here reaches the network or the disk, so a verdict
//! depends on nothing but what it was asked about and the time; where servers must be asked, it says which, and what they
//! answered goes in too. The sentences of the errors are those that users of Flux know from conditions.

pub mod cosign;
pub mod git;
pub mod notation;
