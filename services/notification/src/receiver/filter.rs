//! CEL filters of a Receiver: which of its objects a call marks (NTF-90, NTF-109, NTF-110).

use http::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};
use weir_api::notification::{ReceiverResource, ReceiverSpec};
use weir_expression::{Expression, ExpressionError, Type};

use super::{Call, TYPE_GENERIC_OIDC};

const VARIABLES: [&str; 2] = ["res", "req"];
const VARIABLES_WITH_CLAIMS: [&str; 3] = ["res", "req", "claims"];

/// The facts about a call besides the call itself.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Value used in place of the body, where the type unwraps it.
    pub request: Option<Value>,
    /// Claims of the token that the call showed.
    pub claims: Option<Value>,
}

/// The compiled filters, and the call they look at.
#[derive(Clone)]
pub struct Filters {
    request: Value,
    claims: Option<Value>,
    for_all: Option<Expression>,
    for_each: Vec<Option<Expression>>,
}

impl Filters {
    /// Returns true for a Receiver with a filter.
    pub(super) fn has_any(spec: &ReceiverSpec) -> bool {
        let is_filter = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
        let has_own = |resource: &ReceiverResource| is_filter(&resource.filter);
        is_filter(&spec.resource_filter) || spec.resources.iter().any(has_own)
    }

    /// Compiles all filters of a Receiver. Blocks for some milliseconds.
    ///
    /// # Errors
    /// The message for the status, which names the expression.
    pub fn compile(spec: &ReceiverSpec) -> Result<Self, String> {
        let variables: &[&str] =
            if spec.type_ == TYPE_GENERIC_OIDC { &VARIABLES_WITH_CLAIMS } else { &VARIABLES };
        let compile = |text: &Option<String>| -> Result<Option<Expression>, ExpressionError> {
            let text = text.as_deref().filter(|text| !text.is_empty());
            text.map(|text| Expression::compile(text, variables, Type::Bool)).transpose()
        };
        let for_all = compile(&spec.resource_filter)
            .map_err(|error| format!("invalid resourceFilter expression: {error}"))?;
        let mut for_each = Vec::with_capacity(spec.resources.len());
        for (number, resource) in spec.resources.iter().enumerate() {
            let (kind, name) = (&resource.reference.kind, &resource.reference.name);
            for_each.push(compile(&resource.filter).map_err(|error| {
                format!("invalid filter expression for resources[{number}] (kind={kind:?}, name={name:?}): {error}")
            })?);
        }
        Ok(Self { request: json!({}), claims: None, for_all, for_each })
    }

    /// The filters for one call. Its body is looked at only if there is a filter.
    ///
    /// # Errors
    /// When the body is no JSON object, or a filter of the call fails.
    pub async fn of_call(spec: &ReceiverSpec, call: Call<'_>, known: Known) -> Result<Self, String> {
        if !Self::has_any(spec) {
            let for_each = vec![None; spec.resources.len()];
            return Ok(Self { request: json!({}), claims: None, for_all: None, for_each });
        }
        let request = match known.request {
            Some(request) => request,
            None => request_of(call)?,
        };
        let spec = spec.clone();
        let filters = weir_evaluation::evaluated(move |_| Self::compile(&spec)).await??;
        Ok(Self { request, claims: known.claims, ..filters })
    }

    /// Returns true when the entry of this number has a filter.
    pub fn any_for(&self, entry: usize) -> bool {
        self.for_all.is_some() || self.of_entry(entry).is_some()
    }

    /// Returns true when the object, of which only the metadata is known, passes the filters of the entry.
    ///
    /// # Errors
    /// When a filter cannot be evaluated.
    pub async fn admit(&self, entry: usize, object: Value) -> Result<bool, String> {
        let (filters, own) = (self.clone(), self.of_entry(entry).cloned());
        let evaluated = weir_evaluation::evaluated(move |may_go_on| {
            let mut variables = vec![("res", &object), ("req", &filters.request)];
            variables.extend(filters.claims.as_ref().map(|claims| ("claims", claims)));
            for filter in filters.for_all.iter().chain(&own) {
                if !filter.is_true(&variables, may_go_on).map_err(|error| error.to_string())? {
                    return Ok(false);
                }
            }
            Ok(true)
        });
        evaluated.await?
    }

    fn of_entry(&self, entry: usize) -> Option<&Expression> {
        self.for_each.get(entry).and_then(Option::as_ref)
    }
}

/// Returns the body as JSON if its type is JSON, else nothing. As in Flux, text behind the object does not matter, and null is an
/// empty one.
fn request_of(call: Call<'_>) -> Result<Value, String> {
    if !is_json(call.header(CONTENT_TYPE.as_str())) {
        return Ok(json!({}));
    }
    let mut values =
        serde_json::Deserializer::from_slice(call.body).into_iter::<Option<Map<String, Value>>>();
    match values.next() {
        Some(Ok(object)) => Ok(Value::Object(object.unwrap_or_default())),
        Some(Err(error)) => Err(format!("failed to parse request body as JSON: {error}")),
        None => Err("failed to parse request body as JSON: EOF".to_owned()),
    }
}

/// Returns true when one of the types in a header is JSON. As in Flux, what stands behind a malformed one does not count.
fn is_json(types: &str) -> bool {
    let is_parameter = |text: &str| text.trim().is_empty() || text.contains('=');
    let mut well_formed = types.split(',').map_while(|one| {
        let mut parts = one.split(';');
        let kind = parts.next().unwrap_or_default().trim();
        (!kind.is_empty() && parts.all(is_parameter)).then_some(kind)
    });
    well_formed.any(|kind| kind.eq_ignore_ascii_case("application/json"))
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use rstest::rstest;

    use super::*;

    /// NTF-109
    #[rstest]
    #[case("application/json", true)]
    #[case("Application/JSON; charset=utf-8", true)]
    #[case("application/json;", true)]
    #[case("text/plain, application/json", true)]
    #[case("application/json; x", false)]
    #[case(", application/json", false)]
    #[case("application/vnd.github+json", false)]
    #[case("text/plain", false)]
    fn only_json_is_read(#[case] content_type: &str, #[case] is_read: bool) {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, content_type.parse().unwrap())]);
        let request = request_of(Call { headers: &headers, body: br#"{"a":1}"# }).unwrap();
        assert_eq!(request == json!({"a": 1}), is_read);
    }

    /// NTF-109
    #[rstest]
    #[case(r#"{"a":1}"#, Some(json!({"a": 1})))]
    #[case(r#"{"a":1} and more"#, Some(json!({"a": 1})))]
    #[case("null", Some(json!({})))]
    #[case("", None)]
    #[case("[]", None)]
    #[case("{", None)]
    fn bodies_hold_one_object(#[case] body: &str, #[case] expected: Option<Value>) {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, "application/json".parse().unwrap())]);
        assert_eq!(request_of(Call { headers: &headers, body: body.as_bytes() }).ok(), expected);
    }

    /// NTF-109: without a filter nobody looks at the body; an empty expression is none.
    #[tokio::test]
    async fn an_empty_expression_is_no_filter() {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, "application/json".parse().unwrap())]);
        let call = Call { headers: &headers, body: b"no JSON" };
        let resources = vec![ReceiverResource { filter: Some(String::new()), ..ReceiverResource::default() }];
        let spec =
            ReceiverSpec { resource_filter: Some(String::new()), resources, ..ReceiverSpec::default() };
        assert!(Filters::of_call(&spec, call, Known::default()).await.is_ok());
        let spec = ReceiverSpec { resource_filter: Some("true".to_owned()), ..spec };
        assert!(Filters::of_call(&spec, call, Known::default()).await.is_err());
    }
}
