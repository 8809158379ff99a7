//! Access to artifacts over HTTP, where credentials are needed (SRC-STO-16): whoever may get the object may read its
//! artifact.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tonic::{Code, Status};
use weir_artifact::RelPath;
use weir_runtime::ObjectKey;
use weir_runtime::grpc::{Access, Authorizer};

use crate::catalog::{self, Catalog};

/// Checks the Kubernetes token of a request.
#[derive(Clone)]
pub(crate) struct ArtifactAccess {
    authorizer: Authorizer,
    catalog: Catalog,
}

impl ArtifactAccess {
    pub(crate) fn new(authorizer: Authorizer, catalog: Catalog) -> Self {
        Self { authorizer, catalog }
    }

    /// Lets a request for an artifact's path through, or gives the answer to it.
    pub(super) async fn admit(&self, headers: &HeaderMap, path: &RelPath) -> Result<(), Response> {
        let access = self.access(path).ok_or_else(|| StatusCode::NOT_FOUND.into_response())?;
        let header = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let admitted = self.authorizer.allow_bearer(header, access).await;
        admitted.map(drop).map_err(|status| refusal(&status))
    }

    /// Returns the access that reading a path needs: `get` of the object.
    fn access(&self, path: &RelPath) -> Option<Access> {
        let mut parts = path.as_str().split('/');
        let (kind, namespace, name) = (parts.next()?, parts.next()?, parts.next()?);
        let kind = self.catalog.kinds().find(|known| known.name().eq_ignore_ascii_case(kind))?;
        Some(catalog::access(&**kind, "get", ObjectKey::new(namespace, name)))
    }
}

fn refusal(status: &Status) -> Response {
    let code = match status.code() {
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut response = (code, format!("{}\n", status.message())).into_response();
    if code == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
