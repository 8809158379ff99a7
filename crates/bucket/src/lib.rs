//! Buckets of S3, Google Cloud Storage and Azure Blob Storage: list and download.
