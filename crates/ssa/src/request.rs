//! The requests that are made of the API server, one function each.
//!
//! They are built by hand because object names come from manifests: an invalid name must reach the server (whose
//! message explains the fault) instead of failing as an address.

use http::{Method, Request, header};
use kube::Client;
use kube::api::{ApiResource, DynamicObject};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use crate::error::{NO_STATUS, is_not_found, is_unserved};
use crate::precise::Precise;
use crate::{Mapping, ObjectId};

/// Characters of a name that stand in a path as they are.
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b':');

/// The address of an object, and the identity of the request.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) client: &'a Client,
    pub(crate) mapping: &'a Mapping,
    pub(crate) id: &'a ObjectId,
}

/// True when the server writes or only tries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    DryRun,
    Write,
}

impl Mode {
    fn query(self) -> &'static str {
        match self {
            Self::DryRun => "&dryRun=All",
            Self::Write => "",
        }
    }
}

impl Target<'_> {
    /// The whole object; an error where its kind is not served in this version.
    pub(crate) async fn get(&self) -> Result<Option<DynamicObject>, kube::Error> {
        let request = self.request(Method::GET, "", "application/json", Vec::new())?;
        absent_is_none(self.client.request(request).await)
    }

    /// Metadata only; an error where its kind is not served in this version.
    pub(crate) async fn metadata(&self) -> Result<Option<DynamicObject>, kube::Error> {
        let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        let request = self.request(Method::GET, "", accept, Vec::new())?;
        absent_is_none(self.client.request(request).await)
    }

    /// Server-side apply; wins every conflict on the fields that the body declares (KS-SSA-1). Left to itself the server reads the body a
    /// second time for a warning about fields that stand twice, which none does. Fields that a kind does not have are refused all the same.
    pub(crate) async fn apply<T: DeserializeOwned>(
        &self,
        manager: &str,
        body: &Value,
        mode: Mode,
    ) -> Result<T, kube::Error> {
        let query =
            format!("?fieldValidation=Ignore&fieldManager={}&force=true{}", encode(manager), mode.query());
        self.send(Method::PATCH, &query, "application/apply-patch+yaml", body).await
    }

    /// Tries to create the object although it is there: [`kube::Error::Api`] with reason `AlreadyExists` means that
    /// it is valid.
    pub(crate) async fn try_create(&self, body: &Value) -> Result<DynamicObject, kube::Error> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("{}?dryRun=All", self.collection()))
            .header(header::CONTENT_TYPE, "application/json")
            .body(to_bytes(body)?)
            .map_err(kube::Error::HttpError)?;
        self.client.request(request).await
    }

    /// Applies a JSON patch.
    pub(crate) async fn json_patch(&self, manager: &str, patch: &Value) -> Result<(), kube::Error> {
        let query = format!("?fieldManager={}", encode(manager));
        let kind = "application/json-patch+json";
        let patched: Result<IgnoredAny, _> = self.send(Method::PATCH, &query, kind, patch).await;
        patched.map(drop)
    }

    /// Deletes with background propagation. The server answers 409 unless the object is still in the state in which it
    /// was judged.
    pub(crate) async fn delete(&self, judged: &Precise) -> Result<(), kube::Error> {
        let preconditions = json!({"uid": judged.uid, "resourceVersion": judged.version});
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
            "preconditions": preconditions});
        let request = self.request(Method::DELETE, "", "application/json", to_bytes(&options)?)?;
        self.client.request_text(request).await.map(drop)
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        query: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<T, kube::Error> {
        let verb = method.as_str().to_ascii_lowercase();
        let mut request = self.request(method, query, "application/json", to_bytes(body)?)?;
        let content_type =
            header::HeaderValue::from_str(content_type).map_err(|e| kube::Error::HttpError(e.into()))?;
        request.headers_mut().insert(header::CONTENT_TYPE, content_type);
        let answer = self.client.request(request).await;
        answer.map_err(|error| explained(error, &verb, &self.mapping.resource, &self.id.name))
    }

    fn request(
        &self,
        method: Method,
        query: &str,
        accept: &str,
        body: Vec<u8>,
    ) -> Result<Request<Vec<u8>>, kube::Error> {
        Request::builder()
            .method(method)
            .uri(format!("{}/{}{query}", self.collection(), utf8_percent_encode(&self.id.name, NAME)))
            .header(header::ACCEPT, accept)
            .header(header::CONTENT_TYPE, "application/json")
            .body(body)
            .map_err(kube::Error::HttpError)
    }

    fn collection(&self) -> String {
        let resource = &self.mapping.resource;
        let root = if resource.group.is_empty() { "/api" } else { "/apis" };
        let api = &resource.api_version;
        let plural = &resource.plural;
        if self.mapping.is_namespaced && !self.id.namespace.is_empty() {
            format!("{root}/{api}/namespaces/{}/{plural}", encode(&self.id.namespace))
        } else {
            format!("{root}/{api}/{plural}")
        }
    }
}

/// Returns an error with the message of Kubernetes' own clients where the server does not serve the address: it answers `404 page not found`
/// then, which is no status, as for a custom resource without its namespace.
fn explained(error: kube::Error, verb: &str, resource: &ApiResource, name: &str) -> kube::Error {
    match error {
        kube::Error::Api(mut status) if status.code == 404 && status.reason == NO_STATUS => {
            let group = if resource.group.is_empty() { "" } else { "." };
            let resource = format!("{}{group}{}", resource.plural, resource.group);
            status.message =
                format!("the server could not find the requested resource ({verb} {resource} {name})");
            kube::Error::Api(status)
        }
        other => other,
    }
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, NAME).to_string()
}

fn to_bytes(body: &Value) -> Result<Vec<u8>, kube::Error> {
    serde_json::to_vec(body).map_err(kube::Error::SerdeError)
}

fn absent_is_none<T>(answer: Result<T, kube::Error>) -> Result<Option<T>, kube::Error> {
    match answer {
        Ok(object) => Ok(Some(object)),
        Err(error) if is_not_found(&error) && !is_unserved(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use rstest::rstest;

    use super::*;

    /// KS-SSA-81: a custom resource without a namespace.
    #[rstest]
    #[case(
        "widgets",
        "example.com",
        NO_STATUS,
        404,
        "the server could not find the requested resource (patch widgets.example.com app)"
    )]
    #[case(
        "widgets",
        "",
        NO_STATUS,
        404,
        "the server could not find the requested resource (patch widgets app)"
    )]
    #[case("widgets", "example.com", NO_STATUS, 503, "404 page not found")]
    #[case("widgets", "example.com", "NotFound", 404, "404 page not found")]
    fn an_address_that_is_not_there_is_told_as_clients_do(
        #[case] plural: &str,
        #[case] group: &str,
        #[case] reason: &str,
        #[case] code: u16,
        #[case] expected: &str,
    ) {
        let resource = ApiResource {
            group: group.to_owned(),
            version: "v1".to_owned(),
            api_version: "v1".to_owned(),
            kind: "Widget".to_owned(),
            plural: plural.to_owned(),
        };
        let status = Status::failure("404 page not found", reason).with_code(code);
        let explained = explained(kube::Error::Api(Box::new(status)), "patch", &resource, "app");
        assert_eq!(crate::error::whole_text(&explained), expected);
    }
}
