//! Signatures: OpenPGP and SSH on Git objects, cosign and notation on OCI artifacts, provenance of charts.
