//! Signatures, judged: OpenPGP and SSH on Git objects, cosign and notation on OCI artifacts.
//!
//! Bytes, keys and policies go in, a verdict comes out. Nothing here reaches the network or the disk, so a verdict
//! depends on its input and the time only; where servers must be asked, it names them, and their answers are input
//! too. The keys that sign commits are here as well, since the same rules hold for them. The error messages are those
//! that users of Flux know from conditions.

pub mod cosign;
pub mod git;
pub mod notation;
