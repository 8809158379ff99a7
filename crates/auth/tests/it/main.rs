#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! Tests of weir-auth against moto, a stand-in for AWS. Without moto they say so and pass: it is no package of this
//! workspace's toolchain.

mod ecr;
