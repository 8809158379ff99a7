//! Variables and validations of an identity provider: CEL over the claims of a token (NTF-90, NTF-103).

use std::collections::BTreeSet;

use serde_json::Value;
use weir_api::notification::OidcProvider;
use weir_evaluation::{MayGoOn, evaluated};
use weir_expression::{Computed, Expression, Type};

const VARIABLES: [&str; 2] = ["claims", "vars"];

/// Checks the fields of the providers of a Receiver.
///
/// # Errors
/// The first fault in the list, as the message of the status.
pub fn check_providers(providers: &[OidcProvider]) -> Result<(), String> {
    let mut issuers = BTreeSet::new();
    for (number, provider) in providers.iter().enumerate() {
        let url = &provider.issuer_url;
        if url.is_empty() {
            return Err(format!("oidcProviders[{number}]: issuerURL is required"));
        }
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(format!(
                "oidcProviders[{number}]: issuerURL {url:?} must start with http:// or https://"
            ));
        }
        if !issuers.insert(url) {
            return Err(format!("oidcProviders[{number}]: duplicate issuerURL {url:?}"));
        }
        check_provider(provider, &place(number, provider))?;
    }
    Ok(())
}

/// Compiles the expressions of the providers of a Receiver. Blocks for some milliseconds.
///
/// # Errors
/// The first fault in the list, as the message of the status.
pub fn compile_providers(providers: &[OidcProvider]) -> Result<(), String> {
    for (number, provider) in providers.iter().enumerate() {
        compile(provider).map_err(|error| format!("{}: {error}", place(number, provider)))?;
    }
    Ok(())
}

fn place(number: usize, provider: &OidcProvider) -> String {
    format!("oidcProviders[{number}] (issuerURL={:?})", provider.issuer_url)
}

fn check_provider(provider: &OidcProvider, place: &str) -> Result<(), String> {
    if provider.validations.is_empty() {
        let text = "at least one validation is required; without validations any caller able to obtain a token from this issuer can trigger the Receiver";
        return Err(format!("{place}: {text}"));
    }
    for (number, variable) in provider.variables.iter().enumerate() {
        if variable.name.is_empty() {
            return Err(format!("{place}: variables[{number}]: name is required"));
        }
        if variable.expression.is_empty() {
            let name = &variable.name;
            return Err(format!("{place}: variables[{number}] (name={name:?}): expression is required"));
        }
    }
    for (number, validation) in provider.validations.iter().enumerate() {
        for (value, what) in [(&validation.expression, "expression"), (&validation.message, "message")] {
            if value.is_empty() {
                return Err(format!("{place}: validations[{number}]: {what} is required"));
            }
        }
    }
    Ok(())
}

struct Compiled {
    variables: Vec<(String, Expression)>,
    validations: Vec<(String, Expression)>,
}

fn compile(provider: &OidcProvider) -> Result<Compiled, String> {
    let mut compiled = Compiled { variables: Vec::new(), validations: Vec::new() };
    for variable in &provider.variables {
        let expression = Expression::compile_any(&variable.expression, &VARIABLES);
        let expression = expression
            .map_err(|error| format!("invalid expression for variable {:?}: {error}", variable.name))?;
        compiled.variables.push((variable.name.clone(), expression));
    }
    for validation in &provider.validations {
        let expression = Expression::compile(&validation.expression, &VARIABLES, Type::Bool);
        let expression = expression.map_err(|error| {
            format!("invalid expression for validation {:?}: {error}", validation.message)
        })?;
        compiled.validations.push((validation.message.clone(), expression));
    }
    Ok(compiled)
}

/// Checks that all validations hold.
///
/// # Errors
/// The messages of the validations that do not hold, joined.
pub async fn check(provider: &OidcProvider, claims: Value) -> Result<(), String> {
    let provider = provider.clone();
    evaluated(move |may_go_on| evaluate(&compile(&provider)?, &claims, may_go_on)).await?
}

fn evaluate(compiled: &Compiled, claims: &Value, may_go_on: &MayGoOn<'_>) -> Result<(), String> {
    let variables = [("claims", claims)];
    let mut vars = Computed::new("vars");
    for (name, expression) in &compiled.variables {
        vars.add(name, expression, &variables, may_go_on)
            .map_err(|error| format!("failed to evaluate variable {name:?}: {error}"))?;
    }
    let mut failed = Vec::new();
    for (message, expression) in &compiled.validations {
        let holds = vars.is_true(expression, &variables, may_go_on);
        if !holds.map_err(|error| format!("failed to evaluate validation: {error}"))? {
            failed.push(message.as_str());
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("token validation failed: {}", failed.join("; "))) }
}

#[cfg(test)]
mod tests;
